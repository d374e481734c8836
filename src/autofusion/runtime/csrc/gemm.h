/* A block of rows times weight panels: what convolutions and matrix products have in common. */
#ifndef AF_GEMM_H
#define AF_GEMM_H

#include "call.h"
#include "tile.h"

/* Up to AF_ROW_BLOCK rows as in af_tile, where column 0 of the first row goes, and memory for the sums of
   AF_PANEL_BLOCK panels if the product is deeper than one block.  Runs are counted from `run` on; those of a row that
   lie outside of its reach hold zeros, which are left out, if `reaches` is not null. */
typedef struct af_block {
    const float *const *rows;
    const af_range *reaches;
    int64_t row_count, segments, length, start, run;
    float *sums, *y;
    int64_t y_pitch;
    const float *residual;
    const af_epilogue *epilogue;
    int first, last;
} af_block;

/* Panels that hold `columns` columns of y from `column` on, one panel `step` numbers of `type` after the other.  `next`
   is where as many numbers will be read afterwards, or null.  Those of two bytes are widened in `widened`, which holds two
   panels of as many rows as are multiplied at a time. */
typedef struct af_panels {
    const void *first, *next;
    int64_t type, step, column, columns;
    float *widened;
} af_panels;

/* Bytes of `sums` for a product of this depth; 0 where one block holds it. */
int64_t af_sums_bytes(int64_t depth);

/* Multiply the rows by the panels, of which there are at most AF_PANEL_BLOCK where the block has sums. */
void af_multiply(const af_block *block, const af_panels *panels);

#endif
