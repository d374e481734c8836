/* Convolution with one channel per group, a channel at a time under every tap.

   Weights: for every AF_PANEL channels (the last panel padded with zeros), for every tap: AF_PANEL floats. */
#include "epilogue.h"
#include "window.h"

typedef struct pixel {
    const af_conv *conv;
    const af_epilogue *epilogue;
    const float *image, *weights, *residual;
    float *y;
    af_reach reaches[3];
} pixel;

/* The sums of AF_WIDTH channels from `channel` on, of which `count` exist. */
AF_INLINE vf sum_window(const pixel *p, int64_t channel, int64_t count) {
    const af_window *w = &p->conv->window;
    const af_reach *r = p->reaches;
    int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
    const float *weights = p->weights + channel / AF_PANEL * taps * AF_PANEL + channel % AF_PANEL;
    vf sum = {0};
    for (int64_t i = r[0].first; i < r[0].last; i++) {
        for (int64_t j = r[1].first; j < r[1].last; j++) {
            int64_t z = r[0].start + i * w->dilations[0], row = r[1].start + j * w->dilations[1];
            const float *line = p->image + (z * w->x[1] + row) * w->x[2] * p->conv->x_pitch + channel;
            int64_t tap = (i * w->kernel[1] + j) * w->kernel[2];
            for (int64_t k = r[2].first; k < r[2].last; k++) {
                const float *x = line + (r[2].start + k * w->dilations[2]) * p->conv->x_pitch;
                vf value = count == AF_WIDTH ? load(x) : load_some(x, count);
                sum += value * load(weights + (tap + k) * AF_PANEL);
            }
        }
    }
    return sum;
}

static void run_pixel(const pixel *p) {
    const af_epilogue *epilogue = p->epilogue;
    int64_t channels = p->conv->channels, channel = 0;
    for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH) {
        vf bias = epilogue->bias ? load(epilogue->bias + channel) : (vf){0};
        vf residual = p->residual ? load(p->residual + channel) : (vf){0};
        store(p->y + channel, finish(epilogue, sum_window(p, channel, AF_WIDTH), bias, residual));
    }
    if (channel == channels) return;
    int64_t rest = channels - channel;
    vf bias = epilogue->bias ? load_some(epilogue->bias + channel, rest) : (vf){0};
    vf residual = p->residual ? load_some(p->residual + channel, rest) : (vf){0};
    store_some(p->y + channel, finish(epilogue, sum_window(p, channel, rest), bias, residual), rest);
}

/* The output pixels of one row of one image. */
static void run_line(pixel *p, int64_t first_pixel) {
    const af_conv *conv = p->conv;
    float *y = p->y + first_pixel * conv->y_pitch;
    const float *residual = p->residual ? p->residual + first_pixel * conv->residual_pitch : NULL;
    int64_t columns = conv->window.y[2];
    pixel at = *p;
    for (int64_t column = 0; column < columns; column++) {
        at.y = y + column * conv->y_pitch;
        if (residual) at.residual = residual + column * conv->residual_pitch;
        at.reaches[2] = clip_window(&conv->window, 2, column, 0, conv->window.x[2]);
        run_pixel(&at);
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
