/* The micro-kernel of products: packed rows times packed panels, then the epilogue. */
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
AF_INLINE void multiply_once(const float *a, const float *const b[2], int64_t k, const int rows, const int panels,
                             sums_of sums) {
    vf right[AF_PRODUCT_PANELS][VECTORS];
    UNROLL for (int panel = 0; panel < panels; panel++)
        UNROLL for (int v = 0; v < VECTORS; v++) right[panel][v] = load(b[panel] + k * AF_PANEL + v * AF_WIDTH);
    UNROLL for (int row = 0; row < rows; row++) {
        vf left = splat(a[k * rows + row]);
        UNROLL for (int panel = 0; panel < panels; panel++)
            UNROLL for (int v = 0; v < VECTORS; v++) sums[row][panel][v] += left * right[panel][v];
    }
}

AF_INLINE void multiply(const af_product_tile *tile, const int rows, const int panels, sums_of sums) {
    const float *const b[2] = {tile->panels[0], tile->panels[1]};
    const float *a = tile->a, *ahead = tile->ahead;
    /* Lines are fetched ahead as evenly as the loop allows. */
    int64_t fetching = tile->ahead_lines < tile->depth ? tile->ahead_lines : tile->depth, k = 0;
    clear(rows, panels, sums);
    for (; k < fetching; k++) {
        __builtin_prefetch(ahead + k * AF_PANEL, 0, 2);
        multiply_once(a, b, k, rows, panels, sums);
    }
    for (; k < tile->depth; k++) multiply_once(a, b, k, rows, panels, sums);
}

/* The same for few rows, whose registers hold four sums of each: an addition takes as long as four begin. */
AF_INLINE void multiply_few(const af_product_tile *tile, const int rows, const int panels, sums_of sums) {
    const float *const b[2] = {tile->panels[0], tile->panels[1]};
    sums_of second, third, fourth;
    clear(rows, panels, sums);
    clear(rows, panels, second);
    clear(rows, panels, third);
    clear(rows, panels, fourth);
    int64_t k = 0;
    for (; k + 4 <= tile->depth; k += 4) {
        multiply_once(tile->a, b, k, rows, panels, sums);
        multiply_once(tile->a, b, k + 1, rows, panels, second);
        multiply_once(tile->a, b, k + 2, rows, panels, third);
        multiply_once(tile->a, b, k + 3, rows, panels, fourth);
    }
    for (; k < tile->depth; k++) multiply_once(tile->a, b, k, rows, panels, sums);
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int panel = 0; panel < panels; panel++)
            UNROLL for (int v = 0; v < VECTORS; v++)
                sums[row][panel][v] += second[row][panel][v] + (third[row][panel][v] + fourth[row][panel][v]);
}

/* One row of one panel: what y holds, scale, bias, residual and clamp, as far as they apply. */
AF_INLINE void store_row(const af_product_tile *tile, int panel, int row, vf *sums) {
    const af_epilogue *e = tile->epilogue;
    float *y = tile->y[panel] + row * tile->y_pitch[panel];
    const float *residual = tile->residual[panel] ? tile->residual[panel] + row * tile->residual_pitch : NULL;
    UNROLL for (int v = 0; v < VECTORS; v++) {
        int64_t column = v * AF_WIDTH, count = tile->columns[panel] - column;
        int is_whole = count >= AF_WIDTH;
        vf x = sums[v];
        if (count <= 0) break;
        if (!tile->first) x += is_whole ? load(y + column) : load_some(y + column, count);
        if (tile->last) {
            vf bias = {0}, added = {0};
            if (tile->bias[panel])
                bias = is_whole ? load(tile->bias[panel] + column) : load_some(tile->bias[panel] + column, count);
            if (residual) added = is_whole ? load(residual + column) : load_some(residual + column, count);
            x = finish(e, x, bias, added);
        }
        if (is_whole)
            store(y + column, x);
        else
            store_some(y + column, x, count);
    }
}

AF_INLINE void fetch_results(const af_product_tile *tile, const int rows, const int panels) {
    UNROLL for (int panel = 0; panel < panels; panel++)
        UNROLL for (int row = 0; row < rows; row++) {
            __builtin_prefetch(tile->y[panel] + row * tile->y_pitch[panel], 1);
            if (tile->residual[panel]) __builtin_prefetch(tile->residual[panel] + row * tile->residual_pitch, 0);
        }
}

AF_INLINE void run(const af_product_tile *tile, const int rows, const int panels) {
    sums_of sums;
    fetch_results(tile, rows, panels);
    if (rows * panels * VECTORS <= FEW_SUMS)
        multiply_few(tile, rows, panels, sums);
    else
        multiply(tile, rows, panels, sums);
    UNROLL for (int panel = 0; panel < panels; panel++) {
        UNROLL for (int row = 0; row < rows; row++) store_row(tile, panel, row, sums[row][panel]);
        if (tile->last && tile->epilogue->late.function != AF_IDENTITY)
            af_apply(&tile->epilogue->late, tile->y[panel], tile->y_pitch[panel], tile->y[panel],
                     tile->y_pitch[panel], rows, tile->columns[panel]);
    }
}

#define FUNCTION(rows, panels) \
    static void run_##rows##_##panels(const af_product_tile *tile) { run(tile, rows, panels); }
#if AF_WIDTH == 16
#define ROWS(X, panels) \
    X(1, panels) X(2, panels) X(3, panels) X(4, panels) X(5, panels) X(6, panels) \
    X(7, panels) X(8, panels) X(9, panels) X(10, panels) X(11, panels) X(12, panels)
#elif AF_WIDTH == 4 && defined(__x86_64__)
#define ROWS(X, panels) X(1, panels) X(2, panels) X(3, panels)
#else
#define ROWS(X, panels) X(1, panels) X(2, panels) X(3, panels) X(4, panels) X(5, panels) X(6, panels)
#endif
ROWS(FUNCTION, 1)
#if AF_WIDTH == 16
ROWS(FUNCTION, 2)
#endif

void af_run_product_tile(const af_product_tile *tile, int64_t rows, int64_t panels) {
#define ENTRY(rows, panels) run_##rows##_##panels,
    static void (*const runs[AF_PRODUCT_PANELS][AF_PRODUCT_ROWS])(const af_product_tile *) = {
        {ROWS(ENTRY, 1)},
#if AF_WIDTH == 16
        {ROWS(ENTRY, 2)},
#endif
    };
    runs[panels - 1][rows - 1](tile);
}
