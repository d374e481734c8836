/* Functions of one operand over rows of floats. */
#ifndef AF_ACTIVATION_H
#define AF_ACTIVATION_H

#include "record.h"

typedef struct af_activation {
    int64_t function;
    float alpha, beta;
} af_activation;

/* y = function(x) for `rows` rows of `columns` elements; x and y may be one. */
void af_apply(const af_activation *activation, const float *x, int64_t x_pitch, float *y, int64_t y_pitch,
              int64_t rows, int64_t columns);

#endif
