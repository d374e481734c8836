#include "tile.h"

enum { VECTORS = AF_PANEL / AF_WIDTH };

/* `sums` must live in registers: the number of rows is a constant wherever it is used, and loops over rows and
   vectors are unrolled, as an index that varies would force it into memory. */
#define UNROLL _Pragma("GCC unroll 16")

AF_INLINE void multiply(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    const float *panel = tile->panel;
    for (int64_t segment = 0; segment < tile->segments; segment++) {
        const float *x[AF_TILE_ROWS];
        UNROLL for (int row = 0; row < rows; row++) x[row] = tile->rows[segment * AF_ROW_BLOCK + row] + tile->start;
        for (int64_t k = 0; k < tile->length; k++, panel += AF_PANEL) {
            vf b[VECTORS];
            UNROLL for (int v = 0; v < VECTORS; v++) b[v] = load(panel + v * AF_WIDTH);
            UNROLL for (int row = 0; row < rows; row++)
                UNROLL for (int v = 0; v < VECTORS; v++) sums[row][v] += x[row][k] * b[v];
        }
    }
}

AF_INLINE void add_passed(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) sums[row][v] += load(tile->sums + row * AF_PANEL + v * AF_WIDTH);
}

AF_INLINE void store_rows(float *to, int64_t pitch, const int rows, vf sums[][VECTORS]) {
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) store(to + row * pitch + v * AF_WIDTH, sums[row][v]);
}

AF_INLINE void finish_whole(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    const af_epilogue *epilogue = tile->epilogue;
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    UNROLL for (int v = 0; v < VECTORS; v++) {
        vf bias = load(tile->bias + v * AF_WIDTH);
        UNROLL for (int row = 0; row < rows; row++) sums[row][v] = sums[row][v] * scale + bias;
    }
    if (tile->residual) {
        UNROLL for (int row = 0; row < rows; row++)
            UNROLL for (int v = 0; v < VECTORS; v++)
                sums[row][v] += load(tile->residual + row * epilogue->residual_pitch + v * AF_WIDTH);
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) sums[row][v] = at_most(at_least(sums[row][v], low), high);
    store_rows(tile->y, tile->y_pitch, rows, sums);
}

/* The same in memory, for tiles with fewer columns than a panel and for activations that are more than a clamp.
   They are applied before y is touched: its rows may lie a multiple of 4 KiB apart, which is slow to read back. */
static void finish_in_memory(const af_tile *tile, int rows, float *sums) {
    const af_epilogue *epilogue = tile->epilogue;
    for (int row = 0; row < rows; row++) {
        for (int64_t column = 0; column < tile->columns; column += AF_WIDTH) {
            int64_t count = tile->columns - column < AF_WIDTH ? tile->columns - column : AF_WIDTH;
            vf residual = {0}, bias = load_some(tile->bias + column, count);
            if (tile->residual) residual = load_some(tile->residual + row * epilogue->residual_pitch + column, count);
            float *at = sums + row * AF_PANEL + column;
            store(at, finish(epilogue, load(at), bias, residual));
        }
    }
    af_apply(&epilogue->late, sums, AF_PANEL, sums, AF_PANEL, rows, AF_PANEL);
    for (int row = 0; row < rows; row++) {
        for (int64_t column = 0; column < tile->columns; column += AF_WIDTH) {
            int64_t count = tile->columns - column < AF_WIDTH ? tile->columns - column : AF_WIDTH;
            store_some(tile->y + row * tile->y_pitch + column, load(sums + row * AF_PANEL + column), count);
        }
    }
}

AF_INLINE void run(const af_tile *tile, const int rows) {
    vf sums[AF_TILE_ROWS][VECTORS];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) sums[row][v] = (vf){0};
    multiply(tile, rows, sums);
    if (!tile->first) add_passed(tile, rows, sums);
    if (!tile->last) {
        store_rows(tile->sums, AF_PANEL, rows, sums);
    } else if (tile->columns == AF_PANEL && tile->epilogue->late.function == AF_IDENTITY) {
        finish_whole(tile, rows, sums);
    } else {
        float copy[AF_TILE_ROWS * AF_PANEL];
        store_rows(copy, AF_PANEL, rows, sums);
        finish_in_memory(tile, rows, copy);
    }
}

static void run_1(const af_tile *tile) { run(tile, 1); }
static void run_2(const af_tile *tile) { run(tile, 2); }
static void run_3(const af_tile *tile) { run(tile, 3); }
#if AF_WIDTH != 4 || !defined(__x86_64__)
static void run_4(const af_tile *tile) { run(tile, 4); }
static void run_5(const af_tile *tile) { run(tile, 5); }
static void run_6(const af_tile *tile) { run(tile, 6); }
#endif
#if AF_WIDTH == 16
static void run_7(const af_tile *tile) { run(tile, 7); }
static void run_8(const af_tile *tile) { run(tile, 8); }
static void run_9(const af_tile *tile) { run(tile, 9); }
static void run_10(const af_tile *tile) { run(tile, 10); }
static void run_11(const af_tile *tile) { run(tile, 11); }
static void run_12(const af_tile *tile) { run(tile, 12); }
#endif

void af_run_tile(const af_tile *tile, int64_t row_count) {
    static void (*const runs[])(const af_tile *) = {
        run_1, run_2, run_3,
#if AF_WIDTH != 4 || !defined(__x86_64__)
        run_4, run_5, run_6,
#endif
#if AF_WIDTH == 16
        run_7, run_8, run_9, run_10, run_11, run_12,
#endif
    };
    runs[row_count - 1](tile);
}
