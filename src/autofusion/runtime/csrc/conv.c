/* Convolution as an implicit matrix product: the rows are the windows of the output pixels.

   Weights: for every group, for every AF_PANEL filters of it (the last panel padded with zeros), for every tap of
   the kernel in row-major order, for every channel of the group: AF_PANEL floats. */
#include "call.h"
#include "gemm.h"

typedef struct task {
    const af_conv *conv;
    const float *x, *weights;
    float *y;
    const af_epilogue *epilogue;
    const float **table; /* [taps][AF_ROW_BLOCK]: the pixel under each tap of each window */
    float *zeros;        /* the pixel outside the image */
    float *gathered;     /* [AF_ROW_BLOCK][taps * channels per group], or null */
    float *sums;         /* of af_block, or null */
    int64_t taps, depth; /* of one group: taps of the kernel, channels */
} task;

static int64_t count_taps(const af_window *window) {
    return window->kernel[0] * window->kernel[1] * window->kernel[2];
}

static int gathers(const af_conv *conv) {
    return conv->channels / conv->group < AF_GATHER_CHANNELS && count_taps(&conv->window) > 1;
}

static int64_t table_bytes(const af_conv *conv) {
    return round_to_line((int64_t)sizeof(float *) * AF_ROW_BLOCK * count_taps(&conv->window));
}

static int64_t zeros_bytes(const af_conv *conv) { return round_to_line((int64_t)sizeof(float) * conv->channels); }

int64_t af_conv_scratch(const af_conv *conv) {
    if (is_depthwise(conv)) return 0;
    int64_t row = count_taps(&conv->window) * (conv->channels / conv->group);
    int64_t buffer = gathers(conv) ? round_to_line((int64_t)sizeof(float) * AF_ROW_BLOCK * row) : af_sums_bytes(row);
    return table_bytes(conv) + zeros_bytes(conv) + buffer;
}

/* Fill one column of the table: the pixels under the window that starts at `start` of image `x`. */
static void point_to_window(const task *task, const float *x, const int64_t start[3], int64_t column) {
    const af_window *w = &task->conv->window;
    const float **entry = task->table + column;
    for (int64_t i = 0, z = start[0]; i < w->kernel[0]; i++, z += w->dilations[0]) {
        for (int64_t j = 0, row = start[1]; j < w->kernel[1]; j++, row += w->dilations[1]) {
            int inside = z >= 0 && z < w->x[0] && row >= 0 && row < w->x[1];
            int64_t line = (z * w->x[1] + row) * w->x[2];
            for (int64_t k = 0, place = start[2]; k < w->kernel[2]; k++, place += w->dilations[2]) {
                *entry = task->zeros;
                if (inside && place >= 0 && place < w->x[2]) *entry = x + (line + place) * task->conv->x_pitch;
                entry += AF_ROW_BLOCK;
            }
        }
    }
}

/* Fill the table for output pixels first..first+count-1. */
static void point_to_windows(const task *task, int64_t first, int64_t count) {
    const af_window *w = &task->conv->window;
    int64_t at[3], pixel = first;
    for (int axis = 2; axis >= 0; axis--) {
        at[axis] = pixel % w->y[axis];
        pixel /= w->y[axis];
    }
    int64_t image = w->x[0] * w->x[1] * w->x[2] * task->conv->x_pitch;
    const float *x = task->x + pixel * image;
    for (int64_t column = 0; column < count; column++) {
        int64_t start[3];
        for (int axis = 0; axis < 3; axis++) start[axis] = at[axis] * w->strides[axis] - w->begins[axis];
        point_to_window(task, x, start, column);
        if (++at[2] < w->y[2]) continue;
        at[2] = 0;
        if (++at[1] < w->y[1]) continue;
        at[1] = 0;
        if (++at[0] < w->y[0]) continue;
        at[0] = 0;
        x += image;
    }
}

AF_INLINE void copy_floats(float *to, const float *from, int64_t count) {
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) store(to + i, load(from + i));
    for (; i < count; i++) to[i] = from[i];
}

/* Copy every window of a group into one run of floats; windows of few channels are too short to multiply in place. */
static void gather_windows(const task *task, int64_t group, int64_t row_count) {
    float *to = task->gathered;
    for (int64_t row = 0; row < row_count; row++) {
        const float **pixels = task->table + row;
        for (int64_t tap = 0, end; tap < task->taps; tap = end) {
            const float *from = pixels[tap * AF_ROW_BLOCK];
            int64_t count = task->depth;
            /* Pixels side by side in memory go together. */
            for (end = tap + 1; end < task->taps && pixels[end * AF_ROW_BLOCK] == from + count; end++)
                count += task->depth;
            copy_floats(to, from + group * task->depth, count);
            to += count;
        }
    }
}

/* Multiply the block by the panels first..last-1 of a group: `block` covers the floats from `skipped` on of a row. */
static void multiply_panels(const task *task, const af_block *block, int64_t group, af_range panels, int64_t skipped) {
    int64_t filters = task->conv->filters / task->conv->group;
    int64_t panel_count = divide_up(filters, AF_PANEL);
    for (int64_t panel = panels.first; panel < panels.last; panel++) {
        int64_t row = (group * panel_count + panel) * task->taps * task->depth + skipped;
        int64_t column = panel * AF_PANEL;
        af_multiply(block, task->weights + row * AF_PANEL, panel - panels.first, group * filters + column,
                    smaller(filters - column, AF_PANEL));
    }
}

static void run_gathered(const task *task, af_block block, int64_t group, af_range panels) {
    const float *rows[AF_ROW_BLOCK];
    gather_windows(task, group, block.row_count);
    for (int64_t row = 0; row < block.row_count; row++) rows[row] = task->gathered + row * task->taps * task->depth;
    block.rows = rows;
    block.segments = 1;
    block.length = task->taps * task->depth;
    block.first = block.last = 1;
    multiply_panels(task, &block, group, panels, 0);
}

/* Multiply up to AF_PANEL_BLOCK panels in place, in blocks of about AF_DEPTH_BLOCK floats so that a panel's share
   stays in the first-level cache. */
static void run_in_place(const task *task, af_block block, int64_t group, af_range panels) {
    int64_t pieces = task->depth > AF_DEPTH_BLOCK ? divide_up(task->depth, AF_DEPTH_BLOCK) : 1;
    int64_t length = divide_up(task->depth, pieces);
    int64_t blocks = pieces > 1 ? task->taps : divide_up(task->taps * task->depth, AF_DEPTH_BLOCK);
    blocks = blocks < 1 ? 1 : smaller(blocks, task->taps);
    block.sums = task->sums;
    block.first = 1;
    for (int64_t i = 0, tap = 0; i < blocks; i++) {
        block.segments = (task->taps - tap) / (blocks - i);
        block.rows = task->table + tap * AF_ROW_BLOCK;
        for (int64_t piece = 0; piece < pieces; piece++) {
            int64_t channel = piece * length;
            block.length = smaller(length, task->depth - channel);
            block.start = group * task->depth + channel;
            block.last = i == blocks - 1 && piece == pieces - 1;
            multiply_panels(task, &block, group, panels, tap * task->depth + channel);
            block.first = 0;
        }
        tap += block.segments;
    }
}

static void run_rows(const task *task, int64_t first_row, int64_t row_count, af_range panels) {
    const af_conv *conv = task->conv;
    const af_epilogue *epilogue = task->epilogue;
    point_to_windows(task, first_row, row_count);
    af_block block = {
        .row_count = row_count,
        .y = task->y + first_row * conv->y_pitch,
        .y_pitch = conv->y_pitch,
        .residual = epilogue->residual ? epilogue->residual + first_row * epilogue->residual_pitch : NULL,
        .epilogue = epilogue,
    };
    int64_t panel_count = divide_up(conv->filters / conv->group, AF_PANEL);
    for (int64_t group = 0; group < conv->group; group++) {
        int64_t before = group * panel_count;
        af_range range = {panels.first - before, smaller(panels.last - before, panel_count)};
        if (range.first < 0) range.first = 0;
        if (range.first >= range.last) continue;
        if (task->gathered) {
            run_gathered(task, block, group, range);
            continue;
        }
        for (int64_t panel = range.first; panel < range.last; panel += AF_PANEL_BLOCK)
            run_in_place(task, block, group, (af_range){panel, smaller(panel + AF_PANEL_BLOCK, range.last)});
    }
}

void af_run_conv(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const int64_t *extents = conv->window.y;
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    af_epilogue epilogue = make_epilogue(call->step, conv->activation, call->operands[AF_BIAS],
                                         call->operands[AF_RESIDUAL], conv->residual_pitch);
    task task = {
        .conv = conv,
        .x = call->operands[AF_X],
        .weights = call->operands[AF_WEIGHT],
        .y = call->operands[AF_RESULT],
        .epilogue = &epilogue,
        .table = (const float **)scratch,
        .zeros = (float *)(scratch + table_bytes(conv)),
        .taps = count_taps(&conv->window),
        .depth = conv->channels / conv->group,
    };
    memset(task.zeros, 0, sizeof(float) * (size_t)conv->channels);
    float *buffer = (float *)(scratch + table_bytes(conv) + zeros_bytes(conv));
    if (gathers(conv))
        task.gathered = buffer;
    else if (af_sums_bytes(task.taps * task.depth) > 0)
        task.sums = buffer;
    int64_t row_count = conv->batch * extents[0] * extents[1] * extents[2];
    af_range rows = {0, row_count};
    af_range panels = {0, conv->group * divide_up(conv->filters / conv->group, AF_PANEL)};
    /* With few rows the weights are the larger operand: each share then reads only its own. */
    if (row_count >= AF_ROW_BLOCK * parts)
        rows = share(row_count, AF_TILE_ROWS, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    int64_t blocks = divide_up(rows.last - rows.first, AF_ROW_BLOCK);
    for (int64_t i = 0, row = rows.first; i < blocks; i++) {
        int64_t count = divide_up(rows.last - row, blocks - i);
        run_rows(&task, row, count, panels);
        row += count;
    }
}
