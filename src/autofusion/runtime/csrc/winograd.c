/* 3x3 convolution by Winograd's minimal filtering: a matrix product of tiles by filters at every position.

   Weights: for every position of a transformed tile in row-major order, for every AF_PANEL filters (the last panel
   padded with zeros), for every channel: AF_PANEL floats. */
#include "winograd.h"

#include "conv.h"
#include "gemm.h"
#include "widen.h"

/* Filters whose products are kept before they are transformed back. */
enum { FILTER_BLOCK = 4 * AF_PANEL };

#define UNROLL _Pragma("GCC unroll 8")

typedef struct task {
    const af_conv *conv;
    const af_conv_work *work;
    const float **rows;   /* [AF_WINOGRAD_TILES]: the transformed tiles at one position */
    float *zeros;         /* the pixel outside the image */
    float *values;        /* [positions][values_step]: at each the transformed tiles, a row of channels each */
    float *products;      /* [positions][products_step]: the same with a row of FILTER_BLOCK filters */
    float *widened;       /* two panels, if they are of another type */
    int64_t reach, values_step, products_step; /* pixels of a tile each way */
    int64_t lines, columns; /* of tiles in an image */
} task;

/* A tile: its image, and the place of its first result. */
typedef struct tile_place {
    int64_t image, line, column;
} tile_place;

static int64_t count_positions(const af_conv *conv) { return (conv->winograd + 2) * (conv->winograd + 2); }

static int64_t zeros_bytes(const af_conv *conv) { return round_to_line((int64_t)sizeof(float) * conv->channels); }

/* An odd number of cache lines, so that the positions do not meet in one set of the cache. */
static int64_t count_step(int64_t columns) {
    int64_t lines = divide_up(AF_WINOGRAD_TILES * columns, 16);
    return (lines + 1 - lines % 2) * 16;
}

static int64_t rows_bytes(void) { return round_to_line((int64_t)sizeof(float *) * AF_WINOGRAD_TILES); }

int64_t af_winograd_scratch(const af_conv *conv) {
    int64_t floats = count_positions(conv) * (count_step(conv->channels) + count_step(FILTER_BLOCK));
    return rows_bytes() + zeros_bytes(conv) + (int64_t)sizeof(float) * floats +
           widened_bytes(conv->type, 2 * AF_PANEL * conv->channels);
}

static tile_place find_tile(const task *task, int64_t index) {
    int64_t column = index % task->columns, line = index / task->columns % task->lines;
    int64_t m = task->conv->winograd;
    return (tile_place){index / task->columns / task->lines, line * m, column * m};
}

/* Point to every pixel of a tile. */
static void point_to_pixels(const task *task, tile_place place, const float **pixels) {
    const af_window *w = &task->conv->window;
    for (int64_t i = 0, row = place.line - w->begins[1]; i < task->reach; i++, row++) {
        const float *line = task->work->x + (place.image * w->x[1] + row) * w->x[2] * task->conv->x_pitch;
        int inside = row >= 0 && row < w->x[1];
        for (int64_t j = 0, column = place.column - w->begins[2]; j < task->reach; j++, column++) {
            int is_pixel = inside && column >= 0 && column < w->x[2];
            *pixels++ = is_pixel ? line + column * task->conv->x_pitch : task->zeros;
        }
    }
}

/* Transform `count` channels of a tile, the positions of which lie `step` floats apart. */
AF_INLINE void transform_tile(const float *const *pixels, int64_t channel, int64_t count, float *to, int64_t step,
                              const int m) {
    const int reach = m + 2;
    vf d[AF_MAX_REACH * AF_MAX_REACH];
    UNROLL for (int j = 0; j < reach; j++) {
        UNROLL for (int i = 0; i < reach; i++) {
            const float *pixel = pixels[i * reach + j] + channel;
            d[i * reach + j] = count == AF_WIDTH ? load(pixel) : load_some(pixel, count);
        }
        transform_values(d + j, reach, m);
    }
    UNROLL for (int i = 0; i < reach; i++) {
        transform_values(d + i * reach, 1, m);
        UNROLL for (int j = 0; j < reach; j++) {
            if (count == AF_WIDTH)
                store(to + (i * reach + j) * step + channel, d[i * reach + j]);
            else
                store_some(to + (i * reach + j) * step + channel, d[i * reach + j], count);
        }
    }
}

AF_INLINE void transform_tiles(const task *task, af_range tiles, const int m) {
    int64_t channels = task->conv->channels;
    const float *pixels[AF_MAX_REACH * AF_MAX_REACH];
    for (int64_t index = tiles.first; index < tiles.last; index++) {
        float *to = task->values + (index - tiles.first) * channels;
        int64_t channel = 0;
        point_to_pixels(task, find_tile(task, index), pixels);
        for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH)
            transform_tile(pixels, channel, AF_WIDTH, to, task->values_step, m);
        if (channel < channels) transform_tile(pixels, channel, channels - channel, to, task->values_step, m);
    }
}

/* The sums of the tiles and the filters from `filter` on, at every position. */
static void multiply_positions(const task *task, int64_t tile_count, int64_t filter, int64_t filter_count) {
    const af_conv *conv = task->conv;
    const af_epilogue plain = make_epilogue(&(af_step){.scale = 1}, AF_IDENTITY, NULL, NULL, 0);
    int64_t panel = conv->channels * AF_PANEL, step = divide_up(conv->filters, AF_PANEL) * panel;
    int64_t positions = count_positions(conv);
    af_panels panels = {
        .type = task->work->type,
        .step = panel,
        .columns = divide_up(filter_count, AF_PANEL) * AF_PANEL,
        .widened = task->widened,
    };
    for (int64_t position = 0; position < positions; position++) {
        int64_t place = position * step + filter / AF_PANEL * panel;
        af_block block = {
            .rows = task->rows,
            .row_count = tile_count,
            .segments = 1,
            .length = conv->channels,
            .start = position * task->values_step,
            .y = task->products + position * task->products_step,
            .y_pitch = FILTER_BLOCK,
            .epilogue = &plain,
            .first = 1,
            .last = 1,
        };
        panels.first = skip_numbers(task->work->weights, panels.type, place);
        panels.next = position + 1 < positions ? skip_numbers(panels.first, panels.type, step) : NULL;
        af_multiply(&block, &panels);
    }
}

/* Results of a tile for one vector of filters, of which there are `count`, with what is left to do before they are
   stored: those of the tile that lie in the image go to y. */
static void finish_tile(const task *task, tile_place place, int64_t filter, int64_t count, float *results) {
    const af_conv *conv = task->conv;
    const af_epilogue *epilogue = &task->work->epilogue;
    const int64_t *extents = conv->window.y;
    int64_t m = conv->winograd;
    int64_t pixel = (place.image * extents[1] + place.line) * extents[2] + place.column;
    int64_t lines = smaller(m, extents[1] - place.line), columns = smaller(m, extents[2] - place.column);
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    vf bias = epilogue->bias ? load_some(epilogue->bias + filter, count) : (vf){0};
    for (int64_t i = 0; i < lines; i++) {
        for (int64_t j = 0; j < columns; j++) {
            float *result = results + (i * m + j) * AF_WIDTH;
            vf sum = load(result) * scale + bias;
            int64_t at = pixel + i * extents[2] + j;
            if (epilogue->residual)
                sum += load_some(epilogue->residual + at * epilogue->residual_pitch + filter, count);
            store(result, at_most(at_least(sum, low), high));
        }
    }
    float *y = task->work->y + (pixel - task->work->origin) * conv->y_pitch + filter;
    af_apply(&epilogue->late, results, m * m * AF_WIDTH, results, m * m * AF_WIDTH, 1, m * m * AF_WIDTH);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t j = 0; j < columns; j++)
            store_some(y + (i * extents[2] + j) * conv->y_pitch, load(results + (i * m + j) * AF_WIDTH), count);
}

AF_INLINE void transform_back(const float *from, int64_t step, float *results, const int m) {
    const int reach = m + 2;
    vf d[AF_MAX_REACH * AF_MAX_REACH];
    UNROLL for (int j = 0; j < reach; j++) {
        UNROLL for (int i = 0; i < reach; i++) d[i * reach + j] = load(from + (i * reach + j) * step);
        transform_products(d + j, reach, m);
    }
    UNROLL for (int i = 0; i < m; i++) {
        transform_products(d + i * reach, 1, m);
        UNROLL for (int j = 0; j < m; j++) store(results + (i * m + j) * AF_WIDTH, d[i * reach + j]);
    }
}

AF_INLINE void transform_tiles_back(const task *task, af_range tiles, int64_t filter, int64_t filter_count,
                                    const int m) {
    float results[4 * 4 * AF_WIDTH];
    for (int64_t index = tiles.first; index < tiles.last; index++) {
        tile_place place = find_tile(task, index);
        const float *from = task->products + (index - tiles.first) * FILTER_BLOCK;
        for (int64_t at = 0; at < filter_count; at += AF_WIDTH) {
            transform_back(from + at, task->products_step, results, m);
            finish_tile(task, place, filter + at, smaller(filter_count - at, AF_WIDTH), results);
        }
    }
}

AF_INLINE void run_tiles(const task *task, af_range tiles, af_range filters, const int m) {
    transform_tiles(task, tiles, m);
    for (int64_t row = 0; row < tiles.last - tiles.first; row++)
        task->rows[row] = task->values + row * task->conv->channels;
    for (int64_t filter = filters.first; filter < filters.last; filter += FILTER_BLOCK) {
        int64_t count = smaller(filters.last - filter, FILTER_BLOCK);
        multiply_positions(task, tiles.last - tiles.first, filter, count);
        transform_tiles_back(task, tiles, filter, count, m);
    }
}

static void run_tiles_2(const task *task, af_range tiles, af_range filters) { run_tiles(task, tiles, filters, 2); }
static void run_tiles_4(const task *task, af_range tiles, af_range filters) { run_tiles(task, tiles, filters, 4); }

void af_filter_tiles(const af_conv_work *work, af_range tiles, af_range filters) {
    const af_conv *conv = work->conv;
    task task = {
        .conv = conv,
        .work = work,
        .rows = (const float **)work->scratch,
        .zeros = (float *)(work->scratch + rows_bytes()),
        .values = (float *)(work->scratch + rows_bytes() + zeros_bytes(conv)),
        .reach = conv->winograd + 2,
        .values_step = count_step(conv->channels),
        .products_step = count_step(FILTER_BLOCK),
        .lines = divide_up(conv->window.y[1], conv->winograd),
        .columns = divide_up(conv->window.y[2], conv->winograd),
    };
    task.products = task.values + count_positions(conv) * task.values_step;
    task.widened = task.products + count_positions(conv) * task.products_step;
    memset(task.zeros, 0, sizeof(float) * (size_t)conv->channels);
    int64_t blocks = divide_up(tiles.last - tiles.first, AF_WINOGRAD_TILES);
    for (int64_t i = 0, first = tiles.first; i < blocks; i++) {
        int64_t count = divide_up(tiles.last - first, blocks - i);
        (conv->winograd == 2 ? run_tiles_2 : run_tiles_4)(&task, (af_range){first, first + count}, filters);
        first += count;
    }
}

void af_run_winograd(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    af_conv_work work = open_conv_work(call, conv, part);
    int64_t lines = divide_up(conv->window.y[1], conv->winograd), columns = divide_up(conv->window.y[2], conv->winograd);
    af_range tiles = {0, conv->batch * lines * columns}, filters = {0, conv->filters};
    /* With few tiles the weights are the larger operand: each share then reads only its own. */
    if (tiles.last >= AF_TILE_ROWS * parts)
        tiles = share(tiles.last, 1, part, parts);
    else
        filters = share(filters.last, FILTER_BLOCK, part, parts);
    af_filter_tiles(&work, tiles, filters);
}
