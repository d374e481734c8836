/* Vectors of doubles, half as many as floats fit into a register; the counterpart of vector.h. */
#ifndef AF_DOUBLE_VECTOR_H
#define AF_DOUBLE_VECTOR_H

#include "element.h"
#include "vector.h"

#define AF_LANES (AF_WIDTH / 2)

typedef double vd __attribute__((vector_size(8 * AF_LANES)));
typedef int64_t vl __attribute__((vector_size(8 * AF_LANES)));

/* Memory is aligned to floats only, as bindings are. */
typedef double vd_memory __attribute__((vector_size(8 * AF_LANES), aligned(4), may_alias));

AF_INLINE vd load_doubles(const af_double *from) { return *(const vd_memory *)from; }

AF_INLINE void store_doubles(af_double *to, vd x) { *(vd_memory *)to = x; }

AF_INLINE vd splat_double(double x) { return x - (vd){0}; }

/* The first `count` lanes, the others 0; no other memory is touched. */
AF_INLINE vd load_some_doubles(const af_double *from, int64_t count) {
    vd x = {0};
    for (int lane = 0; lane < AF_LANES && lane < count; lane++) x[lane] = from[lane];
    return x;
}

AF_INLINE void store_some_doubles(af_double *to, vd x, int64_t count) {
    for (int lane = 0; lane < AF_LANES && lane < count; lane++) to[lane] = x[lane];
}

/* x where the mask is -1, y where it is 0. */
AF_INLINE vd pick_double(vl mask, vd x, vd y) { return (vd)((mask & (vl)x) | (~mask & (vl)y)); }

/* The larger (smaller) of x and bound; x where x is NaN. */
AF_INLINE vd double_at_least(vd x, vd bound) { return pick_double(x < bound, bound, x); }
AF_INLINE vd double_at_most(vd x, vd bound) { return pick_double(x > bound, bound, x); }

/* The larger (smaller) of the two; NaN where either is NaN. */
AF_INLINE vd double_maximum(vd x, vd y) { return pick_double((x > y) | (x != x), x, y); }
AF_INLINE vd double_minimum(vd x, vd y) { return pick_double((x < y) | (x != x), x, y); }

AF_INLINE double add_double_lanes(vd x) {
    double sum = 0;
    for (int lane = 0; lane < AF_LANES; lane++) sum += x[lane];
    return sum;
}

#endif
