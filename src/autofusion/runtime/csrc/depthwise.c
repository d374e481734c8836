/* Convolution with one channel per group, a few vectors of channels at a time under every tap.

   Weights: for every AF_PANEL channels (the last panel padded with zeros), for every tap: AF_PANEL floats. */
#include "epilogue.h"
#include "window.h"

/* Vectors of channels that one walk over the window sums. */
enum { VECTORS = 4 };

typedef struct pixel {
    const af_conv *conv;
    const af_epilogue *epilogue;
    const float *image, *weights, *residual;
    float *y;
    af_reach reaches[3];
} pixel;

AF_INLINE vf take(const float *from, int64_t count) {
    return count == AF_WIDTH ? load(from) : load_some(from, count);
}

/* The sums of `vectors` vectors of channels from `channel` on; with one vector only `count` channels exist. */
AF_INLINE void run_channels(const pixel *p, int64_t channel, const int vectors, int64_t count) {
    const af_window *w = &p->conv->window;
    const af_epilogue *epilogue = p->epilogue;
    const af_reach *r = p->reaches;
    int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
    int64_t step = w->dilations[2] * p->conv->x_pitch;
    const float *weights[VECTORS];
    vf sums[VECTORS];
    for (int v = 0; v < vectors; v++) {
        int64_t at = channel + v * AF_WIDTH;
        weights[v] = p->weights + at / AF_PANEL * taps * AF_PANEL + at % AF_PANEL;
        sums[v] = (vf){0};
    }
    for (int64_t i = r[0].first; i < r[0].last; i++) {
        for (int64_t j = r[1].first; j < r[1].last; j++) {
            int64_t z = r[0].start + i * w->dilations[0], row = r[1].start + j * w->dilations[1];
            int64_t line = (z * w->x[1] + row) * w->x[2];
            int64_t tap = ((i * w->kernel[1] + j) * w->kernel[2] + r[2].first) * AF_PANEL;
            const float *x = p->image + (line + r[2].start) * p->conv->x_pitch + r[2].first * step + channel;
            for (int64_t k = r[2].first; k < r[2].last; k++, x += step, tap += AF_PANEL)
                for (int v = 0; v < vectors; v++) sums[v] += take(x + v * AF_WIDTH, count) * load(weights[v] + tap);
        }
    }
    for (int v = 0; v < vectors; v++) {
        int64_t at = channel + v * AF_WIDTH;
        vf bias = epilogue->bias ? take(epilogue->bias + at, count) : (vf){0};
        vf residual = p->residual ? take(p->residual + at, count) : (vf){0};
        vf y = finish(epilogue, sums[v], bias, residual);
        if (count == AF_WIDTH)
            store(p->y + at, y);
        else
            store_some(p->y + at, y, count);
    }
}

static void run_pixel(const pixel *p) {
    int64_t channels = p->conv->channels, channel = 0;
    for (; channel + VECTORS * AF_WIDTH <= channels; channel += VECTORS * AF_WIDTH)
        run_channels(p, channel, VECTORS, AF_WIDTH);
    for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH) run_channels(p, channel, 1, AF_WIDTH);
    if (channel < channels) run_channels(p, channel, 1, channels - channel);
}

/* The output pixels of one row of one image. */
static void run_line(pixel *p, int64_t first_pixel) {
    const af_conv *conv = p->conv;
    float *y = p->y + first_pixel * conv->y_pitch;
    const float *residual = p->residual ? p->residual + first_pixel * conv->residual_pitch : NULL;
    int64_t columns = conv->window.y[2];
    for (int64_t column = 0; column < columns; column++) {
        p->y = y + column * conv->y_pitch;
        if (residual) p->residual = residual + column * conv->residual_pitch;
        p->reaches[2] = clip_window(&conv->window, 2, column, 0, conv->window.x[2]);
        run_pixel(p);
    }
    if (p->epilogue->late.function != AF_IDENTITY)
        af_apply(&p->epilogue->late, y, conv->y_pitch, y, conv->y_pitch, columns, conv->channels);
}

void af_run_depthwise(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    af_epilogue epilogue = make_epilogue(call->step, conv->activation, call->operands[AF_BIAS],
                                         call->operands[AF_RESIDUAL], conv->residual_pitch);
    af_range lines = share(conv->batch * w->y[0] * w->y[1], 1, part, parts);
    for (int64_t line = lines.first; line < lines.last; line++) {
        int64_t row = line % w->y[1], plane = line / w->y[1] % w->y[0], image = line / w->y[1] / w->y[0];
        pixel p = {
            .conv = conv,
            .epilogue = &epilogue,
            .image = call->operands[AF_X] + image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch,
            .weights = call->operands[AF_WEIGHT],
            .residual = call->operands[AF_RESIDUAL],
            .y = call->operands[AF_RESULT],
            .reaches = {clip_window(w, 0, plane, 0, w->x[0]), clip_window(w, 1, row, 0, w->x[1])},
        };
        run_line(&p, line * w->y[2]);
    }
}
