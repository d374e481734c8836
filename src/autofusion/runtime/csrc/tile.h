/* The micro-kernel: a few rows times one weight panel. */
#ifndef AF_TILE_H
#define AF_TILE_H

#include "epilogue.h"

/* Rows that fit into registers beside a panel's row. */
#if AF_WIDTH == 16
enum { AF_TILE_ROWS = 12 };
#elif AF_WIDTH == 4 && defined(__x86_64__)
enum { AF_TILE_ROWS = 3 };
#else
enum { AF_TILE_ROWS = 6 };
#endif

/* Row r is the concatenation of `segments` runs of `length` floats, run s at rows[s * AF_ROW_BLOCK + r] + start.
   `panel` holds AF_PANEL columns for each of these floats.  A product too deep for one tile passes its sums on in
   `sums`, AF_PANEL for each row: all tiles but the first add to them, and only the last one writes to y. */
typedef struct af_tile {
    const float *const *rows;
    int64_t segments, length, start;
    const float *panel;
    float *sums, *y;
    int64_t y_pitch, columns;
    const float *bias, *residual;
    const af_epilogue *epilogue;
    int first, last;
} af_tile;

/* Compute 1 to AF_TILE_ROWS rows. */
void af_run_tile(const af_tile *tile, int64_t row_count);

#endif
