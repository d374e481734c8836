/* Functions of two or three operands over rows of doubles. */
#ifndef AF_DOUBLE_COMBINE_H
#define AF_DOUBLE_COMBINE_H

#include "call.h"
#include "element.h"

/* `count` results side by side; an operand with a step of 0 is one number for all of them. */
typedef struct af_double_pairs {
    const af_double *a, *b;
    af_double *y;
    int64_t count, a_step, b_step;
} af_double_pairs;

/* y = a op b for an af_operator or af_truth; y may be a or b. */
void af_combine_doubles(int64_t operator, const af_double_pairs *pairs);

/* y = condition ? a : b; a condition holds where it is not 0. */
void af_choose_doubles(const af_double *condition, int64_t condition_step, const af_double_pairs *pairs);

#endif
