#include "gemm.h"

#include "call.h"

static const float no_bias[AF_PANEL];

int64_t af_sums_bytes(int64_t depth) {
    return depth > AF_DEPTH_BLOCK ? (int64_t)sizeof(float) * AF_PANEL_BLOCK * AF_ROW_BLOCK * AF_PANEL : 0;
}

void af_multiply(const af_block *block, const float *panel, int64_t place, int64_t column, int64_t columns) {
    const af_epilogue *epilogue = block->epilogue;
    af_tile tile = {
        .segments = block->segments,
        .length = block->length,
        .start = block->start,
        .panel = panel,
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
        if (block->sums) tile.sums = block->sums + (place * AF_ROW_BLOCK + row) * AF_PANEL;
        tile.y = block->y + row * block->y_pitch + column;
        if (block->residual) tile.residual = block->residual + row * epilogue->residual_pitch + column;
        af_run_tile(&tile, count);
        row += count;
    }
}
