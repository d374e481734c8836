/* Where the results of a resize lie between the cells of an image. */
#ifndef AF_RESIZE_H
#define AF_RESIZE_H

#include <math.h>

#include "call.h"

/* `AF_RESIZE_COLUMNS` results of a row are worked on for all rows of a share. */
enum { AF_RESIZE_TAPS = 4, AF_RESIZE_COLUMNS = 512 };

/* The cells of one axis that a result takes, and their weights. */
typedef struct reach {
    int64_t cells[AF_RESIZE_TAPS];
    double weights[AF_RESIZE_TAPS];
    int count;
} reach;

/* Where result `at` lies on the source axis, whose cells have their centres at 0, 1, 2, ... */
static inline double find_point(const af_resize *r, int axis, int64_t at, double scale) {
    double source = (double)r->x[axis], target = (double)r->y[axis], cell = (double)at;
    switch (r->coordinates) {
    case AF_ASYMMETRIC: return cell / scale;
    case AF_ALIGN_CORNERS: return target > 1 ? cell * ((source - 1) / (target - 1)) : 0;
    case AF_PYTORCH_HALF_PIXEL: return target > 1 ? (cell + 0.5) / scale - 0.5 : 0;
    case AF_HALF_PIXEL_SYMMETRIC:
        return source / 2 * (1 - target / (source * scale)) + (cell + 0.5) / scale - 0.5;
    default: return (cell + 0.5) / scale - 0.5;
    }
}

static inline double round_point(int64_t rounding, double point) {
    switch (rounding) {
    case AF_ROUND_FLOOR: return floor(point);
    case AF_ROUND_CEIL: return ceil(point);
    case AF_PREFER_CEIL: return floor(point + 0.5);
    default: return ceil(point - 0.5);
    }
}

static inline double weigh_cubic(double a, double distance) {
    if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}

static inline int64_t clamp_cell(double cell, int64_t extent) {
    /* Of a place that is no number it is the first cell. */
    return !(cell > 0) ? 0 : cell < (double)(extent - 1) ? (int64_t)cell : extent - 1;
}

static inline reach find_reach(const af_resize *r, int axis, int64_t at, double scale, double a) {
    reach found = {.weights = {1}, .count = 1};
    int64_t extent = r->x[axis];
    if (extent == r->y[axis] && scale == 1) {
        found.cells[0] = at;
        return found;
    }
    double point = find_point(r, axis, at, scale);
    if (r->mode == AF_NEAREST) {
        found.cells[0] = clamp_cell(round_point(r->rounding, point), extent);
        return found;
    }
    double first = floor(point) - (r->mode == AF_CUBIC), weights[AF_RESIZE_TAPS], sum = 0;
    found.count = r->mode == AF_CUBIC ? 4 : 2;
    for (int tap = 0; tap < found.count; tap++) {
        double cell = first + tap, distance = fabs(point - cell);
        int is_outside = cell < 0 || cell > (double)(extent - 1);
        weights[tap] = r->mode == AF_LINEAR ? 1 - distance : weigh_cubic(a, distance);
        if (r->mode == AF_CUBIC && r->exclude_outside && is_outside) weights[tap] = 0;
        found.cells[tap] = clamp_cell(cell, extent);
        sum += weights[tap];
    }
    for (int tap = 0; tap < found.count; tap++) found.weights[tap] = weights[tap] / sum;
    return found;
}

#endif
