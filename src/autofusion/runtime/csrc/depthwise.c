/* Convolution with one channel per group, line by line. */
#include "channel_mean.h"
#include "depthwise_line.h"
#include "widen.h"
#include "window.h"

void af_point_to_lines(const af_conv *conv, const float *image, int64_t plane, int64_t row, const float **lines) {
    const af_window *w = &conv->window;
    af_reach planes = clip_window(w, 0, plane, 0, w->x[0]), rows = clip_window(w, 1, row, 0, w->x[1]);
    for (int64_t i = 0; i < w->kernel[0]; i++) {
        for (int64_t j = 0; j < w->kernel[1]; j++) {
            int inside = i >= planes.first && i < planes.last && j >= rows.first && j < rows.last;
            int64_t z = planes.start + i * w->dilations[0], y = rows.start + j * w->dilations[1];
            *lines++ = inside ? image + (z * w->x[1] + y) * w->x[2] * conv->x_pitch : NULL;
        }
    }
}

static int64_t table_bytes(const af_conv *conv) {
    return round_to_line((int64_t)sizeof(float *) * count_tap_lines(&conv->window));
}

static int64_t totals_bytes(const af_conv *conv) {
    return conv->averaged ? af_totals_bytes(conv->batch, conv->channels) : 0;
}

/* Numbers of a panel. */
static int64_t count_numbers(const af_conv *conv) {
    return count_tap_lines(&conv->window) * conv->window.kernel[2] * AF_PANEL;
}

int64_t af_depthwise_scratch(const af_conv *conv) {
    int64_t panels = divide_up(conv->channels, AF_PANEL);
    return table_bytes(conv) + totals_bytes(conv) + widened_bytes(conv->type, panels * count_numbers(conv));
}

void af_run_depthwise(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    const float *residual = call->operands[AF_RESIDUAL];
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    const float **table = (const float **)scratch;
    af_epilogue epilogue =
        make_epilogue(call->step, conv->activation, call->operands[AF_BIAS], residual, conv->residual_pitch);
    af_depthwise_function *run_line = af_find_depthwise(w);
    af_channel_mean mean = {conv->batch, conv->channels, w->y[0] * w->y[1] * w->y[2], table_bytes(conv)};
    float *totals = conv->averaged ? af_open_totals(call, &mean, part) : NULL;
    const float *weights = widen_panels(conv->type, call->operands[AF_WEIGHT], count_numbers(conv),
                                        (af_range){0, divide_up(conv->channels, AF_PANEL)},
                                        (float *)(scratch + table_bytes(conv) + totals_bytes(conv)));
    af_range lines = share(conv->batch * w->y[0] * w->y[1], 1, part, parts);
    for (int64_t index = lines.first; index < lines.last; index++) {
        int64_t row = index % w->y[1], plane = index / w->y[1] % w->y[0], image = index / w->y[1] / w->y[0];
        const float *x = call->operands[AF_X] + image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch;
        af_point_to_lines(conv, x, plane, row, table);
        af_depthwise_line line = {
            .window = w,
            .epilogue = &epilogue,
            .channels = conv->channels,
            .x_pitch = conv->x_pitch,
            .y_pitch = conv->y_pitch,
            .lines = table,
            .weights = weights,
            .residual = residual ? residual + index * w->y[2] * conv->residual_pitch : NULL,
            .y = call->operands[AF_RESULT] + index * w->y[2] * conv->y_pitch,
            .totals = totals ? totals + image * conv->channels : NULL,
        };
        run_line(&line);
    }
    if (totals) af_finish_mean(call, &mean, parts, call->operands[AF_FURTHER]);
}
