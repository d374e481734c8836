/* A convolution and the depthwise one that alone reads its result, depth-first: of what lies between them only the
   lines under a few output lines exist at a time, in scratch memory that stays in the caches.

   A group of channels has a ring of lines, [line mod count][pixel][GROUP].  Padding is never in it: taps outside the
   inner image are left out, whatever the convolution would give there. */
#include "channel_mean.h"
#include "data.h"
#include "depthwise_line.h"
#include "gemm.h"
#include "widen.h"
#include "window.h"
#include "windows.h"

/* Channels of a group: two panels, which one tile multiplies where registers are wide. */
enum { GROUP = 2 * AF_PANEL };

/* Inner pixels that are computed at a time, if there are as many, so that tiles are high. */
enum { STRIPE_PIXELS = 96 };

/* How much more work one share may have where it has lines and not channels. */
#define LINES_GAIN 1.08

/* Bytes of an image that is read anew for every group; a larger one is read once, and every group has a ring. */
enum { REREAD_BYTES = 384 << 10 };

/* Output lines of a stripe, lines of a ring and floats of each, and how many groups have a ring at a time. */
typedef struct rings {
    int64_t stripe, lines, pitch, together;
} rings;

typedef struct task {
    const af_call *call;
    const af_conv *conv, *depthwise;
    rings rings;
    af_windows windows;
    af_epilogue inner, outer;
    af_depthwise_function *run_line;
    const float **lines; /* under a line of the result */
    float *memory;       /* of the rings */
    const float *weights, *depthwise_weights;
    float *totals;       /* of all images' channels, or null */
} task;

static rings plan_rings(const af_conv_depthwise *both) {
    const af_conv *conv = &both->conv;
    const af_window *w = &both->depthwise.window;
    rings r = {.pitch = w->x[2] * GROUP, .together = divide_up(conv->filters, GROUP)};
    int64_t pixels = w->x[2] * w->strides[1];
    r.stripe = smaller(divide_up(STRIPE_PIXELS, pixels > 0 ? pixels : 1), w->y[1] > 0 ? w->y[1] : 1);
    r.lines = smaller((r.stripe - 1) * w->strides[1] + count_reach(w), w->x[1]);
    int64_t bytes = conv->window.x[1] * conv->window.x[2] * conv->x_pitch * (int64_t)sizeof(float);
    if (bytes <= REREAD_BYTES) r.together = smaller(r.together, 1);
    return r;
}

static int64_t rings_bytes(const rings *r) {
    return round_to_line((int64_t)sizeof(float) * r->together * r->lines * r->pitch);
}

static int64_t table_bytes(const af_conv_depthwise *both) {
    return round_to_line((int64_t)sizeof(float *) * count_tap_lines(&both->depthwise.window));
}

static int64_t totals_bytes(const af_conv *depthwise) {
    return depthwise->averaged ? af_totals_bytes(depthwise->batch, depthwise->channels) : 0;
}

/* Numbers of a filter. */
static int64_t count_depth(const af_conv *conv) {
    return conv->window.kernel[0] * conv->window.kernel[1] * conv->window.kernel[2] * (conv->channels / conv->group);
}

static int64_t weights_bytes(const af_conv *conv) {
    return widened_bytes(conv->type, divide_up(conv->filters, AF_PANEL) * AF_PANEL * count_depth(conv));
}

int64_t af_conv_depthwise_scratch(const af_conv_depthwise *both) {
    rings r = plan_rings(both);
    return table_bytes(both) + rings_bytes(&r) + af_windows_bytes(&both->conv) + totals_bytes(&both->depthwise) +
           weights_bytes(&both->conv) + weights_bytes(&both->depthwise);
}

static af_epilogue shift_bias(const af_epilogue *epilogue, int64_t channel) {
    af_epilogue shifted = *epilogue;
    if (shifted.bias) shifted.bias += channel;
    return shifted;
}

/* Some channels of a group, from a panel's first one on, and their ring. */
typedef struct group {
    int64_t channel, count;
    float *ring;
} group;

/* Inner lines first..last-1 of an image in a group's ring. */
static void compute_lines(const task *t, int64_t image, int64_t first, int64_t last, const group *g) {
    const int64_t *extents = t->conv->window.y;
    int64_t depth = count_depth(t->conv);
    af_epilogue epilogue = shift_bias(&t->inner, g->channel);
    const float *weights = t->weights + g->channel * depth;
    const float *next = g->channel + 2 * GROUP <= t->conv->filters ? weights + GROUP * depth : NULL;
    af_panels panels = {
        .first = weights,
        .step = depth * AF_PANEL,
        .columns = g->count,
    };
    af_block block = {
        .rows = t->windows.table,
        .segments = t->windows.runs,
        .length = t->windows.length,
        .y_pitch = GROUP,
        .epilogue = &epilogue,
        .first = 1,
        .last = 1,
    };
    for (int64_t line = first; line < last;) {
        int64_t place = line % t->rings.lines, count = smaller(last - line, t->rings.lines - place);
        int64_t pixel = (image * extents[1] + line) * extents[2], end = pixel + count * extents[2];
        block.y = g->ring + place * t->rings.pitch;
        for (int64_t blocks = divide_up(end - pixel, AF_ROW_BLOCK); blocks > 0; blocks--) {
            block.row_count = divide_up(end - pixel, blocks);
            panels.next = blocks == 1 && line + count == last ? next : NULL;
            af_point_to_windows(&t->windows, pixel, block.row_count, 0);
            af_multiply(&block, &panels);
            block.y += block.row_count * GROUP;
            pixel += block.row_count;
        }
        line += count;
    }
}

/* Line `row` of the result for the channels of a group. */
static void run_depthwise(const task *t, int64_t image, int64_t row, const group *g) {
    const af_conv *conv = t->depthwise;
    const af_window *w = &conv->window;
    af_epilogue epilogue = shift_bias(&t->outer, g->channel);
    for (int64_t i = 0, y = row * w->strides[1] - w->begins[1]; i < w->kernel[1]; i++, y += w->dilations[1])
        t->lines[i] = y >= 0 && y < w->x[1] ? g->ring + y % t->rings.lines * t->rings.pitch : NULL;
    af_depthwise_line line = {
        .window = w,
        .epilogue = &epilogue,
        .columns = {0, w->y[2]},
        .channels = {0, g->count},
        .multiplier = 1,
        .size = 1,
        .x_pitch = GROUP,
        .y_pitch = conv->y_pitch,
        .lines = t->lines,
        .weights = t->depthwise_weights + g->channel * w->kernel[1] * w->kernel[2],
        .y = t->call->operands[AF_RESULT] + (image * w->y[1] + row) * w->y[2] * conv->y_pitch + g->channel,
        .totals = t->totals ? t->totals + image * conv->channels + g->channel : NULL,
    };
    t->run_line(&line);
}

/* Some lines of an image for channels whose groups have their rings side by side. */
static void run_stripes(const task *t, int64_t image, af_range rows, af_range channels) {
    const af_window *w = &t->depthwise->window;
    for (int64_t row = rows.first, next = 0; row < rows.last; row += t->rings.stripe) {
        int64_t end = smaller(row + t->rings.stripe, rows.last), start = row * w->strides[1] - w->begins[1];
        int64_t needed = smaller((end - 1) * w->strides[1] - w->begins[1] + count_reach(w), w->x[1]);
        next = next > start ? next : start;
        group g = {.channel = channels.first, .ring = t->memory};
        for (; g.channel < channels.last; g.channel += GROUP, g.ring += t->rings.lines * t->rings.pitch) {
            g.count = smaller(channels.last - g.channel, GROUP);
            compute_lines(t, image, next, needed, &g);
            for (int64_t line = row; line < end; line++) run_depthwise(t, image, line, &g);
        }
        next = next > needed ? next : needed;
    }
}

/* Whether lines are dealt out: cutting them computes the lines round every cut twice, cutting channels may give one
   share a panel more than the others, and lets none write its part of the result without gaps. */
static int deals_lines(const af_conv_depthwise *both, int64_t parts) {
    const af_window *w = &both->depthwise.window;
    int64_t lines = both->conv.batch * w->y[1], twice = count_reach(w) - w->strides[1];
    int64_t panels = divide_up(both->conv.filters, AF_PANEL);
    double computed = (double)(divide_up(lines, parts) * w->strides[1] + (twice > 0 ? twice : 0));
    double by_lines = computed / (double)(lines * w->strides[1]);
    return by_lines < LINES_GAIN * (double)divide_up(panels, parts) / (double)panels;
}

/* The weights of some channels as float32, in `memory` if they are of another type. */
static void widen_weights(task *t, af_range channels, char *memory) {
    const void *weights = t->call->operands[AF_WEIGHT], *others = t->call->operands[AF_DEPTHWISE_WEIGHT];
    af_range panels = {channels.first / AF_PANEL, divide_up(channels.last, AF_PANEL)};
    float *rest = (float *)(memory + weights_bytes(t->conv));
    t->weights = widen_panels(t->conv->type, weights, count_depth(t->conv) * AF_PANEL, panels, (float *)memory);
    t->depthwise_weights =
        widen_panels(t->depthwise->type, others, count_depth(t->depthwise) * AF_PANEL, panels, rest);
}

void af_run_conv_depthwise(const af_call *call, int64_t part, int64_t parts) {
    const af_conv_depthwise *both = &call->step->conv_depthwise;
    const af_conv *conv = &both->conv, *depthwise = &both->depthwise;
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    task t = {.call = call, .conv = conv, .depthwise = depthwise, .rings = plan_rings(both)};
    t.run_line = af_find_depthwise(&depthwise->window, 1, 1);
    t.lines = (const float **)scratch;
    t.memory = (float *)(scratch + table_bytes(both));
    int64_t offset = table_bytes(both) + rings_bytes(&t.rings);
    t.windows = af_open_windows(conv, call->operands[AF_X], scratch + offset);
    af_channel_mean mean = {conv->batch, conv->filters, depthwise->window.y[1] * depthwise->window.y[2],
                            offset + af_windows_bytes(conv)};
    if (depthwise->averaged) t.totals = af_open_totals(call, &mean, part);
    t.inner = make_epilogue(&(af_step){.scale = 1, .alpha = both->alpha, .beta = both->beta}, conv->activation,
                            call->operands[AF_BIAS], NULL, 0);
    t.outer = make_epilogue(call->step, depthwise->activation, call->operands[AF_DEPTHWISE_BIAS], NULL, 0);
    int64_t height = depthwise->window.y[1];
    af_range lines = {0, conv->batch * height}, channels = {0, conv->filters};
    if (deals_lines(both, parts))
        lines = share(lines.last, 1, part, parts);
    else
        channels = share(channels.last, AF_PANEL, part, parts);
    widen_weights(&t, channels, scratch + mean.offset + totals_bytes(depthwise));
    for (int64_t line = lines.first; line < lines.last;) {
        int64_t image = line / height, end = smaller(lines.last, (image + 1) * height);
        af_range rows = {line - image * height, end - image * height};
        for (int64_t channel = channels.first; channel < channels.last; channel += t.rings.together * GROUP)
            run_stripes(&t, image, rows, (af_range){channel, smaller(channel + t.rings.together * GROUP, channels.last)});
        line = end;
    }
    if (depthwise->averaged) af_finish_mean(call, &mean, parts, call->operands[AF_FURTHER]);
}
