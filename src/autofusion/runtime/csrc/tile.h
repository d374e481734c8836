/* The micro-kernel: a few rows times the weight panels whose sums fit into registers. */
#ifndef AF_TILE_H
#define AF_TILE_H

#include "epilogue.h"

/* Rows and panels that fit into registers beside a row of the panels; rows that fit with a panel and a half. */
#if AF_WIDTH == 16
enum { AF_TILE_ROWS = 12, AF_TILE_PANELS = 2, AF_WIDE_ROWS = 12 };
#elif AF_WIDTH == 4 && defined(__x86_64__)
enum { AF_TILE_ROWS = 3, AF_TILE_PANELS = 1, AF_WIDE_ROWS = 2 };
#else
enum { AF_TILE_ROWS = 6, AF_TILE_PANELS = 1, AF_WIDE_ROWS = 4 };
#endif

/* A panel, a panel and a half, two panels. */
enum af_tile_width { AF_ONE_PANEL, AF_WIDE_PANEL, AF_TWO_PANELS };

/* Row r is the concatenation of `segments` runs of `length` floats, run s at rows[s * AF_ROW_BLOCK + r] + start.
   A panel holds AF_PANEL columns for each of these floats; the next one is `panel_step` floats further on.  A product
   too deep for one tile passes its sums on in `sums`, AF_PANEL for each row and AF_ROW_BLOCK rows for each panel: all
   tiles but the first add to them, and only the last one writes to y.  `ahead` is where a panel begins that a later
   tile will read, of which a row has `ahead_step` bytes; where it is null, the tile's own panels are in the first-level
   cache already.  Rows fetch_first to
   fetch_last - 1 of y and the residual, counted from the tile's first one, are written by this tile or the next. */
typedef struct af_tile {
    const float *const *rows;
    int64_t segments, length, start;
    const float *panel;
    const char *ahead;
    int64_t panel_step, ahead_step;
    float *sums, *y;
    int64_t y_pitch, columns;
    const float *bias, *residual;
    const af_epilogue *epilogue;
    int64_t fetch_first, fetch_last;
    int first, last;
} af_tile;

/* Compute 1 to AF_TILE_ROWS rows; 1 to AF_WIDE_ROWS of a wide panel.  AF_TWO_PANELS are for AF_TILE_PANELS = 2. */
void af_run_tile(const af_tile *tile, int64_t row_count, enum af_tile_width width);

#endif
