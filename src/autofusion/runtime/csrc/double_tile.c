#include "double_tile.h"

#include "double_vector.h"

/* Rows, and vectors of columns, whose sums fit into registers. */
#if AF_WIDTH == 16
enum { ROWS = 8, VECTORS = 2 };
#elif AF_WIDTH == 8
enum { ROWS = 6, VECTORS = 2 };
#elif defined(__x86_64__)
enum { ROWS = 4, VECTORS = 2 };
#else
enum { ROWS = 6, VECTORS = 4 };
#endif

/* The number of rows is a constant wherever this is inlined, so that the sums live in registers. */
#define UNROLL _Pragma("GCC unroll 8")

AF_INLINE void multiply(const af_double *const *table, int64_t depth, const af_double *panel, af_double *sums,
                        const int rows) {
    vd total[ROWS][VECTORS];
    const af_double *a[ROWS];
    UNROLL for (int row = 0; row < rows; row++) {
        a[row] = table[row];
        UNROLL for (int v = 0; v < VECTORS; v++) total[row][v] = (vd){0};
    }
    for (int64_t k = 0; k < depth; k++, panel += AF_PANEL) {
        vd b[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) b[v] = load_doubles(panel + v * AF_LANES);
        UNROLL for (int row = 0; row < rows; row++) {
            vd left = splat_double(a[row][k]);
            UNROLL for (int v = 0; v < VECTORS; v++) total[row][v] += left * b[v];
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int v = 0; v < VECTORS; v++)
            store_doubles(sums + row * AF_PANEL + v * AF_LANES, total[row][v]);
}

static void multiply_rows(const af_double *const *rows, int64_t count, int64_t depth, const af_double *panel,
                          af_double *sums) {
    switch (count) {
#if AF_WIDTH == 16
    case 8: multiply(rows, depth, panel, sums, 8); break;
    case 7: multiply(rows, depth, panel, sums, 7); break;
#endif
#if AF_WIDTH != 4 || !defined(__x86_64__)
    case 6: multiply(rows, depth, panel, sums, 6); break;
    case 5: multiply(rows, depth, panel, sums, 5); break;
#endif
    case 4: multiply(rows, depth, panel, sums, 4); break;
    case 3: multiply(rows, depth, panel, sums, 3); break;
    case 2: multiply(rows, depth, panel, sums, 2); break;
    default: multiply(rows, depth, panel, sums, 1); break;
    }
}

void af_multiply_doubles(const af_double *const *rows, int64_t count, int64_t depth, const af_double *panel,
                         af_double *sums) {
    for (int64_t column = 0; column < AF_PANEL; column += VECTORS * AF_LANES)
        for (int64_t row = 0; row < count; row += ROWS)
            multiply_rows(rows + row, smaller(count - row, ROWS), depth, panel + column, sums + row * AF_PANEL + column);
}

void af_finish_doubles(const af_double_epilogue *epilogue, af_double *sums, const af_double_results *r) {
    for (int64_t row = 0; row < r->rows; row++) {
        af_double *to = sums + row * AF_PANEL;
        const af_double *residual = r->residual ? r->residual + row * r->residual_pitch : NULL;
        for (int64_t i = 0; i < r->columns; i++) {
            double value = to[i] * epilogue->scale;
            if (r->bias) value += r->bias[i];
            if (residual) value += residual[i];
            to[i] = value;
        }
    }
    af_apply_double(&epilogue->activation, sums, AF_PANEL, r->y, r->y_pitch, r->rows, r->columns);
}
