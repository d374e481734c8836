/* The filters of a convolution at the positions of Winograd's tiles, made when the model runs: an artifact then holds
   nine numbers of each filter and channel, not sixteen or thirty-six. */
#include "data.h"
#include "half.h"

#define UNROLL _Pragma("GCC unroll 8")

enum { TAPS = 9, MAX_REACH = 6 };

/* The values of the polynomial d[0] + d[step] t + d[2 * step] t^2 at the points, each over the product of its
   distances to the others; infinity has the last coefficient.  They go to `values`, one after the other. */
AF_INLINE void transform_taps(const vf *d, const int step, vf *values, const int m) {
    vf d0 = d[0], d1 = d[step], d2 = d[2 * step];
    if (m == 2) {
        vf even = (d0 + d2) * 0.5f, odd = d1 * 0.5f;
        values[0] = -d0;
        values[1] = even + odd;
        values[2] = even - odd;
        values[3] = d2;
        return;
    }
    vf even = d0 + d2 * 0.5625f, odd = d1 * 0.75f, wide_even = d0 + d2 * 2.25f, wide_odd = d1 * 1.5f;
    values[0] = d0 * (1 / 1.265625f);
    values[1] = (even + odd) * (1 / -1.8984375f);
    values[2] = (even - odd) * (1 / -1.8984375f);
    values[3] = (wide_even + wide_odd) * (1 / 7.59375f);
    values[4] = (wide_even - wide_odd) * (1 / 7.59375f);
    values[5] = d2;
}

/* A vector of filters of one channel: taps at `place` of x and `x_step` numbers apart, positions `y_step` apart. */
AF_INLINE void transform_filter(const int type, const void *x, int64_t place, int64_t x_step, float *y, int64_t y_step,
                                const int m) {
    const int reach = m + 2;
    vf taps[TAPS], lines[MAX_REACH * 3], values[MAX_REACH];
    UNROLL for (int tap = 0; tap < TAPS; tap++) taps[tap] = load_as(type, x, place + tap * x_step);
    UNROLL for (int column = 0; column < 3; column++) {
        transform_taps(taps + column, 3, values, m);
        UNROLL for (int i = 0; i < reach; i++) lines[i * 3 + column] = values[i];
    }
    UNROLL for (int i = 0; i < reach; i++) {
        transform_taps(lines + i * 3, 1, values, m);
        UNROLL for (int j = 0; j < reach; j++) store(y + (i * reach + j) * y_step, values[j]);
    }
}

AF_INLINE void transform_filters(const int type, const af_call *call, af_range units, const int m) {
    const af_filter *filter = &call->step->filter;
    const void *x = call->operands[AF_X];
    int64_t panels = divide_up(filter->filters, AF_PANEL), row = filter->channels * AF_PANEL;
    for (int64_t unit = units.first; unit < units.last; unit++) {
        int64_t panel = unit / filter->channels, channel = unit % filter->channels;
        int64_t from = panel * TAPS * row + channel * AF_PANEL;
        float *to = call->operands[AF_RESULT] + unit * AF_PANEL;
        for (int lane = 0; lane < AF_PANEL; lane += AF_WIDTH)
            transform_filter(type, x, from + lane, row, to + lane, panels * row, m);
    }
}

AF_INLINE void run_typed(const int type, const af_call *call, af_range units) {
    if (call->step->filter.tile == 2)
        transform_filters(type, call, units, 2);
    else
        transform_filters(type, call, units, 4);
}

void af_run_filter(const af_call *call, int64_t part, int64_t parts) {
    const af_filter *filter = &call->step->filter;
    af_range units = share(divide_up(filter->filters, AF_PANEL) * filter->channels, 1, part, parts);
    switch (filter->type) {
    case AF_FLOAT16: run_typed(AF_FLOAT16, call, units); return;
    case AF_BFLOAT16: run_typed(AF_BFLOAT16, call, units); return;
    default: run_typed(AF_FLOAT, call, units);
    }
}
