/* Convolution as an implicit matrix product: the rows are the windows of the output pixels.

   Weights: for every group, for every AF_PANEL filters of it (the last panel padded with zeros), for every tap of
   the kernel in row-major order, for every channel of the group: AF_PANEL floats. */
#include "conv.h"

#include "gate.h"
#include "gemm.h"
#include "widen.h"
#include "windows.h"

/* Rows that each share must have if the rows are shared: those of an image then stay with one processor from layer to
   layer, while each share reads all weights. */
enum { ROWS_LEAST = 72 };

/* Rows of a panel that are multiplied at a time, at most: whole runs of less than a block each. */
enum { WIDENED_ROWS = 2 * AF_DEPTH_BLOCK };

typedef struct task {
    const af_conv_work *work;
    af_windows windows;
    float *sums;   /* of af_block, or null */
    float *scaled; /* memory for pixels, or for the weights, times their factors, or null */
    float *widened; /* memory for two panels of WIDENED_ROWS rows, if they are of another type */
    int64_t depth; /* floats of a window */
} task;

static int64_t count_depth(const af_conv *conv) {
    const int64_t *kernel = conv->window.kernel;
    return kernel[0] * kernel[1] * kernel[2] * (conv->channels / conv->group);
}

static int64_t panels_bytes(const af_conv *conv) {
    return widened_bytes(conv->type, 2 * AF_PANEL * smaller(count_depth(conv), WIDENED_ROWS));
}

/* Lines of taps of a window. */
static int64_t count_lines(const af_conv *conv) { return conv->window.kernel[0] * conv->window.kernel[1]; }

int64_t af_conv_scratch(const af_conv *conv) {
    if (has_lanes(conv)) return af_depthwise_scratch(conv);
    int64_t depth = count_depth(conv), gated = conv->gated ? af_gate_bytes(conv) : 0;
    return af_windows_bytes(conv) + af_sums_bytes(depth) + panels_bytes(conv) + gated;
}

/* Multiply up to AF_PANEL_BLOCK panels of a group, in blocks of about AF_DEPTH_BLOCK floats so that a panel's share
   stays in the first-level cache. */
static void run_panels(const task *task, af_block block, int64_t group, af_range range) {
    const af_windows *windows = &task->windows;
    int64_t filters = task->work->conv->filters / task->work->conv->group, column = range.first * AF_PANEL;
    af_panels panels = {
        .type = task->work->type,
        .step = task->depth * AF_PANEL,
        .column = group * filters + column,
        .columns = smaller(filters, range.last * AF_PANEL) - column,
        .widened = task->widened,
    };
    int64_t place = (group * divide_up(filters, AF_PANEL) + range.first) * task->depth * AF_PANEL;
    int64_t pieces = divide_up(windows->length, AF_DEPTH_BLOCK);
    int64_t piece_length = pieces ? divide_up(windows->length, pieces) : 0;
    int64_t blocks = pieces > 1 ? windows->runs : divide_up(task->depth, AF_DEPTH_BLOCK);
    blocks = blocks < 1 ? 1 : smaller(blocks, windows->runs);
    block.first = 1;
    for (int64_t i = 0, run = 0; i < blocks; i++) {
        block.segments = (windows->runs - run) / (blocks - i);
        block.rows = windows->table + run * AF_ROW_BLOCK;
        block.run = run;
        for (int64_t piece = 0; piece < (pieces ? pieces : 1); piece++) {
            int64_t start = piece * piece_length;
            block.length = smaller(piece_length, windows->length - start);
            block.start = (windows->copies ? 0 : group * windows->length) + start;
            block.last = i == blocks - 1 && piece >= pieces - 1;
            int64_t first = place + (run * windows->length + start) * AF_PANEL;
            int64_t next = first + block.segments * block.length * AF_PANEL;
            panels.first = skip_numbers(task->work->weights, panels.type, first);
            panels.next = block.last ? NULL : skip_numbers(task->work->weights, panels.type, next);
            af_multiply(&block, &panels);
            block.first = 0;
        }
        run += block.segments;
    }
}

static void run_rows(const task *task, int64_t first_row, int64_t row_count, af_range panels) {
    const af_conv *conv = task->work->conv;
    const af_epilogue *epilogue = &task->work->epilogue;
    af_block block = {
        .reaches = count_lines(conv) > 1 ? task->windows.reaches : NULL,
        .row_count = row_count,
        .sums = task->sums,
        .y = task->work->y + (first_row - task->work->origin) * conv->y_pitch,
        .y_pitch = conv->y_pitch,
        .residual = epilogue->residual ? epilogue->residual + first_row * epilogue->residual_pitch : NULL,
        .epilogue = epilogue,
    };
    int64_t panel_count = divide_up(conv->filters / conv->group, AF_PANEL);
    int64_t step = task->sums ? AF_PANEL_BLOCK : panel_count;
    if (!task->windows.copies) af_point_to_windows(&task->windows, first_row, row_count, 0);
    if (task->scaled && !scales_weights(conv))
        af_scale_pixels(conv, task->windows.x, task->work->gate, first_row, row_count, task->scaled,
                        task->windows.table);
    for (int64_t group = 0; group < conv->group; group++) {
        int64_t before = group * panel_count;
        af_range range = {panels.first - before, smaller(panels.last - before, panel_count)};
        if (range.first < 0) range.first = 0;
        if (range.first >= range.last) continue;
        if (task->windows.copies) af_point_to_windows(&task->windows, first_row, row_count, group);
        for (int64_t panel = range.first; panel < range.last; panel += step)
            run_panels(task, block, group, (af_range){panel, smaller(panel + step, range.last)});
    }
}

static void run_blocks(const task *task, af_range rows, af_range panels) {
    int64_t blocks = divide_up(rows.last - rows.first, AF_ROW_BLOCK);
    for (int64_t i = 0, row = rows.first; i < blocks; i++) {
        int64_t count = divide_up(rows.last - row, blocks - i);
        run_rows(task, row, count, panels);
        row += count;
    }
}

/* Every image with weights of its own. */
static void run_images(const task *task, af_range rows, af_range panels) {
    const af_conv_work *work = task->work;
    const int64_t *extents = work->conv->window.y;
    int64_t pixels = extents[0] * extents[1] * extents[2];
    af_conv_work scaled = *work;
    struct task own = *task;
    scaled.weights = task->scaled;
    scaled.type = AF_FLOAT;
    own.work = &scaled;
    for (int64_t row = rows.first; row < rows.last;) {
        int64_t image = row / pixels, end = smaller((image + 1) * pixels, rows.last);
        af_scale_panels(work->conv, work->weights, work->gate + image * work->conv->channels, panels, task->scaled);
        run_blocks(&own, (af_range){row, end}, panels);
        row = end;
    }
}

void af_convolve(const af_conv_work *work, af_range rows, af_range panels) {
    const af_conv *conv = work->conv;
    char *memory = work->scratch + af_windows_bytes(conv);
    task task = {
        .work = work,
        .windows = af_open_windows(conv, work->x, work->scratch),
        .depth = count_depth(conv),
    };
    if (af_sums_bytes(task.depth) > 0) task.sums = (float *)memory;
    memory += af_sums_bytes(task.depth);
    task.widened = (float *)memory;
    memory += panels_bytes(conv);
    if (conv->gated) task.scaled = (float *)memory;
    if (conv->gated && scales_weights(conv))
        run_images(&task, rows, panels);
    else
        run_blocks(&task, rows, panels);
}

void af_run_conv(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    const int64_t *extents = conv->window.y;
    af_conv_work work = open_conv_work(call, conv, part);
    int64_t row_count = conv->batch * extents[0] * extents[1] * extents[2];
    af_range rows = {0, row_count};
    af_range panels = {0, conv->group * divide_up(conv->filters / conv->group, AF_PANEL)};
    if (row_count >= ROWS_LEAST * parts)
        rows = share(row_count, 1, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    af_convolve(&work, rows, panels);
}
