/* Maximum and average over windows, several vectors of channels at a time. */
#include "pool.h"

#include "vector.h"
#include "window.h"

enum { VECTORS = 4 };

typedef struct pixel {
    const af_pool *pool;
    const float *image;
    float *y;
    af_reach reaches[3];
    float divisor;
} pixel;

/* Reduce `vectors` vectors of channels from `channel` on; with one vector only `count` channels exist. */
AF_INLINE void reduce(const pixel *p, int64_t channel, const int vectors, const int is_max, int64_t count) {
    const af_window *w = &p->pool->window;
    const af_reach *r = p->reaches;
    vf total[VECTORS];
    for (int v = 0; v < vectors; v++) total[v] = is_max ? splat(-__builtin_inff()) : (vf){0};
    for (int64_t i = r[0].first; i < r[0].last; i++) {
        for (int64_t j = r[1].first; j < r[1].last; j++) {
            int64_t z = r[0].start + i * w->dilations[0], row = r[1].start + j * w->dilations[1];
            int64_t line = (z * w->x[1] + row) * w->x[2];
            /* Averages sum line by line, which loses less than one long sum does. */
            vf sum[VECTORS];
            for (int v = 0; v < vectors; v++) sum[v] = is_max ? total[v] : (vf){0};
            for (int64_t k = r[2].first; k < r[2].last; k++) {
                const float *x = p->image + (line + r[2].start + k * w->dilations[2]) * p->pool->x_pitch + channel;
                for (int v = 0; v < vectors; v++) {
                    vf value = count < AF_WIDTH ? load_some(x, count) : load(x + v * AF_WIDTH);
                    sum[v] = is_max ? maximum(sum[v], value) : sum[v] + value;
                }
            }
            for (int v = 0; v < vectors; v++) total[v] = is_max ? sum[v] : total[v] + sum[v];
        }
    }
    for (int v = 0; v < vectors; v++) {
        vf y = is_max ? total[v] : total[v] / p->divisor;
        if (count < AF_WIDTH)
            store_some(p->y + channel, y, count);
        else
            store(p->y + channel + v * AF_WIDTH, y);
    }
}

AF_INLINE void run_channels(const pixel *p, af_range channels, const int is_max) {
    int64_t channel = channels.first;
    for (; channel + VECTORS * AF_WIDTH <= channels.last; channel += VECTORS * AF_WIDTH)
        reduce(p, channel, VECTORS, is_max, AF_WIDTH);
    for (; channel < channels.last; channel += AF_WIDTH)
        reduce(p, channel, 1, is_max, smaller(channels.last - channel, AF_WIDTH));
}

/* How many cells along an axis of the window `at` count in an average. */
static int64_t count_cells(const af_pool *pool, int axis, int64_t at) {
    const af_window *w = &pool->window;
    int64_t low = pool->include_pad ? -w->begins[axis] : 0;
    int64_t high = w->x[axis] + (pool->include_pad ? w->ends[axis] : 0);
    af_reach reach = clip_window(w, axis, at, low, high);
    return reach.last > reach.first ? reach.last - reach.first : 0;
}

/* Line `row` of plane `plane` of a pooled image, of which all planes lie at x, or from line `first` on the only one. */
static void run_line(const af_pool *pool, const float *x, int64_t first, int64_t plane, int64_t row, af_range channels,
                     float *y) {
    const af_window *w = &pool->window;
    pixel p = {.pool = pool, .image = x, .y = y};
    p.reaches[0] = clip_window(w, 0, plane, 0, w->x[0]);
    p.reaches[1] = clip_window(w, 1, row, 0, w->x[1]);
    p.reaches[1].start -= first;
    int64_t cells = count_cells(pool, 0, plane) * count_cells(pool, 1, row);
    for (int64_t column = 0; column < w->y[2]; column++, p.y += pool->y_pitch) {
        p.reaches[2] = clip_window(w, 2, column, 0, w->x[2]);
        if (pool->kind == AF_POOL_MAX) {
            run_channels(&p, channels, 1);
        } else {
            p.divisor = (float)(cells * count_cells(pool, 2, column));
            run_channels(&p, channels, 0);
        }
    }
}

void af_pool_line(const af_pool *pool, const float *x, int64_t first, int64_t line, float *y) {
    run_line(pool, x, first, 0, line, (af_range){0, pool->channels}, y);
}

void af_run_pool(const af_call *call, int64_t part, int64_t parts) {
    const af_pool *pool = &call->step->pool;
    const af_window *w = &pool->window;
    af_range lines = {0, pool->batch * w->y[0] * w->y[1]}, channels = {0, pool->channels};
    if (lines.last >= parts)
        lines = share(lines.last, 1, part, parts);
    else
        channels = share(pool->channels, AF_PANEL, part, parts);
    for (int64_t line = lines.first; line < lines.last; line++) {
        int64_t row = line % w->y[1], plane = line / w->y[1] % w->y[0], image = line / w->y[1] / w->y[0];
        const float *x = call->operands[AF_X] + image * w->x[0] * w->x[1] * w->x[2] * pool->x_pitch;
        run_line(pool, x, 0, plane, row, channels, call->operands[AF_RESULT] + line * w->y[2] * pool->y_pitch);
    }
}
