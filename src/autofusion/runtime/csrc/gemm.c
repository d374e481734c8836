#include "gemm.h"

#include "call.h"
#include "widen.h"

static const float no_bias[2 * AF_PANEL];

int64_t af_sums_bytes(int64_t depth) {
    return depth > AF_DEPTH_BLOCK ? (int64_t)sizeof(float) * AF_PANEL_BLOCK * AF_ROW_BLOCK * AF_PANEL : 0;
}

/* The tile that begins where `columns` columns are left: a last half panel joins the panel before it. */
static enum af_tile_width choose_width(int64_t columns) {
    int64_t halves = divide_up(columns, AF_PANEL / 2);
    if (halves == 3) return AF_WIDE_PANEL;
    return AF_TILE_PANELS == 1 || halves < 3 || halves == 5 ? AF_ONE_PANEL : AF_TWO_PANELS;
}

/* Runs of the block that some of `count` rows from `row` on reach. */
static af_range find_runs(const af_block *block, int64_t row, int64_t count) {
    if (!block->reaches) return (af_range){0, block->segments};
    af_range all = block->reaches[row];
    for (int64_t i = row + 1; i < row + count; i++) {
        all.first = smaller(all.first, block->reaches[i].first);
        if (all.last < block->reaches[i].last) all.last = block->reaches[i].last;
    }
    int64_t first = all.first < block->run ? 0 : smaller(all.first - block->run, block->segments);
    int64_t last = smaller(all.last - block->run, block->segments);
    return (af_range){first, last < first ? first : last};
}

/* Multiply the rows by the panels of one tile; `place` is the number of the first one. */
static void multiply_tiles(const af_block *block, const af_panels *panels, int64_t place, enum af_tile_width width,
                           const void *next) {
    const af_epilogue *epilogue = block->epilogue;
    int64_t column = panels->column + place * AF_PANEL;
    int64_t panel_count = width == AF_ONE_PANEL ? 1 : 2, step = panels->step;
    const void *first = skip_numbers(panels->first, panels->type, place * step);
    const float *weights = first;
    if (panels->type != AF_FLOAT) {
        step = block->segments * block->length * AF_PANEL;
        for (int64_t i = 0; i < panel_count; i++)
            af_widen(panels->type, skip_numbers(first, panels->type, i * panels->step), panels->widened + i * step, step);
        weights = panels->widened;
    }
    af_tile tile = {
        .length = block->length,
        .start = block->start,
        .panel_step = step,
        .ahead_step = AF_PANEL * element_size(panels->type),
        .y_pitch = block->y_pitch,
        .columns = smaller(panels->columns - place * AF_PANEL, panel_count * AF_PANEL),
        .bias = epilogue->bias ? epilogue->bias + column : no_bias,
        .epilogue = epilogue,
        .first = block->first,
        .last = block->last,
    };
    /* Tiles of nearly equal height: a short last tile would leave the multipliers idle. */
    int64_t tiles = divide_up(block->row_count, width == AF_WIDE_PANEL ? AF_WIDE_ROWS : AF_TILE_ROWS);
    for (int64_t i = 0, row = 0; i < tiles; i++) {
        int64_t count = (block->row_count - row) / (tiles - i);
        af_range runs = find_runs(block, row, count);
        tile.rows = block->rows + runs.first * AF_ROW_BLOCK + row;
        tile.segments = runs.last - runs.first;
        tile.panel = weights + runs.first * block->length * AF_PANEL;
        /* Each of the first tiles fetches one panel. */
        tile.ahead = i >= panel_count ? NULL : next ? skip_numbers(next, panels->type, i * panels->step) : first;
        if (block->sums) tile.sums = block->sums + (place * AF_ROW_BLOCK + row) * AF_PANEL;
        tile.y = block->y + row * block->y_pitch + column;
        if (block->residual) tile.residual = block->residual + row * epilogue->residual_pitch + column;
        tile.fetch_first = i ? count : 0;
        tile.fetch_last = smaller(2 * count, block->row_count - row);
        af_run_tile(&tile, count, width);
        row += count;
    }
}

void af_multiply(const af_block *block, const af_panels *panels) {
    int64_t count = divide_up(panels->columns, AF_PANEL);
    for (int64_t place = 0; place < count;) {
        enum af_tile_width width = choose_width(panels->columns - place * AF_PANEL);
        int64_t after = place + (width == AF_ONE_PANEL ? 1 : 2);
        const void *next = after < count ? skip_numbers(panels->first, panels->type, after * panels->step) : panels->next;
        multiply_tiles(block, panels, place, width, next);
        place = after;
    }
}
