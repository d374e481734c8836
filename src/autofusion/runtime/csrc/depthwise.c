/* Convolution with narrow groups, line by line. */
#include "channel_mean.h"
#include "depthwise_line.h"
#include "widen.h"
#include "window.h"

/* Bytes of an image that the first-level and the second-level cache keep beside everything else. */
enum { NEAR_BYTES = 24 << 10, FAR_BYTES = 384 << 10 };

/* Pixels a multiple of so many floats apart share few sets of a cache: none keeps a line of them. */
enum { SAME_SETS = 512 };

/* Channels of a block are a multiple of this. */
enum { LEAST_CHANNELS = 2 * AF_PANEL };

/* How much more work one share may have where it has lines and not channels. */
#define LINES_GAIN 1.08

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
    return conv->averaged ? af_totals_bytes(conv->batch, conv->filters) : 0;
}

/* Numbers of a panel. */
static int64_t count_numbers(const af_conv *conv) {
    return count_tap_lines(&conv->window) * conv->window.kernel[2] * (conv->channels / conv->group) * AF_PANEL;
}

int64_t af_depthwise_scratch(const af_conv *conv) {
    int64_t panels = divide_up(conv->filters, AF_PANEL);
    return table_bytes(conv) + totals_bytes(conv) + widened_bytes(conv->type, panels * count_numbers(conv));
}

typedef struct task {
    const af_call *call;
    const af_conv *conv;
    af_epilogue epilogue;
    af_depthwise_function *run_line;
    const float **table; /* of the image's lines under a line of the result */
    const float *weights;
    float *totals; /* of all images' channels, or null */
} task;

/* Columns and channels of the result that are computed for all lines before the next ones. */
typedef struct block {
    int64_t columns, channels;
} block;

/* Few columns of all channels where the first-level cache then keeps the image's lines from one line of the result to
   the next one, or where none keeps them; else whole lines of as many channels as suit the second-level cache. */
static block plan_block(const af_conv *conv) {
    const af_window *w = &conv->window;
    int64_t lines = smaller(count_reach(w), w->x[1]) * w->kernel[0];
    int64_t reach = (w->kernel[2] - 1) * w->dilations[2] + 1, column = lines * conv->channels * (int64_t)sizeof(float);
    int64_t fitting = column ? (NEAR_BYTES / column - reach) / w->strides[2] + 1 : 0;
    if (fitting >= AF_CHUNK) return (block){fitting / AF_CHUNK * AF_CHUNK, conv->filters};
    if (conv->x_pitch % SAME_SETS == 0) return (block){AF_CHUNK, conv->filters};
    int64_t channel = lines * w->x[2] * (int64_t)sizeof(float), multiplier = conv->filters / conv->channels;
    int64_t channels = channel ? FAR_BYTES / channel * multiplier / LEAST_CHANNELS * LEAST_CHANNELS : 0;
    return (block){w->y[2], channels > LEAST_CHANNELS ? channels : LEAST_CHANNELS};
}

/* Line `index` of the result, counted over all planes of all images. */
static void run_line(const task *t, int64_t index, af_range columns, af_range channels) {
    const af_conv *conv = t->conv;
    const af_window *w = &conv->window;
    int64_t row = index % w->y[1], plane = index / w->y[1] % w->y[0], image = index / w->y[1] / w->y[0];
    const float *x = t->call->operands[AF_X] + image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch;
    const float *residual = t->epilogue.residual;
    af_point_to_lines(conv, x, plane, row, t->table);
    af_depthwise_line line = {
        .window = w,
        .epilogue = &t->epilogue,
        .columns = columns,
        .channels = channels,
        .multiplier = conv->filters / conv->channels,
        .size = conv->channels / conv->group,
        .x_pitch = conv->x_pitch,
        .y_pitch = conv->y_pitch,
        .lines = t->table,
        .weights = t->weights,
        .residual = residual ? residual + index * w->y[2] * conv->residual_pitch : NULL,
        .y = t->call->operands[AF_RESULT] + index * w->y[2] * conv->y_pitch,
        .totals = t->totals ? t->totals + image * conv->filters : NULL,
    };
    t->run_line(&line);
}

/* Whether shares have lines, each of which has all channels side by side, and not channels, of which there may be
   more. */
static int deals_lines(int64_t lines, int64_t panels, int64_t parts) {
    double by_lines = (double)divide_up(lines, parts) / (double)lines;
    return by_lines < LINES_GAIN * (double)divide_up(panels, parts) / (double)panels;
}

void af_run_depthwise(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    task t = {.call = call, .conv = conv, .table = (const float **)scratch};
    t.epilogue = make_epilogue(call->step, conv->activation, call->operands[AF_BIAS], call->operands[AF_RESIDUAL],
                               conv->residual_pitch);
    t.run_line = af_find_depthwise(w, conv->filters / conv->channels, conv->channels / conv->group);
    af_range lines = {0, conv->batch * w->y[0] * w->y[1]}, panels = {0, divide_up(conv->filters, AF_PANEL)};
    if (deals_lines(lines.last, panels.last, parts))
        lines = share(lines.last, 1, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    int64_t last = smaller(panels.last * AF_PANEL, conv->filters);
    af_channel_mean mean = {conv->batch, conv->filters, w->y[0] * w->y[1] * w->y[2], table_bytes(conv)};
    if (conv->averaged) t.totals = af_open_totals(call, &mean, part);
    t.weights = widen_panels(conv->type, call->operands[AF_WEIGHT], count_numbers(conv), panels,
                             (float *)(scratch + table_bytes(conv) + totals_bytes(conv)));
    block b = plan_block(conv);
    for (int64_t channel = panels.first * AF_PANEL; channel < last; channel += b.channels) {
        af_range channels = {channel, smaller(channel + b.channels, last)};
        for (int64_t column = 0; column < w->y[2]; column += b.columns) {
            af_range columns = {column, smaller(column + b.columns, w->y[2])};
            for (int64_t line = lines.first; line < lines.last; line++) run_line(&t, line, columns, channels);
        }
    }
    if (conv->averaged) af_finish_mean(call, &mean, parts, call->operands[AF_FURTHER]);
}
