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

AF_INLINE void add_stored(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) sums[row][v] += load(tile->y + row * tile->y_pitch + v * AF_WIDTH);
}

AF_INLINE void finish_all(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
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
}

AF_INLINE void store_whole(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    if (!tile->first) add_stored(tile, rows, sums);
    if (tile->last) finish_all(tile, rows, sums);
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) store(tile->y + row * tile->y_pitch + v * AF_WIDTH, sums[row][v]);
}

/* The same for a tile with fewer columns than a panel, from a copy of the sums in memory. */
static void store_part(const af_tile *tile, int rows, const float *sums) {
    const af_epilogue *epilogue = tile->epilogue;
    for (int row = 0; row < rows; row++) {
        for (int64_t column = 0; column < tile->columns; column += AF_WIDTH) {
            int64_t count = tile->columns - column < AF_WIDTH ? tile->columns - column : AF_WIDTH;
            float *y = tile->y + row * tile->y_pitch + column;
            vf sum = load(sums + row * AF_PANEL + column), residual = {0};
            if (!tile->first) sum += load_some(y, count);
            if (tile->last) {
                if (tile->residual) residual = load_some(tile->residual + row * epilogue->residual_pitch + column, count);
                sum = finish(epilogue, sum, load_some(tile->bias + column, count), residual);
            }
            store_some(y, sum, count);
        }
    }
}

AF_INLINE void run(const af_tile *tile, const int rows) {
    vf sums[AF_TILE_ROWS][VECTORS];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) sums[row][v] = (vf){0};
    multiply(tile, rows, sums);
    if (tile->columns == AF_PANEL) {
        store_whole(tile, rows, sums);
        return;
    }
    float copy[AF_TILE_ROWS * AF_PANEL];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++) store(copy + row * AF_PANEL + v * AF_WIDTH, sums[row][v]);
    store_part(tile, rows, copy);
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
    const af_activation *late = &tile->epilogue->late;
    if (tile->last && late->function != AF_IDENTITY)
        af_apply(late, tile->y, tile->y_pitch, tile->y, tile->y_pitch, row_count, tile->columns);
}
