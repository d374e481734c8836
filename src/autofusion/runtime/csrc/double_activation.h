/* Functions of one operand over rows of doubles, and what happens to a product of doubles before it is stored. */
#ifndef AF_DOUBLE_ACTIVATION_H
#define AF_DOUBLE_ACTIVATION_H

#include "call.h"
#include "element.h"

/* An af_function with the numbers that some of them take. */
typedef struct af_double_activation {
    int64_t function;
    double alpha, beta;
} af_double_activation;

/* y = f(x) for `rows` rows of `columns` doubles; x and y may be the same memory, with one pitch. */
void af_apply_double(const af_double_activation *activation, const af_double *x, int64_t x_pitch, af_double *y,
                     int64_t y_pitch, int64_t rows, int64_t columns);

#endif
