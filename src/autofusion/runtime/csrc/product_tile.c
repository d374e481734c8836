/* The micro-kernel of products: packed rows times packed panels, then the epilogue. */
#include "half.h"
#include "product.h"

enum { VECTORS = AF_PANEL / AF_WIDTH, FEW_SUMS = AF_WIDTH == 16 ? 6 : 3 };

/* The numbers of rows and panels are constants wherever `sums` is used, so that it lives in registers. */
#define UNROLL _Pragma("GCC unroll 16")

typedef vf sums_of[AF_PRODUCT_ROWS][AF_PRODUCT_PANELS][VECTORS];

AF_INLINE void clear(const int rows, const int panels, sums_of sums) {
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int panel = 0; panel < panels; panel++)
            UNROLL for (int v = 0; v < VECTORS; v++) sums[row][panel][v] = (vf){0};
}

/* One column of the packed rows times one row of each panel. */
AF_INLINE void multiply_once(const float *a, const void *const b[2], int64_t k, const int type, const int rows,
                             const int panels, sums_of sums) {
    vf right[AF_PRODUCT_PANELS][VECTORS];
    UNROLL for (int panel = 0; panel < panels; panel++)
        UNROLL for (int v = 0; v < VECTORS; v++)
            right[panel][v] = load_as(type, b[panel], k * AF_PANEL + v * AF_WIDTH);
    UNROLL for (int row = 0; row < rows; row++) {
        vf left = splat(a[k * rows + row]);
        UNROLL for (int panel = 0; panel < panels; panel++)
            UNROLL for (int v = 0; v < VECTORS; v++) sums[row][panel][v] += left * right[panel][v];
    }
}

AF_INLINE void multiply(const af_product_tile *tile, const int type, const int rows, const int panels, sums_of sums) {
    const void *const b[2] = {tile->panels[0], tile->panels[1]};
    const float *a = tile->a;
    /* Lines are fetched ahead as evenly as the loop allows. */
    int64_t fetching = tile->ahead_lines < tile->depth ? tile->ahead_lines : tile->depth, k = 0;
    const int line = AF_PANEL * (type == AF_FLOAT ? 4 : 2);
    clear(rows, panels, sums);
    for (; k < fetching; k++) {
        UNROLL for (int panel = 0; panel < panels; panel++)
            __builtin_prefetch(tile->ahead[panel] + k * line, 0, 2);
        multiply_once(a, b, k, type, rows, panels, sums);
    }
    for (; k < tile->depth; k++) multiply_once(a, b, k, type, rows, panels, sums);
}

/* Bytes ahead of what is read that few rows fetch: they wait for memory alone, and panels follow one another. */
enum { FETCHED_AHEAD = 8192 };

/* The same for few rows, whose registers hold four sums of each: an addition takes as long as four begin. */
AF_INLINE void multiply_few(const af_product_tile *tile, const int type, const int rows, const int panels,
                            sums_of sums) {
    const void *const b[2] = {tile->panels[0], tile->panels[1]};
    const int line = AF_PANEL * (type == AF_FLOAT ? 4 : 2);
    sums_of second, third, fourth;
    clear(rows, panels, sums);
    clear(rows, panels, second);
    clear(rows, panels, third);
    clear(rows, panels, fourth);
    int64_t k = 0;
    for (; k + 4 <= tile->depth; k += 4) {
        UNROLL for (int panel = 0; panel < panels; panel++)
            UNROLL for (int offset = 0; offset < 4 * line; offset += 64)
                __builtin_prefetch((const char *)b[panel] + k * line + FETCHED_AHEAD + offset, 0, 3);
        multiply_once(tile->a, b, k, type, rows, panels, sums);
        multiply_once(tile->a, b, k + 1, type, rows, panels, second);
        multiply_once(tile->a, b, k + 2, type, rows, panels, third);
        multiply_once(tile->a, b, k + 3, type, rows, panels, fourth);
    }
    for (; k < tile->depth; k++) multiply_once(tile->a, b, k, type, rows, panels, sums);
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int panel = 0; panel < panels; panel++)
            UNROLL for (int v = 0; v < VECTORS; v++)
                sums[row][panel][v] += second[row][panel][v] + (third[row][panel][v] + fourth[row][panel][v]);
}

/* Columns of vector `v` that the tile has: all lanes, unless it is `partial`. */
AF_INLINE int64_t count_lanes(const af_product_tile *tile, int v, const int partial) {
    int64_t left = tile->columns - v * AF_WIDTH;
    return !partial || left > AF_WIDTH ? AF_WIDTH : left < 0 ? 0 : left;
}

AF_INLINE vf take(const float *from, int64_t count, const int partial) {
    return partial ? load_some(from, count) : load(from);
}

AF_INLINE void put(float *to, vf x, int64_t count, const int partial) {
    if (partial)
        store_some(to, x, count);
    else
        store(to, x);
}

#define EACH_ROW UNROLL for (int row = 0; row < rows; row++)
#define EACH_VECTOR UNROLL for (int v = 0; v < panels * VECTORS; v++)
#define SUM sums[row][v / VECTORS][v % VECTORS]
#define LANES count_lanes(tile, v, partial)

/* Scale, bias, residual and clamp in registers, then y.  Any other activation goes through a copy: y's rows may lie a
   multiple of 4 KiB apart, which is slow to read back. */
AF_INLINE void finish_tile(const af_product_tile *tile, const int rows, const int panels, const int partial,
                           sums_of sums) {
    const af_epilogue *epilogue = tile->epilogue;
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    EACH_VECTOR {
        vf bias = tile->bias ? take(tile->bias + v * AF_WIDTH, LANES, partial) : (vf){0};
        EACH_ROW SUM = SUM * scale + bias;
    }
    if (tile->residual) {
        EACH_ROW EACH_VECTOR SUM += take(tile->residual + row * tile->residual_pitch + v * AF_WIDTH, LANES, partial);
    }
    if (epilogue->late.function != AF_IDENTITY) {
        float copy[AF_PRODUCT_ROWS * AF_PRODUCT_PANELS * AF_PANEL];
        const int pitch = panels * AF_PANEL;
        EACH_ROW EACH_VECTOR store(copy + row * pitch + v * AF_WIDTH, SUM);
        af_apply(&epilogue->late, copy, pitch, tile->y, tile->y_pitch, rows, tile->columns);
        return;
    }
    EACH_ROW EACH_VECTOR put(tile->y + row * tile->y_pitch + v * AF_WIDTH, at_most(at_least(SUM, low), high), LANES,
                             partial);
}

/* What y holds, then the end of the product, or y again for the next part of the depth. */
AF_INLINE void store_tile(const af_product_tile *tile, const int rows, const int panels, const int partial,
                          sums_of sums) {
    if (!tile->first) EACH_ROW EACH_VECTOR SUM += take(tile->y + row * tile->y_pitch + v * AF_WIDTH, LANES, partial);
    if (tile->last)
        finish_tile(tile, rows, panels, partial, sums);
    else
        EACH_ROW EACH_VECTOR put(tile->y + row * tile->y_pitch + v * AF_WIDTH, SUM, LANES, partial);
}

/* Fetch what is needed after the multiplications. */
AF_INLINE void fetch_results(const af_product_tile *tile, const int rows, const int panels) {
    EACH_ROW UNROLL for (int panel = 0; panel < panels; panel++) {
        __builtin_prefetch(tile->y + row * tile->y_pitch + panel * AF_PANEL, 1);
        if (tile->residual) __builtin_prefetch(tile->residual + row * tile->residual_pitch + panel * AF_PANEL, 0);
    }
}

AF_INLINE void run(const af_product_tile *tile, const int type, const int rows, const int panels) {
    sums_of sums;
    fetch_results(tile, rows, panels);
    if (rows * panels * VECTORS <= FEW_SUMS)
        multiply_few(tile, type, rows, panels, sums);
    else
        multiply(tile, type, rows, panels, sums);
    if (tile->columns == panels * AF_PANEL)
        store_tile(tile, rows, panels, 0, sums);
    else
        store_tile(tile, rows, panels, 1, sums);
}

#if AF_WIDTH == 16
#define ROWS(X, type, panels)                                                                                    \
    X(type, 1, panels) X(type, 2, panels) X(type, 3, panels) X(type, 4, panels) X(type, 5, panels)               \
    X(type, 6, panels) X(type, 7, panels) X(type, 8, panels) X(type, 9, panels) X(type, 10, panels)              \
    X(type, 11, panels) X(type, 12, panels) X(type, 13, panels) X(type, 14, panels)
#elif AF_WIDTH == 4 && defined(__x86_64__)
#define ROWS(X, type, panels) X(type, 1, panels) X(type, 2, panels) X(type, 3, panels)
#else
#define ROWS(X, type, panels)                                                                                    \
    X(type, 1, panels) X(type, 2, panels) X(type, 3, panels) X(type, 4, panels) X(type, 5, panels) X(type, 6, panels)
#endif

#define FUNCTION(type, rows, panels) \
    static void run_##type##_##rows##_##panels(const af_product_tile *tile) { run(tile, type, rows, panels); }
#define ENTRY(type, rows, panels) run_##type##_##rows##_##panels,

typedef void run_function(const af_product_tile *tile);

#if AF_WIDTH == 16
#define DEFINE_RUNS(type)    \
    ROWS(FUNCTION, type, 1)  \
    ROWS(FUNCTION, type, 2)  \
    static run_function *const runs_##type[AF_PRODUCT_PANELS][AF_PRODUCT_ROWS] = {{ROWS(ENTRY, type, 1)}, \
                                                                                  {ROWS(ENTRY, type, 2)}};
#else
#define DEFINE_RUNS(type)    \
    ROWS(FUNCTION, type, 1)  \
    static run_function *const runs_##type[AF_PRODUCT_PANELS][AF_PRODUCT_ROWS] = {{ROWS(ENTRY, type, 1)}};
#endif
DEFINE_RUNS(AF_FLOAT)
DEFINE_RUNS(AF_FLOAT16)
DEFINE_RUNS(AF_BFLOAT16)

void af_run_product_tile(const af_product_tile *tile, int64_t type, int64_t rows, int64_t panels) {
    switch (type) {
    case AF_FLOAT16: runs_AF_FLOAT16[panels - 1][rows - 1](tile); return;
    case AF_BFLOAT16: runs_AF_BFLOAT16[panels - 1][rows - 1](tile); return;
    default: runs_AF_FLOAT[panels - 1][rows - 1](tile);
    }
}
