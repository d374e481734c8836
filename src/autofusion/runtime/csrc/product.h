/* Products with a constant matrix: what the parts of the kernel share. */
#ifndef AF_PRODUCT_H
#define AF_PRODUCT_H

#include "data.h"
#include "epilogue.h"

/* Rows of a and panels of b whose sums fit into registers. */
#if AF_WIDTH == 16
enum { AF_PRODUCT_ROWS = 14, AF_PRODUCT_PANELS = 2 };
#elif AF_WIDTH == 4 && defined(__x86_64__)
enum { AF_PRODUCT_ROWS = 3, AF_PRODUCT_PANELS = 1 };
#else
enum { AF_PRODUCT_ROWS = 6, AF_PRODUCT_PANELS = 1 };
#endif

/* Some rows of a, [depth][row], times one or two panels of b, [depth][AF_PANEL].

   The sums go to y, `columns` of them in each row; unless it is `first`, those that y holds are added. The epilogue
   belongs to the `last` part of the depth; an absent bias or residual is a null pointer.  Behind each of `ahead` are
   `ahead_lines` rows of a panel that a later tile will read; they may lie past the end of b. */
typedef struct af_product_tile {
    const float *a;
    const char *panels[2], *ahead[2];
    int64_t depth, ahead_lines;
    float *y;
    int64_t y_pitch, columns;
    const float *bias, *residual;
    int64_t residual_pitch;
    const af_epilogue *epilogue;
    int first, last;
} af_product_tile;

/* Compute 1 to AF_PRODUCT_ROWS rows of 1 to AF_PRODUCT_PANELS panels, whose elements are of `type`: AF_FLOAT,
   AF_FLOAT16 or AF_BFLOAT16. */
void af_run_product_tile(const af_product_tile *tile, int64_t type, int64_t rows, int64_t panels);

/* Put columns depth.first..depth.last-1 of `rows` rows of a, at most AF_PRODUCT_ROWS, in the order [column][row],
   normalized by `moments`, one a row, then times gamma plus beta; all three may be null. */
struct af_moments;
void af_pack_rows(const float *a, int64_t pitch, int64_t rows, af_range depth, const struct af_moments *moments,
                  const float *gamma, const float *beta, float *packed);

#endif
