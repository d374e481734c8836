/* Operators of two and three rows of floats. */
#ifndef AF_COMBINE_H
#define AF_COMBINE_H

#include "record.h"

/* `count` elements side by side in y; a step of 0 repeats the element of an operand, a step of 1 walks them.  `further`
   rows like it follow, each by its pitches after the one before. */
typedef struct af_pair_row {
    const float *a, *b;
    float *y;
    int64_t count, a_step, b_step, further, a_pitch, b_pitch, y_pitch;
} af_pair_row;

/* y = operator(a, b) for an af_operator or an af_truth. */
void af_combine(int64_t operator, const af_pair_row *row);

/* y = condition != 0 ? a : b. */
void af_choose(const float *condition, int64_t condition_step, const af_pair_row *row);

#endif
