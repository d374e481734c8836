/* Convolutions of images of doubles: every window is a row, in place where it is one pixel, else copied, and a block of
   rows meets the panels of its group. */
#include "double.h"
#include "double_tile.h"
#include "double_vector.h"
#include "window.h"

typedef struct task {
    const af_call *call;
    const af_conv *conv;
    const af_double **table; /* the rows of the block */
    af_double *rows;         /* the same copied */
    int64_t taps, depth;     /* of a window of one group */
    int is_in_place;
} task;

static int64_t count_taps(const af_window *w) { return w->kernel[0] * w->kernel[1] * w->kernel[2]; }

static int is_in_place(const af_conv *conv) {
    const af_window *w = &conv->window;
    int64_t padding = 0;
    for (int axis = 0; axis < 3; axis++) padding += w->begins[axis] + w->ends[axis];
    return count_taps(w) == 1 && padding == 0;
}

int64_t af_conv_double_scratch(const af_conv *conv) {
    if (is_depthwise(conv)) return 0;
    int64_t depth = count_taps(&conv->window) * (conv->channels / conv->group);
    return count_table_bytes() + (is_in_place(conv) ? 0 : count_block_bytes(depth));
}

/* Copy the window of the result at `at` for one group; cells outside of the image are 0. */
static void copy_window(const task *t, const af_double *image, const int64_t at[3], af_double *to) {
    const af_window *w = &t->conv->window;
    af_reach reaches[3];
    for (int axis = 0; axis < 3; axis++) reaches[axis] = clip_window(w, axis, at[axis], 0, w->x[axis]);
    const af_reach *r = reaches;
    memset(to, 0, (size_t)(t->taps * t->depth) * sizeof(double));
    for (int64_t i = r[0].first; i < r[0].last; i++)
        for (int64_t j = r[1].first; j < r[1].last; j++)
            for (int64_t k = r[2].first; k < r[2].last; k++) {
                int64_t plane = r[0].start + i * w->dilations[0], line = r[1].start + j * w->dilations[1];
                int64_t pixel = (plane * w->x[1] + line) * w->x[2] + r[2].start + k * w->dilations[2];
                int64_t tap = (i * w->kernel[1] + j) * w->kernel[2] + k;
                memcpy(to + tap * t->depth, image + pixel * t->conv->x_pitch, (size_t)t->depth * sizeof(double));
            }
}

/* Point the table at the windows of results rows.first..rows.last-1, counted over all images, for one group. */
static void take_rows(const task *t, af_range rows, int64_t group) {
    const af_conv *conv = t->conv;
    const af_window *w = &conv->window;
    for (int64_t row = rows.first; row < rows.last; row++) {
        const int64_t at[3] = {row / w->y[2] / w->y[1] % w->y[0], row / w->y[2] % w->y[1], row % w->y[2]};
        int64_t image = row / w->y[2] / w->y[1] / w->y[0];
        const af_double *x = find_doubles(t->call, AF_X) + group * t->depth;
        x += image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch;
        if (t->is_in_place) {
            int64_t line = at[0] * w->strides[0] * w->x[1] + at[1] * w->strides[1];
            t->table[row - rows.first] = x + (line * w->x[2] + at[2] * w->strides[2]) * conv->x_pitch;
            continue;
        }
        af_double *copy = t->rows + (row - rows.first) * t->taps * t->depth;
        copy_window(t, x, at, copy);
        t->table[row - rows.first] = copy;
    }
}

static void run_panel(const task *t, af_range rows, int64_t group, int64_t panel) {
    const af_conv *conv = t->conv;
    const af_double_epilogue epilogue = make_double_epilogue(t->call->step, conv->activation);
    const af_double *bias = find_doubles(t->call, AF_BIAS), *residual = find_doubles(t->call, AF_RESIDUAL);
    int64_t filters = conv->filters / conv->group, panels = divide_up(filters, AF_PANEL), depth = t->taps * t->depth;
    int64_t filter = group * filters + panel * AF_PANEL;
    double sums[AF_DOUBLE_BLOCK * AF_PANEL];
    af_multiply_doubles(t->table, rows.last - rows.first, depth,
                        find_doubles(t->call, AF_WEIGHT) + (group * panels + panel) * depth * AF_PANEL, sums);
    const af_double_results results = {
        .bias = bias ? bias + filter : NULL,
        .residual = residual ? residual + rows.first * conv->residual_pitch + filter : NULL,
        .residual_pitch = conv->residual_pitch,
        .y = find_doubles(t->call, AF_RESULT) + rows.first * conv->y_pitch + filter,
        .y_pitch = conv->y_pitch,
        .rows = rows.last - rows.first,
        .columns = smaller(filters - panel * AF_PANEL, AF_PANEL),
    };
    af_finish_doubles(&epilogue, sums, &results);
}

void af_run_conv_double(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    char *scratch = find_scratch(call, part);
    task t = {.call = call, .conv = conv, .table = (const af_double **)scratch};
    t.rows = (af_double *)(scratch + count_table_bytes());
    t.taps = count_taps(w);
    t.depth = conv->channels / conv->group;
    t.is_in_place = is_in_place(conv);
    int64_t panels = divide_up(conv->filters / conv->group, AF_PANEL);
    af_range rows = {0, conv->batch * w->y[0] * w->y[1] * w->y[2]}, own = {0, conv->group * panels};
    if (rows.last >= AF_DOUBLE_BLOCK * parts)
        rows = share(rows.last, 1, part, parts);
    else
        own = share(own.last, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row += AF_DOUBLE_BLOCK) {
        af_range block = {row, smaller(row + AF_DOUBLE_BLOCK, rows.last)};
        for (int64_t number = own.first; number < own.last; number++) {
            int64_t group = number / panels, panel = number % panels;
            if (number == own.first || panel == 0) take_rows(&t, block, group);
            run_panel(&t, block, group, panel);
        }
    }
}

enum { VECTORS = AF_PANEL / AF_LANES };

/* The channels of a pixel that filters from `first` on read, where each channel has `multiplier` of them. */
static const af_double *repeat_channels(const af_double *pixel, int64_t first, int64_t count, int64_t multiplier,
                                        double to[AF_PANEL]) {
    for (int64_t lane = 0; lane < count; lane++) to[lane] = pixel[(first + lane) / multiplier];
    return to;
}

/* Up to AF_PANEL filters of one result of a convolution with one channel per group, from `channel` on. */
AF_INLINE void run_depthwise_pixel(const af_call *call, const af_double *image, const af_reach r[3], int64_t channel,
                                   int64_t count, af_double *sums) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    const af_double *weight = find_doubles(call, AF_WEIGHT) + channel * count_taps(w);
    int64_t multiplier = conv->filters / conv->channels;
    double repeated[AF_PANEL];
    vd total[VECTORS] = {{0}};
    for (int64_t i = r[0].first; i < r[0].last; i++)
        for (int64_t j = r[1].first; j < r[1].last; j++) {
            int64_t plane = r[0].start + i * w->dilations[0], line = r[1].start + j * w->dilations[1];
            const af_double *x = image + (plane * w->x[1] + line) * w->x[2] * conv->x_pitch;
            const af_double *factors = weight + (i * w->kernel[1] + j) * w->kernel[2] * AF_PANEL;
            for (int64_t k = r[2].first; k < r[2].last; k++) {
                const af_double *pixel = x + (r[2].start + k * w->dilations[2]) * conv->x_pitch;
                pixel = multiplier == 1 ? pixel + channel
                                        : repeat_channels(pixel, channel, count, multiplier, repeated);
                for (int v = 0; v < VECTORS; v++) {
                    int64_t rest = count - v * AF_LANES;
                    vd value = rest >= AF_LANES ? load_doubles(pixel + v * AF_LANES)
                                                : load_some_doubles(pixel + v * AF_LANES, rest);
                    total[v] += value * load_doubles(factors + k * AF_PANEL + v * AF_LANES);
                }
            }
        }
    for (int v = 0; v < VECTORS; v++) store_doubles(sums + v * AF_LANES, total[v]);
}

void af_run_depthwise_double(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &conv->window;
    const af_double_epilogue epilogue = make_double_epilogue(call->step, conv->activation);
    const af_double *bias = find_doubles(call, AF_BIAS), *residual = find_doubles(call, AF_RESIDUAL);
    af_range rows = share(conv->batch * w->y[0] * w->y[1] * w->y[2], 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        int64_t image = row / w->y[2] / w->y[1] / w->y[0];
        const af_double *x = find_doubles(call, AF_X) + image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch;
        const af_reach reaches[3] = {
            clip_window(w, 0, row / w->y[2] / w->y[1] % w->y[0], 0, w->x[0]),
            clip_window(w, 1, row / w->y[2] % w->y[1], 0, w->x[1]),
            clip_window(w, 2, row % w->y[2], 0, w->x[2]),
        };
        for (int64_t channel = 0; channel < conv->filters; channel += AF_PANEL) {
            double sums[AF_PANEL];
            const af_double_results results = {
                .bias = bias ? bias + channel : NULL,
                .residual = residual ? residual + row * conv->residual_pitch + channel : NULL,
                .y = find_doubles(call, AF_RESULT) + row * conv->y_pitch + channel,
                .y_pitch = conv->y_pitch,
                .rows = 1,
                .columns = smaller(conv->filters - channel, AF_PANEL),
            };
            if (results.columns == AF_PANEL)
                run_depthwise_pixel(call, x, reaches, channel, AF_PANEL, sums);
            else
                run_depthwise_pixel(call, x, reaches, channel, results.columns, sums);
            af_finish_doubles(&epilogue, sums, &results);
        }
    }
}
