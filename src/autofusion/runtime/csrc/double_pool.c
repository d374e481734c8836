/* Maximum and average over windows of images of doubles. */
#include "double.h"
#include "double_vector.h"
#include "window.h"

/* How many cells along an axis of the window `at` count in an average. */
static int64_t count_cells(const af_pool *pool, int axis, int64_t at) {
    const af_window *w = &pool->window;
    int64_t low = pool->include_pad ? -w->begins[axis] : 0;
    int64_t high = w->x[axis] + (pool->include_pad ? w->ends[axis] : 0);
    af_reach reach = clip_window(w, axis, at, low, high);
    return reach.last > reach.first ? reach.last - reach.first : 0;
}

/* Up to AF_LANES channels of one result, under a window that has `cells` cells. */
static vd reduce(const af_pool *pool, const af_double *image, const af_reach r[3], int64_t count, int64_t cells) {
    const af_window *w = &pool->window;
    int is_max = pool->kind == AF_POOL_MAX;
    vd total = splat_double(is_max ? -__builtin_inf() : 0);
    for (int64_t i = r[0].first; i < r[0].last; i++)
        for (int64_t j = r[1].first; j < r[1].last; j++) {
            int64_t plane = r[0].start + i * w->dilations[0], line = r[1].start + j * w->dilations[1];
            const af_double *pixels = image + (plane * w->x[1] + line) * w->x[2] * pool->x_pitch;
            /* Averages sum line by line, which loses less than one long sum does. */
            vd sum = {0};
            for (int64_t k = r[2].first; k < r[2].last; k++) {
                const af_double *x = pixels + (r[2].start + k * w->dilations[2]) * pool->x_pitch;
                vd value = count < AF_LANES ? load_some_doubles(x, count) : load_doubles(x);
                if (is_max)
                    total = double_maximum(total, value);
                else
                    sum += value;
            }
            if (!is_max) total += sum;
        }
    return is_max ? total : total / (double)cells;
}

void af_run_pool_double(const af_call *call, int64_t part, int64_t parts) {
    const af_pool *pool = &call->step->pool;
    const af_window *w = &pool->window;
    af_range rows = {0, pool->batch * w->y[0] * w->y[1] * w->y[2]}, channels = {0, pool->channels};
    if (rows.last >= parts)
        rows = share(rows.last, 1, part, parts);
    else
        channels = share(pool->channels, AF_PANEL, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        const int64_t at[3] = {row / w->y[2] / w->y[1] % w->y[0], row / w->y[2] % w->y[1], row % w->y[2]};
        int64_t image = row / w->y[2] / w->y[1] / w->y[0], cells = 1;
        const af_double *x = find_doubles(call, AF_X) + image * w->x[0] * w->x[1] * w->x[2] * pool->x_pitch;
        af_double *y = find_doubles(call, AF_RESULT) + row * pool->y_pitch;
        af_reach reaches[3];
        for (int axis = 0; axis < 3; axis++) {
            reaches[axis] = clip_window(w, axis, at[axis], 0, w->x[axis]);
            cells *= count_cells(pool, axis, at[axis]);
        }
        for (int64_t channel = channels.first; channel < channels.last; channel += AF_LANES) {
            int64_t count = smaller(channels.last - channel, AF_LANES);
            vd value = reduce(pool, x + channel, reaches, count, cells);
            if (count < AF_LANES)
                store_some_doubles(y + channel, value, count);
            else
                store_doubles(y + channel, value);
        }
    }
}
