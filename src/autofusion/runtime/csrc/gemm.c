#include "gemm.h"

#include "call.h"

static const float no_bias[AF_TILE_PANELS * AF_PANEL];

int64_t af_sums_bytes(int64_t depth) {
    return depth > AF_DEPTH_BLOCK ? (int64_t)sizeof(float) * AF_PANEL_BLOCK * AF_ROW_BLOCK * AF_PANEL : 0;
}

/* Multiply the rows by the panels of one tile; `place` is the number of the first one. */
static void multiply_tiles(const af_block *block, const af_panels *panels, int64_t place, const float *next) {
    const af_epilogue *epilogue = block->epilogue;
    int64_t column = panels->column + place * AF_PANEL;
    int64_t columns = smaller(panels->columns - place * AF_PANEL, AF_TILE_PANELS * AF_PANEL);
    af_tile tile = {
        .segments = block->segments,
        .length = block->length,
        .start = block->start,
        .panel = panels->first + place * panels->step,
        .panel_step = panels->step,
        .y_pitch = block->y_pitch,
        .columns = columns,
        .bias = epilogue->bias ? epilogue->bias + column : no_bias,
        .epilogue = epilogue,
        .first = block->first,
        .last = block->last,
    };
    /* Tiles of nearly equal height: a short last tile would leave the multipliers idle. */
    int64_t tiles = divide_up(block->row_count, AF_TILE_ROWS);
    for (int64_t i = 0, row = 0; i < tiles; i++) {
        int64_t count = (block->row_count - row) / (tiles - i);
        tile.rows = block->rows + row;
        /* Each of the first tiles fetches one panel. */
        tile.ahead = next && i < AF_TILE_PANELS ? next + i * panels->step : tile.panel;
        if (block->sums) tile.sums = block->sums + (place * AF_ROW_BLOCK + row) * AF_PANEL;
        tile.y = block->y + row * block->y_pitch + column;
        if (block->residual) tile.residual = block->residual + row * epilogue->residual_pitch + column;
        af_run_tile(&tile, count, divide_up(columns, AF_PANEL));
        row += count;
    }
}

void af_multiply(const af_block *block, const af_panels *panels) {
    int64_t count = divide_up(panels->columns, AF_PANEL);
    for (int64_t place = 0; place < count; place += AF_TILE_PANELS) {
        int is_last = place + AF_TILE_PANELS >= count;
        const float *next = is_last ? panels->next : panels->first + (place + AF_TILE_PANELS) * panels->step;
        multiply_tiles(block, panels, place, next);
    }
}
