/* Several output pixels of a line at a time for every vector of channels. */
#include "depthwise_line.h"

#include "window.h"

/* Output pixels side by side whose sums fit into registers beside the weights of a line of taps. */
enum { CHUNK = 7 };

/* Vectors of channels that a walk over a single window sums. */
enum { VECTORS = 4 };

typedef af_depthwise_line line;

#define UNROLL _Pragma("GCC unroll 32")

AF_INLINE vf take(const float *from, int64_t count) {
    return count == AF_WIDTH ? load(from) : load_some(from, count);
}

AF_INLINE void put(float *to, vf x, int64_t count) {
    if (count == AF_WIDTH)
        store(to, x);
    else
        store_some(to, x, count);
}

/* The weights of `channel` under the first tap of line `index` of taps. */
AF_INLINE const float *find_weights(const line *l, int64_t index, int64_t channel) {
    const af_window *w = l->window;
    int64_t tap = (channel / AF_PANEL * count_tap_lines(w) + index) * w->kernel[2];
    return l->weights + tap * AF_PANEL + channel % AF_PANEL;
}

/* Finish and store the sums of `columns` pixels side by side; gives the total of all from pixel `fresh` of them on.
   What all share is read before the first store, after which the compiler would have to read it again. */
AF_INLINE vf put_pixels(const line *l, int64_t column, const int columns, int64_t fresh, int64_t channel, int64_t count,
                        vf *sums) {
    const af_epilogue *epilogue = l->epilogue;
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    vf bias = epilogue->bias ? take(epilogue->bias + channel, count) : (vf){0};
    int64_t pitch = l->y_pitch, residual_pitch = epilogue->residual_pitch;
    float *y = l->y + column * pitch + channel;
    UNROLL for (int i = 0; i < columns; i++) sums[i] = sums[i] * scale + bias;
    if (l->residual) {
        const float *residual = l->residual + column * residual_pitch + channel;
        UNROLL for (int i = 0; i < columns; i++) sums[i] += take(residual + i * residual_pitch, count);
    }
    if (epilogue->late.function != AF_IDENTITY) {
        float copy[CHUNK * AF_WIDTH];
        UNROLL for (int i = 0; i < columns; i++) store(copy + i * AF_WIDTH, sums[i]);
        af_apply(&epilogue->late, copy, AF_WIDTH, copy, AF_WIDTH, columns, AF_WIDTH);
        UNROLL for (int i = 0; i < columns; i++) sums[i] = load(copy + i * AF_WIDTH);
    }
    vf total = {0};
    UNROLL for (int i = 0; i < columns; i++) {
        vf pixel = at_most(at_least(sums[i], low), high);
        put(y + i * pitch, pixel, count);
        if (i >= fresh) total += pixel;
    }
    return total;
}

AF_INLINE void add_total(const line *l, int64_t channel, int64_t count, vf total) {
    if (l->totals) put(l->totals + channel, take(l->totals + channel, count) + total, count);
}

/* CHUNK output pixels from `column` on, `count` channels from `channel` on, under `taps` taps side by side, and their
   total from pixel `fresh` on.  Every pixel of the image is loaded once for all the windows that it lies in;
   `at_border` says that some lie outside. */
AF_INLINE vf run_chunk(const line *l, int64_t column, int64_t fresh, int64_t channel, int64_t count, const int taps,
                       const int stride, const int at_border) {
    const af_window *w = l->window;
    int64_t first = column * stride - w->begins[2], pitch = l->x_pitch;
    vf sums[CHUNK];
    UNROLL for (int i = 0; i < CHUNK; i++) sums[i] = (vf){0};
    for (int64_t i = 0; i < count_tap_lines(w); i++) {
        if (!l->lines[i]) continue;
        const float *x = l->lines[i] + first * pitch + channel, *weights = find_weights(l, i, channel);
        vf weight[7];
        UNROLL for (int tap = 0; tap < taps; tap++) weight[tap] = load(weights + tap * AF_PANEL);
        UNROLL for (int place = 0; place < (CHUNK - 1) * stride + taps; place++) {
            if (at_border && (first + place < 0 || first + place >= w->x[2])) continue;
            vf pixel = keep(take(x + place * pitch, count));
            UNROLL for (int tap = 0; tap < taps; tap++) {
                int window = (place - tap) / stride;
                if (place >= tap && (place - tap) % stride == 0 && window < CHUNK)
                    sums[window] += pixel * weight[tap];
            }
        }
    }
    return put_pixels(l, column, CHUNK, fresh, channel, count, sums);
}

/* All chunks of the line, of which the last one may overlap the one before. */
AF_INLINE void run_line_channels(const line *l, int64_t channel, int64_t count, const int taps, const int stride) {
    const af_window *w = l->window;
    int64_t columns = w->y[2];
    vf total = {0};
    for (int64_t at = 0; at < columns; at += CHUNK) {
        int64_t column = smaller(at, columns - CHUNK), first = column * stride - w->begins[2];
        if (first >= 0 && first + (CHUNK - 1) * stride + taps <= w->x[2])
            total += run_chunk(l, column, at - column, channel, count, taps, stride, 0);
        else
            total += run_chunk(l, column, at - column, channel, count, taps, stride, 1);
    }
    add_total(l, channel, count, total);
}

AF_INLINE void run_chunks(const line *l, const int taps, const int stride) {
    int64_t channels = l->channels, channel = 0;
    for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH)
        run_line_channels(l, channel, AF_WIDTH, taps, stride);
    if (channel < channels) run_line_channels(l, channel, channels - channel, taps, stride);
}

static void run_3_1(const line *l) { run_chunks(l, 3, 1); }
static void run_3_2(const line *l) { run_chunks(l, 3, 2); }
static void run_5_1(const line *l) { run_chunks(l, 5, 1); }
static void run_5_2(const line *l) { run_chunks(l, 5, 2); }
static void run_7_1(const line *l) { run_chunks(l, 7, 1); }
static void run_7_2(const line *l) { run_chunks(l, 7, 2); }

/* One output pixel under the taps of `reach`, whatever the window; with one vector only `count` channels exist. */
AF_INLINE void run_pixel(const line *l, int64_t column, af_reach reach, int64_t channel, const int vectors,
                         int64_t count) {
    const af_window *w = l->window;
    vf sums[VECTORS];
    for (int v = 0; v < vectors; v++) sums[v] = (vf){0};
    for (int64_t i = 0; i < count_tap_lines(w); i++) {
        if (!l->lines[i]) continue;
        const float *x = l->lines[i] + reach.start * l->x_pitch + channel, *weights[VECTORS];
        for (int v = 0; v < vectors; v++) weights[v] = find_weights(l, i, channel + v * AF_WIDTH);
        for (int64_t tap = reach.first; tap < reach.last; tap++) {
            const float *pixel = x + tap * w->dilations[2] * l->x_pitch;
            for (int v = 0; v < vectors; v++)
                sums[v] += take(pixel + v * AF_WIDTH, count) * load(weights[v] + tap * AF_PANEL);
        }
    }
    for (int v = 0; v < vectors; v++)
        add_total(l, channel + v * AF_WIDTH, count,
                  put_pixels(l, column, 1, 0, channel + v * AF_WIDTH, count, sums + v));
}

static void run_pixels(const line *l) {
    const af_window *w = l->window;
    int64_t channels = l->channels;
    for (int64_t column = 0; column < w->y[2]; column++) {
        af_reach reach = clip_window(w, 2, column, 0, w->x[2]);
        int64_t channel = 0;
        for (; channel + VECTORS * AF_WIDTH <= channels; channel += VECTORS * AF_WIDTH)
            run_pixel(l, column, reach, channel, VECTORS, AF_WIDTH);
        for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH) run_pixel(l, column, reach, channel, 1, AF_WIDTH);
        if (channel < channels) run_pixel(l, column, reach, channel, 1, channels - channel);
    }
}

af_depthwise_function *af_find_depthwise(const af_window *w) {
    static af_depthwise_function *const kernels[][2] = {{run_3_1, run_3_2}, {run_5_1, run_5_2}, {run_7_1, run_7_2}};
    int64_t taps = w->kernel[2], stride = w->strides[2];
    int is_known = (taps == 3 || taps == 5 || taps == 7) && (stride == 1 || stride == 2) && w->dilations[2] == 1;
    return is_known && w->y[2] >= CHUNK ? kernels[(taps - 3) / 2][stride - 1] : run_pixels;
}
