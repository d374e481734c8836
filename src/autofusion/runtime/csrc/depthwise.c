/* Convolution with one channel per group: several output pixels of a line at a time for every vector of channels.

   Weights: for every AF_PANEL channels (the last panel padded with zeros), for every tap: AF_PANEL floats. */
#include "epilogue.h"
#include "window.h"

/* Output pixels side by side whose sums fit into registers beside the weights of a line of taps. */
enum { CHUNK = 7 };

/* Vectors of channels that a walk over a single window sums. */
enum { VECTORS = 4 };

/* An output line of one image; `reaches` tells which taps along the first two axes lie in the image. */
typedef struct line {
    const af_conv *conv;
    const af_epilogue *epilogue;
    const float *image, *weights, *residual;
    float *y;
    af_reach reaches[2];
} line;

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

/* The weights of `channel` under the first tap of a line of taps. */
AF_INLINE const float *find_weights(const line *l, int64_t i, int64_t j, int64_t channel) {
    const int64_t *kernel = l->conv->window.kernel;
    int64_t tap = (channel / AF_PANEL * kernel[0] + i) * kernel[1] + j;
    return l->weights + tap * kernel[2] * AF_PANEL + channel % AF_PANEL;
}

/* The first pixel of the image's line under a line of taps. */
AF_INLINE const float *find_line(const line *l, int64_t i, int64_t j) {
    const af_window *w = &l->conv->window;
    int64_t z = l->reaches[0].start + i * w->dilations[0], row = l->reaches[1].start + j * w->dilations[1];
    return l->image + (z * w->x[1] + row) * w->x[2] * l->conv->x_pitch;
}

/* Finish and store the sums of `columns` pixels side by side.  What all share is read before the first store, after
   which the compiler would have to read it again. */
AF_INLINE void put_pixels(const line *l, int64_t column, const int columns, int64_t channel, int64_t count, vf *sums) {
    const af_epilogue *epilogue = l->epilogue;
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    vf bias = epilogue->bias ? take(epilogue->bias + channel, count) : (vf){0};
    int64_t pitch = l->conv->y_pitch, residual_pitch = l->conv->residual_pitch;
    float *y = l->y + column * pitch + channel;
    UNROLL for (int i = 0; i < columns; i++) sums[i] = sums[i] * scale + bias;
    if (l->residual) {
        const float *residual = l->residual + column * residual_pitch + channel;
        UNROLL for (int i = 0; i < columns; i++) sums[i] += take(residual + i * residual_pitch, count);
    }
    if (epilogue->late.function != AF_IDENTITY) {
        float copy[CHUNK * AF_WIDTH];
        UNROLL for (int i = 0; i < columns; i++) store(copy + i * AF_WIDTH, sums[i]);
        af_apply(&epilogue->late, copy, AF_WIDTH, y, pitch, columns, count);
        return;
    }
    UNROLL for (int i = 0; i < columns; i++) put(y + i * pitch, at_most(at_least(sums[i], low), high), count);
}

/* CHUNK output pixels from `column` on, `count` channels from `channel` on, under `taps` taps side by side.  Every pixel
   of the image is loaded once for all the windows that it lies in; `at_border` says that some lie outside. */
AF_INLINE void run_chunk(const line *l, int64_t column, int64_t channel, int64_t count, const int taps,
                         const int stride, const int at_border) {
    const af_window *w = &l->conv->window;
    int64_t first = column * stride - w->begins[2], pitch = l->conv->x_pitch;
    vf sums[CHUNK];
    UNROLL for (int i = 0; i < CHUNK; i++) sums[i] = (vf){0};
    for (int64_t i = l->reaches[0].first; i < l->reaches[0].last; i++) {
        for (int64_t j = l->reaches[1].first; j < l->reaches[1].last; j++) {
            const float *x = find_line(l, i, j) + first * pitch + channel, *weights = find_weights(l, i, j, channel);
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
    }
    put_pixels(l, column, CHUNK, channel, count, sums);
}

/* All chunks of the line, of which the last one may overlap the one before. */
AF_INLINE void run_line_channels(const line *l, int64_t channel, int64_t count, const int taps, const int stride) {
    const af_window *w = &l->conv->window;
    int64_t columns = w->y[2];
    for (int64_t at = 0; at < columns; at += CHUNK) {
        int64_t column = smaller(at, columns - CHUNK), first = column * stride - w->begins[2];
        if (first >= 0 && first + (CHUNK - 1) * stride + taps <= w->x[2])
            run_chunk(l, column, channel, count, taps, stride, 0);
        else
            run_chunk(l, column, channel, count, taps, stride, 1);
    }
}

AF_INLINE void run_chunks(const line *l, const int taps, const int stride) {
    int64_t channels = l->conv->channels, channel = 0;
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
    const af_window *w = &l->conv->window;
    vf sums[VECTORS];
    for (int v = 0; v < vectors; v++) sums[v] = (vf){0};
    for (int64_t i = l->reaches[0].first; i < l->reaches[0].last; i++) {
        for (int64_t j = l->reaches[1].first; j < l->reaches[1].last; j++) {
            const float *x = find_line(l, i, j) + reach.start * l->conv->x_pitch + channel, *weights[VECTORS];
            for (int v = 0; v < vectors; v++) weights[v] = find_weights(l, i, j, channel + v * AF_WIDTH);
            for (int64_t tap = reach.first; tap < reach.last; tap++) {
                const float *pixel = x + tap * w->dilations[2] * l->conv->x_pitch;
                for (int v = 0; v < vectors; v++)
                    sums[v] += take(pixel + v * AF_WIDTH, count) * load(weights[v] + tap * AF_PANEL);
            }
        }
    }
    for (int v = 0; v < vectors; v++) put_pixels(l, column, 1, channel + v * AF_WIDTH, count, sums + v);
}

static void run_pixels(const line *l) {
    const af_window *w = &l->conv->window;
    int64_t channels = l->conv->channels;
    for (int64_t column = 0; column < w->y[2]; column++) {
        af_reach reach = clip_window(w, 2, column, 0, w->x[2]);
        int64_t channel = 0;
        for (; channel + VECTORS * AF_WIDTH <= channels; channel += VECTORS * AF_WIDTH)
            run_pixel(l, column, reach, channel, VECTORS, AF_WIDTH);
        for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH) run_pixel(l, column, reach, channel, 1, AF_WIDTH);
        if (channel < channels) run_pixel(l, column, reach, channel, 1, channels - channel);
    }
}

typedef void line_kernel(const line *l);

static line_kernel *find_kernel(const af_window *w) {
    static line_kernel *const kernels[][2] = {{run_3_1, run_3_2}, {run_5_1, run_5_2}, {run_7_1, run_7_2}};
    int64_t taps = w->kernel[2], stride = w->strides[2];
    int is_known = (taps == 3 || taps == 5 || taps == 7) && (stride == 1 || stride == 2) && w->dilations[2] == 1;
    return is_known && w->y[2] >= CHUNK ? kernels[(taps - 3) / 2][stride - 1] : run_pixels;
}

void af_run_depthwise(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    const float *residual = call->operands[AF_RESIDUAL];
    af_epilogue epilogue =
        make_epilogue(call->step, conv->activation, call->operands[AF_BIAS], residual, conv->residual_pitch);
    line_kernel *run_line = find_kernel(w);
    af_range lines = share(conv->batch * w->y[0] * w->y[1], 1, part, parts);
    for (int64_t index = lines.first; index < lines.last; index++) {
        int64_t row = index % w->y[1], plane = index / w->y[1] % w->y[0], image = index / w->y[1] / w->y[0];
        line l = {
            .conv = conv,
            .epilogue = &epilogue,
            .image = call->operands[AF_X] + image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch,
            .weights = call->operands[AF_WEIGHT],
            .residual = residual ? residual + index * w->y[2] * conv->residual_pitch : NULL,
            .y = call->operands[AF_RESULT] + index * w->y[2] * conv->y_pitch,
            .reaches = {clip_window(w, 0, plane, 0, w->x[0]), clip_window(w, 1, row, 0, w->x[1])},
        };
        run_line(&l);
    }
}
