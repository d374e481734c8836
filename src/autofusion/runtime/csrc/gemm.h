/* A block of rows times weight panels: what convolutions and matrix products have in common. */
#ifndef AF_GEMM_H
#define AF_GEMM_H

#include "tile.h"

/* Up to AF_ROW_BLOCK rows as in af_tile, where column 0 of the first row goes, and memory for the sums of
   AF_PANEL_BLOCK panels if the product is deeper than one block. */
typedef struct af_block {
    const float *const *rows;
    int64_t row_count, segments, length, start;
    float *sums, *y;
    int64_t y_pitch;
    const float *residual;
    const af_epilogue *epilogue;
    int first, last;
} af_block;

/* Bytes of `sums` for a product of this depth; 0 where one block holds it. */
int64_t af_sums_bytes(int64_t depth);

/* Multiply the rows by one panel, whose columns are `columns` columns of y from `column` on; `place` in
   0..AF_PANEL_BLOCK-1 tells its sums from those of the other panels under way. */
void af_multiply(const af_block *block, const float *panel, int64_t place, int64_t column, int64_t columns);

#endif
