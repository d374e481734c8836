/* Maximum and average over windows, AF_PANEL or AF_WIDTH channels at a time. */
#include "vector.h"
#include "window.h"

enum { VECTORS = AF_PANEL / AF_WIDTH };

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
    for (; channel + AF_PANEL <= channels.last; channel += AF_PANEL) reduce(p, channel, VECTORS, is_max, AF_WIDTH);
    for (; channel < channels.last; channel += AF_WIDTH)
        reduce(p, channel, 1, is_max, smaller(channels.last - channel, AF_WIDTH));
}

/* How many cells of the window count in an average. */
static int64_t count_cells(const af_pool *pool, const int64_t at[3]) {
    const af_window *w = &pool->window;
    int64_t cells = 1;
    for (int axis = 0; axis < 3; axis++) {
        int64_t low = pool->include_pad ? -w->begins[axis] : 0;
        int64_t high = w->x[axis] + (pool->include_pad ? w->ends[axis] : 0);
        af_reach reach = clip_window(w, axis, at[axis], low, high);
        cells *= reach.last > reach.first ? reach.last - reach.first : 0;
    }
    return cells;
}

static void run_pixel(const af_call *call, int64_t index, af_range channels) {
    const af_pool *pool = &call->step->pool;
    const af_window *w = &pool->window;
    int64_t at[3], image = index;
    pixel p = {.pool = pool, .y = call->operands[AF_RESULT] + index * pool->y_pitch};
    for (int axis = 2; axis >= 0; axis--) {
        at[axis] = image % w->y[axis];
        image /= w->y[axis];
        p.reaches[axis] = clip_window(w, axis, at[axis], 0, w->x[axis]);
    }
    p.image = call->operands[AF_X] + image * w->x[0] * w->x[1] * w->x[2] * pool->x_pitch;
    if (pool->kind == AF_POOL_MAX) {
        run_channels(&p, channels, 1);
    } else {
        p.divisor = (float)count_cells(pool, at);
        run_channels(&p, channels, 0);
    }
}

void af_run_pool(const af_call *call, int64_t part, int64_t parts) {
    const af_pool *pool = &call->step->pool;
    const int64_t *y = pool->window.y;
    int64_t pixel_count = pool->batch * y[0] * y[1] * y[2];
    af_range pixels = {0, pixel_count}, channels = {0, pool->channels};
    if (pixel_count >= parts)
        pixels = share(pixel_count, 1, part, parts);
    else
        channels = share(pool->channels, AF_PANEL, part, parts);
    for (int64_t index = pixels.first; index < pixels.last; index++) run_pixel(call, index, channels);
}
