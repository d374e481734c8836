/* Transposed convolution, class by class: see transposed.h. */
#include "conv.h"
#include "data.h"
#include "depthwise_line.h"
#include "gemm.h"
#include "transposed.h"
#include "window.h"
#include "widen.h"
#include "windows.h"

/* Rows that each share must have if the rows are shared, as in conv.c. */
enum { ROWS_LEAST = 72 };

typedef struct task {
    const af_call *call;
    const af_conv *conv;
    af_classes classes;
    af_epilogue epilogue;
    char *scratch; /* of a convolution, or of lines */
    float *block;  /* sums of AF_PANEL_BLOCK panels for AF_ROW_BLOCK rows */
    float *bias;   /* memory for that of all phases of a class */
} task;

static int64_t count_phases(const af_conv *conv) {
    const int64_t *strides = conv->window.strides;
    return strides[0] * strides[1] * strides[2];
}

/* Floats of the weights under one tap of every filter. */
static int64_t count_tap_weights(const af_conv *conv) {
    int64_t depth = conv->channels / conv->group;
    if (is_depthwise(conv)) return divide_up(conv->filters, AF_PANEL) * AF_PANEL;
    return conv->group * divide_up(conv->filters / conv->group, AF_PANEL) * depth * AF_PANEL;
}

static int64_t count_taps(const af_conv *conv) {
    const int64_t *kernel = conv->window.kernel;
    return kernel[0] * kernel[1] * kernel[2];
}

static int64_t table_bytes(const af_conv *conv) {
    return round_to_line((int64_t)sizeof(float *) * count_tap_lines(&conv->window));
}

/* What a convolution with all taps needs is enough for each class. */
static int64_t convolution_bytes(const af_conv *conv) {
    return is_depthwise(conv) ? table_bytes(conv) : af_conv_scratch(conv);
}

static int64_t bias_bytes(const af_conv *conv) {
    int64_t filters = af_joins_phases(conv) ? count_phases(conv) * conv->filters : 0;
    return round_to_line((int64_t)sizeof(float) * filters);
}

int64_t af_conv_transpose_scratch(const af_conv *conv) {
    int64_t block = (int64_t)sizeof(float) * AF_ROW_BLOCK * AF_PANEL_BLOCK * AF_PANEL;
    int64_t bytes = af_classes_bytes(conv) + convolution_bytes(conv);
    if (is_depthwise(conv)) return bytes + widened_bytes(conv->type, count_taps(conv) * count_tap_weights(conv));
    return bytes + block + bias_bytes(conv);
}

/* Every output line phase by phase, straight into its place. */
static void run_lines(const task *t, int64_t part, int64_t parts) {
    const af_conv *conv = t->conv;
    const af_window *w = &conv->window;
    const float **table = (const float **)t->scratch;
    int64_t multiplier = conv->filters / conv->channels;
    const float *weights =
        widen_panels(conv->type, t->call->operands[AF_WEIGHT], count_taps(conv) * count_tap_weights(conv),
                     (af_range){0, 1}, (float *)(t->scratch + table_bytes(conv)));
    af_range lines = share(conv->batch * w->y[0] * w->y[1], 1, part, parts);
    for (int64_t index = lines.first; index < lines.last; index++) {
        int64_t place[] = {index / w->y[1] % w->y[0], index % w->y[1]}, window[2];
        const af_axis_class *at[3];
        for (int axis = 0; axis < 2; axis++) {
            at[axis] = t->classes.axes[axis] + (place[axis] + w->begins[axis]) % w->strides[axis];
            window[axis] = (place[axis] - at[axis]->first) / w->strides[axis];
        }
        int64_t image = index / w->y[1] / w->y[0] * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch;
        for (int64_t phase = 0; phase < w->strides[2]; phase++) {
            at[2] = t->classes.axes[2] + phase;
            af_conv opened = af_open_class(conv, at);
            af_point_to_lines(&opened, t->call->operands[AF_X] + image, window[0], window[1], table);
            int64_t before = (at[0]->before * w->kernel[1] + at[0]->taps * at[1]->before) * w->kernel[2] +
                             at[0]->taps * at[1]->taps * at[2]->before;
            af_depthwise_line line = {
                .window = &opened.window,
                .epilogue = &t->epilogue,
                .columns = {0, at[2]->count},
                .channels = {0, conv->filters},
                .multiplier = multiplier,
                .size = 1,
                .x_pitch = conv->x_pitch,
                .y_pitch = conv->y_pitch * w->strides[2],
                .lines = table,
                .weights = weights + before * count_tap_weights(conv),
                .y = t->call->operands[AF_RESULT] + (index * w->y[2] + at[2]->first) * conv->y_pitch,
            };
            if (at[2]->count) af_find_depthwise(&opened.window, multiplier, 1)(&line);
        }
    }
}

/* Columns first..last-1 of the filters of a class, for windows side by side along the last axis, from `sums` with rows
   of `pitch` floats into their places; `start` is that of the first window in the image of the result at y. */
typedef struct strip {
    const af_conv *conv;
    const af_axis_class *const *at;
    const float *sums;
    float *y;
    int64_t start[3], count, first, last;
} strip;

/* The columns of one filter after the other, all of phase `phase`, beginning with number `filter`. */
static void move_filters(const strip *s, int64_t phase, int64_t filter, int64_t count, int64_t column) {
    const af_window *w = &s->conv->window;
    int64_t rest = phase, place[3];
    for (int axis = 2; axis >= 0; axis--) {
        place[axis] = s->start[axis] + rest % s->at[axis]->width;
        rest /= s->at[axis]->width;
        if (axis < 2 && (place[axis] < 0 || place[axis] >= w->y[axis])) return;
    }
    int64_t low = place[2] < 0, stride = w->strides[2], pitch = AF_PANEL_BLOCK * AF_PANEL;
    int64_t high = place[2] < w->y[2] ? smaller((w->y[2] - 1 - place[2]) / stride + 1, s->count) : 0;
    float *line = s->y + ((place[0] * w->y[1] + place[1]) * w->y[2] + place[2]) * s->conv->y_pitch + filter;
    for (int64_t i = low; i < high; i++)
        copy_floats(line + i * stride * s->conv->y_pitch, s->sums + i * pitch + column, count);
}

static void move_strip(const strip *s) {
    int64_t filters = s->conv->filters;
    for (int64_t column = s->first; column < s->last;) {
        int64_t phase = column / filters, filter = column % filters;
        int64_t count = smaller(filters - filter, s->last - column);
        move_filters(s, phase, filter, count, column - s->first);
        column += count;
    }
}

/* Move the block of `rows` windows of class `opened`. */
static void move_block(const task *t, const af_conv *opened, const af_axis_class *const at[3], af_range rows,
                       af_range columns) {
    const af_window *w = &t->conv->window;
    strip s = {.conv = t->conv, .at = at, .sums = t->block, .first = columns.first, .last = columns.last};
    for (int64_t row = rows.first; row < rows.last; row += s.count) {
        int64_t rest = row, index[3];
        for (int axis = 2; axis >= 0; axis--) {
            index[axis] = rest % opened->window.y[axis];
            rest /= opened->window.y[axis];
            s.start[axis] = at[axis]->first + index[axis] * w->strides[axis];
        }
        s.count = smaller(opened->window.y[2] - index[2], rows.last - row);
        s.y = t->call->operands[AF_RESULT] + rest * w->y[0] * w->y[1] * w->y[2] * t->conv->y_pitch;
        move_strip(&s);
        s.sums += s.count * AF_PANEL_BLOCK * AF_PANEL;
    }
}

/* The first column of panel `panel`, counted over all groups. */
static int64_t find_column(const af_conv *conv, int64_t panel) {
    int64_t filters = conv->filters / conv->group, panels = divide_up(filters, AF_PANEL);
    return panels ? panel / panels * filters + smaller(panel % panels * AF_PANEL, filters) : 0;
}

/* A share of the windows of a class, or of its filters where windows are few. */
static void run_class(task *t, const af_axis_class *const at[3], const void *weights, int64_t part, int64_t parts) {
    af_conv opened = af_open_class(t->conv, at);
    int64_t row_count = opened.batch * at[0]->count * at[1]->count * at[2]->count;
    af_range rows = {0, row_count};
    af_range panels = {0, opened.group * divide_up(opened.filters / opened.group, AF_PANEL)};
    if (row_count >= ROWS_LEAST * parts || panels.last < parts)
        rows = share(row_count, 1, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    opened.y_pitch = AF_PANEL_BLOCK * AF_PANEL;
    af_epilogue epilogue = t->epilogue;
    if (epilogue.bias && opened.filters > t->conv->filters) {
        for (int64_t column = 0; column < opened.filters; column++)
            t->bias[column] = epilogue.bias[column % t->conv->filters];
        epilogue.bias = t->bias;
    }
    af_conv_work work = {
        .conv = &opened,
        .x = t->call->operands[AF_X],
        .weights = weights,
        .type = opened.type,
        .epilogue = epilogue,
        .scratch = t->scratch,
    };
    int64_t blocks = divide_up(rows.last - rows.first, AF_ROW_BLOCK);
    for (int64_t row = rows.first; row < rows.last; blocks--) {
        af_range block = {row, row + divide_up(rows.last - row, blocks)};
        for (int64_t panel = panels.first; panel < panels.last; panel += AF_PANEL_BLOCK) {
            af_range some = {panel, smaller(panel + AF_PANEL_BLOCK, panels.last)};
            af_range columns = {find_column(&opened, some.first), find_column(&opened, some.last)};
            work.y = t->block - columns.first;
            work.origin = row;
            af_convolve(&work, block, some);
            move_block(t, &opened, at, block, columns);
        }
        row = block.last;
    }
}

void af_run_conv_transpose(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    char *memory = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    task t = {.call = call, .conv = conv, .classes = af_find_classes(conv, memory)};
    t.scratch = memory + af_classes_bytes(conv);
    t.block = (float *)(t.scratch + convolution_bytes(conv));
    t.bias = t.block + AF_ROW_BLOCK * AF_PANEL_BLOCK * AF_PANEL;
    t.epilogue = make_epilogue(call->step, conv->activation, call->operands[AF_BIAS], NULL, 0);
    if (is_depthwise(conv)) {
        run_lines(&t, part, parts);
        return;
    }
    const int64_t *counts = t.classes.counts;
    const void *weights = call->operands[AF_WEIGHT];
    for (int64_t index = 0; index < counts[0] * counts[1] * counts[2]; index++) {
        const af_axis_class *at[3];
        af_point_to_class(&t.classes, index, at);
        af_conv opened = af_open_class(conv, at);
        run_class(&t, at, weights, part, parts);
        weights = skip_numbers(weights, conv->type, count_taps(&opened) * count_tap_weights(&opened));
    }
}
