/* The part of a sliding window that lies in the image. */
#ifndef AF_WINDOW_H
#define AF_WINDOW_H

#include "call.h"

/* Along one axis: taps first..last-1, tap t at `start` + t * dilation. */
typedef struct af_reach {
    int64_t first, last, start;
} af_reach;

/* The taps of window `index` that lie in low..high-1. */
static inline af_reach clip_window(const af_window *w, int axis, int64_t index, int64_t low, int64_t high) {
    int64_t start = index * w->strides[axis] - w->begins[axis], dilation = w->dilations[axis];
    int64_t first = start < low ? divide_up(low - start, dilation) : 0;
    int64_t last = start < high ? (high - 1 - start) / dilation + 1 : 0;
    return (af_reach){first, smaller(last, w->kernel[axis]), start};
}

/* Lines of the image from the first to the last one under a window. */
static inline int64_t count_reach(const af_window *w) { return (w->kernel[1] - 1) * w->dilations[1] + 1; }

#endif
