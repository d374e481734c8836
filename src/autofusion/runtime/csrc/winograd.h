/* Winograd's minimal filtering of 3x3 windows: transforms of tiles between pixels and positions.

   F(m x m, 3 x 3) makes a square of m x m results from one of m + 2 pixels each way in (m + 2)^2 multiplications of
   transformed pixels by transformed weights.  The interpolation points are 0, 1, -1 for m = 2 and 0, 3/4, -3/4, 3/2,
   -3/2 for m = 4, and infinity: a third of the error that 0, 1, -1, 2, -2 give, and every constant is exact. */
#ifndef AF_WINOGRAD_H
#define AF_WINOGRAD_H

#include "vector.h"

enum { AF_MAX_REACH = 6 };

/* The transform of `m` + 2 values to as many positions, in place, `step` vectors apart. */
AF_INLINE void transform_values(vf *d, const int step, const int m) {
    vf d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (m == 2) {
        d[0] = d2 - d[0];
        d[step] = d2 + d1;
        d[2 * step] = d2 - d1;
        d[3 * step] = d3 - d1;
        return;
    }
    vf d0 = d[0], d4 = d[4 * step], d5 = d[5 * step];
    vf even = d4 - d2 * 2.25f, odd = (d3 - d1 * 2.25f) * 0.75f;
    vf wide_even = d4 - d2 * 0.5625f, wide_odd = (d3 - d1 * 0.5625f) * 1.5f;
    d[0] = d0 * 1.265625f - d2 * 2.8125f + d4;
    d[step] = even + odd;
    d[2 * step] = even - odd;
    d[3 * step] = wide_even + wide_odd;
    d[4 * step] = wide_even - wide_odd;
    d[5 * step] = d1 * 1.265625f - d3 * 2.8125f + d5;
}

/* The transform of `m` + 2 products back to `m` results, which take the first places. */
AF_INLINE void transform_products(vf *d, const int step, const int m) {
    vf sum = d[step] + d[2 * step], difference = d[step] - d[2 * step], last = d[3 * step];
    if (m == 2) {
        d[0] += sum;
        d[step] = difference + last;
        return;
    }
    vf wide_sum = d[3 * step] + d[4 * step], wide_difference = d[3 * step] - d[4 * step];
    d[0] += sum + wide_sum;
    d[step] = difference * 0.75f + wide_difference * 1.5f;
    d[2 * step] = sum * 0.5625f + wide_sum * 2.25f;
    d[3 * step] = difference * 0.421875f + wide_difference * 3.375f + d[5 * step];
}

#endif
