/* A block of rows times weight panels: what convolutions and matrix products have in common. */
#ifndef AF_GEMM_H
#define AF_GEMM_H

#include "tile.h"

/* Up to AF_ROW_BLOCK rows as in af_tile, and where column 0 of the first row goes. */
typedef struct af_block {
    const float *const *rows;
    int64_t row_count, segments, length, start;
    float *y;
    int64_t y_pitch;
    const float *residual;
    const af_epilogue *epilogue;
    int first, last;
} af_block;

/* Multiply the rows by one panel, whose columns are `columns` columns of y from `column` on. */
void af_multiply(const af_block *block, const float *panel, int64_t column, int64_t columns);

#endif
