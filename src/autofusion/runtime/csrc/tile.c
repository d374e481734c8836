#include "tile.h"

enum { VECTORS = AF_PANEL / AF_WIDTH };

/* Every function below is inlined with a constant number of rows, so that `sums` lives in registers. */

AF_INLINE void multiply(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    const float *panel = tile->panel;
    for (int64_t segment = 0; segment < tile->segments; segment++) {
        const float *x[AF_TILE_ROWS];
        for (int row = 0; row < rows; row++) x[row] = tile->rows[segment * AF_ROW_BLOCK + row] + tile->start;
        for (int64_t k = 0; k < tile->length; k++, panel += AF_PANEL) {
            vf b[VECTORS];
            for (int v = 0; v < VECTORS; v++) b[v] = load(panel + v * AF_WIDTH);
            for (int row = 0; row < rows; row++)
                for (int v = 0; v < VECTORS; v++) sums[row][v] += x[row][k] * b[v];
        }
    }
}

AF_INLINE void store_whole(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    for (int row = 0; row < rows; row++) {
        for (int v = 0; v < VECTORS; v++) {
            float *y = tile->y + row * tile->y_pitch + v * AF_WIDTH;
            vf sum = tile->first ? sums[row][v] : sums[row][v] + load(y);
            if (tile->last) {
                vf residual = {0};
                if (tile->residual)
                    residual = load(tile->residual + row * tile->epilogue->residual_pitch + v * AF_WIDTH);
                sum = finish(tile->epilogue, sum, load(tile->bias + v * AF_WIDTH), residual);
            }
            store(y, sum);
        }
    }
}

/* The same for a tile with fewer columns than a panel. */
AF_INLINE void store_part(const af_tile *tile, const int rows, vf sums[][VECTORS]) {
    for (int row = 0; row < rows; row++) {
        for (int v = 0; v < VECTORS; v++) {
            int64_t count = tile->columns - v * AF_WIDTH;
            if (count <= 0) break;
            if (count > AF_WIDTH) count = AF_WIDTH;
            float *y = tile->y + row * tile->y_pitch + v * AF_WIDTH;
            vf sum = tile->first ? sums[row][v] : sums[row][v] + load_some(y, count);
            if (tile->last) {
                vf residual = {0};
                if (tile->residual)
                    residual = load_some(tile->residual + row * tile->epilogue->residual_pitch + v * AF_WIDTH, count);
                sum = finish(tile->epilogue, sum, load_some(tile->bias + v * AF_WIDTH, count), residual);
            }
            store_some(y, sum, count);
        }
    }
}

AF_INLINE void run(const af_tile *tile, const int rows) {
    vf sums[AF_TILE_ROWS][VECTORS] = {{{0}}};
    multiply(tile, rows, sums);
    if (tile->columns == AF_PANEL)
        store_whole(tile, rows, sums);
    else
        store_part(tile, rows, sums);
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
