#include "tile.h"

enum { PANEL_VECTORS = AF_PANEL / AF_WIDTH, MAX_VECTORS = AF_TILE_PANELS * PANEL_VECTORS, LINE = 16 };

/* `sums` must live in registers: the numbers of rows and vectors are constants wherever they are used, and loops over
   them are unrolled, as an index that varies would force it into memory. */
#define UNROLL _Pragma("GCC unroll 16")
#define EACH_ROW UNROLL for (int row = 0; row < rows; row++)
#define EACH_VECTOR UNROLL for (int v = 0; v < vectors; v++)

/* Rows of a panel between the one that is read and the one that is fetched into the first-level cache: the first tile
   finds the panel in the second-level cache, where every tile before has put a part of it from farther away. */
enum { FETCH_DISTANCE = 24 };

AF_INLINE void multiply(const af_tile *tile, const int rows, const int vectors, vf sums[][MAX_VECTORS]) {
    const float *panels[AF_TILE_PANELS], *ahead = tile->ahead;
    for (int p = 0; p < AF_TILE_PANELS; p++) panels[p] = tile->panel + p * tile->panel_step;
    for (int64_t segment = 0; segment < tile->segments; segment++) {
        const float *x[AF_TILE_ROWS];
        EACH_ROW x[row] = tile->rows[segment * AF_ROW_BLOCK + row] + tile->start;
        for (int64_t k = 0; k < tile->length; k++) {
            vf b[MAX_VECTORS];
            EACH_VECTOR b[v] = load(panels[v / PANEL_VECTORS] + k * AF_PANEL + v % PANEL_VECTORS * AF_WIDTH);
            for (int p = 0; p < vectors / PANEL_VECTORS; p++)
                __builtin_prefetch(panels[p] + (k + FETCH_DISTANCE) * AF_PANEL);
            __builtin_prefetch(ahead + k * AF_PANEL, 0, 2);
            EACH_ROW EACH_VECTOR sums[row][v] += x[row][k] * b[v];
        }
        for (int p = 0; p < AF_TILE_PANELS; p++) panels[p] += tile->length * AF_PANEL;
        ahead += tile->length * AF_PANEL;
    }
}

AF_INLINE float *find_sums(const af_tile *tile, int row, int v) {
    return tile->sums + (v / PANEL_VECTORS * AF_ROW_BLOCK + row) * AF_PANEL + v % PANEL_VECTORS * AF_WIDTH;
}

/* Columns of vector `v` that the tile has: all lanes, unless the tile is `partial`. */
AF_INLINE int64_t count_lanes(const af_tile *tile, int v, const int partial) {
    int64_t left = tile->columns - v * AF_WIDTH;
    return !partial || left > AF_WIDTH ? AF_WIDTH : left < 0 ? 0 : left;
}

AF_INLINE vf take(const float *from, int64_t count, const int partial) {
    return partial ? load_some(from, count) : load(from);
}

/* Scale, bias, residual and clamp in registers, then y.  Any other activation goes through a copy: y's rows may lie a
   multiple of 4 KiB apart, which is slow to read back. */
AF_INLINE void finish_tile(const af_tile *tile, const int rows, const int vectors, const int partial,
                           vf sums[][MAX_VECTORS]) {
    const af_epilogue *epilogue = tile->epilogue;
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    float copy[AF_TILE_ROWS * AF_TILE_PANELS * AF_PANEL];
    EACH_VECTOR {
        vf bias = take(tile->bias + v * AF_WIDTH, count_lanes(tile, v, partial), partial);
        EACH_ROW sums[row][v] = sums[row][v] * scale + bias;
    }
    if (tile->residual) {
        EACH_ROW EACH_VECTOR {
            const float *residual = tile->residual + row * epilogue->residual_pitch + v * AF_WIDTH;
            sums[row][v] += take(residual, count_lanes(tile, v, partial), partial);
        }
    }
    if (epilogue->late.function != AF_IDENTITY) {
        const int pitch = vectors * AF_WIDTH;
        EACH_ROW EACH_VECTOR store(copy + row * pitch + v * AF_WIDTH, sums[row][v]);
        af_apply(&epilogue->late, copy, pitch, tile->y, tile->y_pitch, rows, tile->columns);
        return;
    }
    EACH_ROW EACH_VECTOR {
        vf y = at_most(at_least(sums[row][v], low), high);
        float *to = tile->y + row * tile->y_pitch + v * AF_WIDTH;
        if (partial)
            store_some(to, y, count_lanes(tile, v, partial));
        else
            store(to, y);
    }
}

/* Fetch what is needed after the multiplications. */
AF_INLINE void fetch_results(const af_tile *tile, const int rows, const int vectors) {
    EACH_ROW for (int v = 0; v < vectors; v += LINE / AF_WIDTH) {
        __builtin_prefetch(tile->y + row * tile->y_pitch + v * AF_WIDTH, 1);
        if (tile->residual) __builtin_prefetch(tile->residual + row * tile->epilogue->residual_pitch + v * AF_WIDTH);
    }
}

AF_INLINE void run(const af_tile *tile, const int rows, const int panels) {
    const int vectors = panels * PANEL_VECTORS;
    vf sums[AF_TILE_ROWS][MAX_VECTORS];
    if (tile->last) fetch_results(tile, rows, vectors);
    EACH_ROW EACH_VECTOR sums[row][v] = (vf){0};
    multiply(tile, rows, vectors, sums);
    if (!tile->first) EACH_ROW EACH_VECTOR sums[row][v] += load(find_sums(tile, row, v));
    if (!tile->last) {
        EACH_ROW EACH_VECTOR store(find_sums(tile, row, v), sums[row][v]);
    } else if (tile->columns == panels * AF_PANEL) {
        finish_tile(tile, rows, vectors, 0, sums);
    } else {
        finish_tile(tile, rows, vectors, 1, sums);
    }
}

typedef void tile_kernel(const af_tile *tile);

/* One function for every number of rows, and for every number of panels. */
#if AF_WIDTH == 16
#define MAKE(rows)                                                          \
    static void run_##rows##_1(const af_tile *tile) { run(tile, rows, 1); } \
    static void run_##rows##_2(const af_tile *tile) { run(tile, rows, 2); }
#define NAME(rows) {run_##rows##_1, run_##rows##_2}
#else
#define MAKE(rows) \
    static void run_##rows##_1(const af_tile *tile) { run(tile, rows, 1); }
#define NAME(rows) {run_##rows##_1}
#endif

MAKE(1) MAKE(2) MAKE(3)
#if AF_WIDTH != 4 || !defined(__x86_64__)
MAKE(4) MAKE(5) MAKE(6)
#endif
#if AF_WIDTH == 16
MAKE(7) MAKE(8) MAKE(9) MAKE(10) MAKE(11) MAKE(12)
#endif

void af_run_tile(const af_tile *tile, int64_t row_count, int64_t panel_count) {
    static tile_kernel *const kernels[][AF_TILE_PANELS] = {
        NAME(1), NAME(2), NAME(3),
#if AF_WIDTH != 4 || !defined(__x86_64__)
        NAME(4), NAME(5), NAME(6),
#endif
#if AF_WIDTH == 16
        NAME(7), NAME(8), NAME(9), NAME(10), NAME(11), NAME(12),
#endif
    };
    kernels[row_count - 1][panel_count - 1](tile);
}
