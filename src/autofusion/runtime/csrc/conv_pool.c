/* A convolution and the pool that alone reads its result: of the image between them only the lines under a few lines
   of the result exist at a time, in scratch memory that stays in the caches.  A pool of whole images takes some
   filters at a time and adds up rows as they come. */
#include <string.h>

#include "conv.h"
#include "data.h"
#include "pool.h"
#include "vector.h"
#include "window.h"

/* Bytes of lines that are kept, unless one line of the result needs more. */
enum { BAND_BYTES = 192 << 10 };

/* Filters of a pool of whole images that are worked on at a time. */
enum { FILTERS = AF_PANEL_BLOCK * AF_PANEL };

/* Lines of the result that are made at a time, lines of the band under them, floats of such a line, and how many lines
   the convolution makes at once. */
typedef struct band {
    int64_t rows, lines, pitch, grain;
} band;

typedef struct task {
    const af_conv_pool *both;
    af_conv_work work;
    band band;
    float *memory, *y;
} task;

static int64_t at_least_one(int64_t count) { return count > 1 ? count : 1; }

static band plan_band(const af_conv_pool *both) {
    const af_window *w = &both->pool.window;
    band b = {.pitch = w->x[2] * both->conv.filters, .grain = at_least_one(both->conv.winograd)};
    int64_t fitting = BAND_BYTES / (int64_t)sizeof(float) / at_least_one(b.pitch);
    /* Lines of a convolution in steps may begin before those that are needed, and end behind them. */
    int64_t least = count_reach(w) + 2 * (b.grain - 1);
    b.rows = smaller(fitting > least ? (fitting - least) / w->strides[1] + 1 : 1, at_least_one(w->y[1]));
    b.lines = smaller(least + (b.rows - 1) * w->strides[1], w->x[1]);
    return b;
}

static int64_t conv_bytes(const af_conv *conv) {
    return round_to_line(conv->winograd ? af_winograd_scratch(conv) : af_conv_scratch(conv));
}

/* Rows that a pool of whole images convolves at a time: whole lines of tiles by Winograd's filtering. */
static int64_t count_rows(const af_conv *conv) {
    return conv->winograd ? conv->winograd * conv->window.y[2] : AF_ROW_BLOCK;
}

int64_t af_conv_pool_scratch(const af_conv_pool *both) {
    band b = plan_band(both);
    int64_t floats = both->is_global ? (count_rows(&both->conv) + 1) * FILTERS : b.lines * b.pitch;
    return conv_bytes(&both->conv) + round_to_line((int64_t)sizeof(float) * floats);
}

/* The tiles in lines first..last-1 of an image. */
static af_range find_tiles(const af_conv *conv, int64_t image, int64_t first, int64_t last) {
    const int64_t *extents = conv->window.y;
    int64_t m = conv->winograd, columns = divide_up(extents[2], m), before = image * divide_up(extents[1], m);
    return (af_range){(before + first / m) * columns, (before + divide_up(last, m)) * columns};
}

/* Lines first..last-1 of an image between convolution and pool, the first of them at y. */
static void convolve_lines(const task *t, int64_t image, int64_t first, int64_t last, float *y) {
    const af_conv *conv = &t->both->conv;
    const int64_t *extents = conv->window.y;
    af_conv_work work = t->work;
    work.y = y;
    work.origin = (image * extents[1] + first) * extents[2];
    af_range rows = {work.origin, work.origin + (last - first) * extents[2]};
    if (conv->winograd)
        af_filter_tiles(&work, find_tiles(conv, image, first, last), (af_range){0, conv->filters});
    else
        af_convolve(&work, rows, (af_range){0, conv->group * divide_up(conv->filters / conv->group, AF_PANEL)});
}

static void run_lines(const task *t, int64_t image, af_range rows) {
    const af_window *w = &t->both->pool.window;
    const band *b = &t->band;
    int64_t first = 0, last = 0; /* lines that the band holds */
    for (int64_t row = rows.first; row < rows.last; row += b->rows) {
        int64_t end = smaller(row + b->rows, rows.last), start = row * w->strides[1] - w->begins[1];
        int64_t stop = smaller((end - 1) * w->strides[1] - w->begins[1] + count_reach(w), w->x[1]);
        start = smaller(start < 0 ? 0 : start, w->x[1]);
        if (start >= last) {
            first = last = start / b->grain * b->grain;
        } else {
            memmove(t->memory, t->memory + (start - first) * b->pitch, sizeof(float) * (last - start) * b->pitch);
            first = start;
        }
        if (stop > last) {
            stop = smaller(divide_up(stop, b->grain) * b->grain, w->x[1]);
            convolve_lines(t, image, last, stop, t->memory + (last - first) * b->pitch);
            last = stop;
        }
        for (int64_t line = row; line < end; line++)
            af_pool_line(&t->both->pool, t->memory, first, line,
                         t->y + (image * w->y[1] + line) * w->y[2] * t->both->pool.y_pitch);
    }
}

/* Add `columns` columns of up to AF_ROW_BLOCK rows up in `total`, or keep the larger ones. */
AF_INLINE void gather_rows(const float *rows, int64_t row_count, int64_t columns, float *total, const int is_max) {
    for (int64_t column = 0; column < columns; column += AF_WIDTH) {
        vf sum = is_max ? load(total + column) : (vf){0};
        for (int64_t row = 0; row < row_count; row++) {
            vf x = load(rows + row * FILTERS + column);
            sum = is_max ? maximum(sum, x) : sum + x;
        }
        store(total + column, is_max ? sum : load(total + column) + sum);
    }
}

/* The pool of an image for the panels `panels` of filters, at most AF_PANEL_BLOCK. */
static void run_image(const task *t, int64_t image, af_range panels) {
    const af_pool *pool = &t->both->pool;
    const int64_t *extents = t->both->conv.window.y;
    af_range filters = {panels.first * AF_PANEL, smaller(panels.last * AF_PANEL, pool->channels)};
    int64_t pixels = extents[0] * extents[1] * extents[2], count = filters.last - filters.first;
    int64_t step = count_rows(&t->both->conv);
    int is_max = pool->kind == AF_POOL_MAX;
    float *total = t->memory + step * FILTERS;
    af_conv conv = t->both->conv;
    af_conv_work work = t->work;
    conv.y_pitch = FILTERS;
    work.conv = &conv;
    work.y = t->memory - filters.first;
    for (int64_t i = 0; i < FILTERS; i++) total[i] = is_max ? -__builtin_inff() : 0;
    for (int64_t row = 0; row < pixels; row += step) {
        int64_t end = smaller(row + step, pixels);
        work.origin = image * pixels + row;
        if (conv.winograd)
            af_filter_tiles(&work, find_tiles(&conv, image, row / extents[2], end / extents[2]), filters);
        else
            af_convolve(&work, (af_range){work.origin, image * pixels + end}, panels);
        for (int64_t first = row; first < end; first += AF_ROW_BLOCK) {
            const float *rows = t->memory + (first - row) * FILTERS;
            if (is_max)
                gather_rows(rows, smaller(end - first, AF_ROW_BLOCK), count, total, 1);
            else
                gather_rows(rows, smaller(end - first, AF_ROW_BLOCK), count, total, 0);
        }
    }
    float *y = t->y + image * pool->y_pitch + filters.first;
    for (int64_t i = 0; i < count; i++) y[i] = is_max ? total[i] : total[i] / (float)pixels;
}

static void run_images(const task *t, int64_t part, int64_t parts) {
    af_range panels = share(divide_up(t->both->conv.filters, AF_PANEL), 1, part, parts);
    for (int64_t image = 0; image < t->both->conv.batch; image++)
        for (int64_t panel = panels.first; panel < panels.last; panel += AF_PANEL_BLOCK)
            run_image(t, image, (af_range){panel, smaller(panel + AF_PANEL_BLOCK, panels.last)});
}

void af_run_conv_pool(const af_call *call, int64_t part, int64_t parts) {
    const af_conv_pool *both = &call->step->conv_pool;
    const af_conv *conv = &both->conv;
    task t = {
        .both = both,
        .work = open_conv_work(call, conv, part),
        .band = plan_band(both),
        .y = call->operands[AF_RESULT],
    };
    t.memory = (float *)(t.work.scratch + conv_bytes(conv));
    if (both->is_global) {
        run_images(&t, part, parts);
        return;
    }
    int64_t height = both->pool.window.y[1];
    af_range lines = share(conv->batch * height, 1, part, parts);
    for (int64_t line = lines.first; line < lines.last;) {
        int64_t image = line / height, end = smaller(lines.last, (image + 1) * height);
        run_lines(&t, image, (af_range){line - image * height, end - image * height});
        line = end;
    }
}
