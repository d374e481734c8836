#include "tile.h"

enum { PANEL_VECTORS = AF_PANEL / AF_WIDTH, MAX_VECTORS = 2 * PANEL_VECTORS, LINE = 16 };

/* `sums` must live in registers: the numbers of rows and vectors are constants wherever they are used, and loops over
   them are unrolled, as an index that varies would force it into memory. */
#define UNROLL _Pragma("GCC unroll 16")
#define EACH_ROW UNROLL for (int row = 0; row < rows; row++)
#define EACH_VECTOR UNROLL for (int v = 0; v < vectors; v++)

/* Rows of a panel between the one that is read and the one that is fetched into the first-level cache: the first tile
   finds the panel in the second-level cache, where every tile before has put a part of it from farther away. */
enum { FETCH_DISTANCE = 24 };

/* Columns of the last vector of a wide panel, where they are fewer than a vector has: two rows then share one. */
enum { SHARED = AF_WIDTH > AF_PANEL / 2 };

#if AF_WIDTH == 16
/* Half a panel, twice. */
AF_INLINE vf load_half(const float *from) { return (vf)_mm512_broadcast_f32x8(_mm256_loadu_ps(from)); }
/* The lower lanes of x, the upper ones of y. */
AF_INLINE vf join(vf x, vf y) { return (vf)_mm512_mask_blend_ps(0xff00, (__m512)x, (__m512)y); }
AF_INLINE vf upper(vf x) { return (vf)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0xee); }
#else
AF_INLINE vf load_half(const float *from) { return load(from); }
AF_INLINE vf join(vf x, vf y) { return x + y; }
AF_INLINE vf upper(vf x) { return x; }
#endif

/* `fetches`: the panels are not yet in the first-level cache, and `ahead` is a panel to be fetched. */
AF_INLINE void multiply(const af_tile *tile, const int rows, const int vectors, const int shared, const int fetches,
                        vf sums[][MAX_VECTORS]) {
    const int whole = vectors - shared, panels = vectors > PANEL_VECTORS ? 2 : 1;
    const float *first = tile->panel;
    const char *ahead = tile->ahead;
    const int64_t step = tile->panel_step;
    vf pairs[AF_TILE_ROWS / 2 + 1];
    for (int pair = 0; pair < (rows + 1) / 2; pair++) pairs[pair] = (vf){0};
    for (int64_t segment = 0; segment < tile->segments; segment++) {
        const float *x[AF_TILE_ROWS];
        EACH_ROW x[row] = tile->rows[segment * AF_ROW_BLOCK + row] + tile->start;
        for (int64_t k = 0; k < tile->length; k++, first += AF_PANEL) {
            vf a[AF_TILE_ROWS + 1], b[MAX_VECTORS];
            UNROLL for (int v = 0; v < whole; v++)
                b[v] = load(first + v / PANEL_VECTORS * step + v % PANEL_VECTORS * AF_WIDTH);
            if (shared) b[whole] = load_half(first + step);
            if (fetches) {
                for (int p = 0; p < panels; p++) __builtin_prefetch(first + p * step + FETCH_DISTANCE * AF_PANEL);
                __builtin_prefetch(ahead, 0, 2);
                ahead += tile->ahead_step;
            }
            EACH_ROW {
                a[row] = splat(x[row][k]);
                UNROLL for (int v = 0; v < whole; v++) sums[row][v] += a[row] * b[v];
                if (shared && row % 2) pairs[row / 2] += join(a[row - 1], a[row]) * b[whole];
            }
            if (shared && rows % 2) pairs[rows / 2] += a[rows - 1] * b[whole];
        }
    }
    if (shared) EACH_ROW sums[row][whole] = row % 2 ? upper(pairs[row / 2]) : pairs[row / 2];
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
AF_INLINE void fetch_results(const af_tile *tile, const int vectors) {
    int64_t y_pitch = tile->y_pitch, residual_pitch = tile->epilogue->residual_pitch;
    for (int64_t row = tile->fetch_first; row < tile->fetch_last; row++)
        for (int v = 0; v < vectors; v += LINE / AF_WIDTH)
            __builtin_prefetch(tile->y + row * y_pitch + v * AF_WIDTH, 1);
    for (int64_t row = tile->residual ? tile->fetch_first : tile->fetch_last; row < tile->fetch_last; row++)
        for (int v = 0; v < vectors; v += LINE / AF_WIDTH)
            __builtin_prefetch(tile->residual + row * residual_pitch + v * AF_WIDTH);
}

AF_INLINE void run(const af_tile *tile, const int rows, const enum af_tile_width width) {
    const int shared = width == AF_WIDE_PANEL && SHARED;
    const int vectors = width == AF_ONE_PANEL                 ? PANEL_VECTORS
                        : width == AF_TWO_PANELS || shared    ? 2 * PANEL_VECTORS
                                                              : PANEL_VECTORS + PANEL_VECTORS / 2;
    vf sums[AF_TILE_ROWS][MAX_VECTORS];
    if (tile->last) fetch_results(tile, vectors);
    EACH_ROW EACH_VECTOR sums[row][v] = (vf){0};
    if (tile->ahead)
        multiply(tile, rows, vectors, shared, 1, sums);
    else
        multiply(tile, rows, vectors, shared, 0, sums);
    if (!tile->first) EACH_ROW EACH_VECTOR sums[row][v] += load(find_sums(tile, row, v));
    if (!tile->last) {
        EACH_ROW EACH_VECTOR store(find_sums(tile, row, v), sums[row][v]);
    } else if (tile->columns == vectors * AF_WIDTH) {
        finish_tile(tile, rows, vectors, 0, sums);
    } else {
        finish_tile(tile, rows, vectors, 1, sums);
    }
}

typedef void tile_kernel(const af_tile *tile);

/* One function for every number of rows and every width. */
#define MAKE_ONE(rows) \
    static void run_##rows##_one(const af_tile *tile) { run(tile, rows, AF_ONE_PANEL); }
#define MAKE_WIDE(rows) \
    static void run_##rows##_wide(const af_tile *tile) { run(tile, rows, AF_WIDE_PANEL); }
#define MAKE_TWO(rows) \
    static void run_##rows##_two(const af_tile *tile) { run(tile, rows, AF_TWO_PANELS); }

#if AF_WIDTH == 16
#define EACH_HEIGHT(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#define EACH_WIDE_HEIGHT(DO) EACH_HEIGHT(DO)
EACH_HEIGHT(MAKE_TWO)
#elif AF_WIDTH == 4 && defined(__x86_64__)
#define EACH_HEIGHT(DO) DO(1) DO(2) DO(3)
#define EACH_WIDE_HEIGHT(DO) DO(1) DO(2)
#else
#define EACH_HEIGHT(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#define EACH_WIDE_HEIGHT(DO) DO(1) DO(2) DO(3) DO(4)
#endif
EACH_HEIGHT(MAKE_ONE)
EACH_WIDE_HEIGHT(MAKE_WIDE)

#define NAME_ONE(rows) run_##rows##_one,
#define NAME_WIDE(rows) run_##rows##_wide,
#define NAME_TWO(rows) run_##rows##_two,

void af_run_tile(const af_tile *tile, int64_t row_count, enum af_tile_width width) {
    static tile_kernel *const kernels[][AF_TILE_ROWS] = {
        [AF_ONE_PANEL] = {EACH_HEIGHT(NAME_ONE)},
        [AF_WIDE_PANEL] = {EACH_WIDE_HEIGHT(NAME_WIDE)},
#if AF_WIDTH == 16
        [AF_TWO_PANELS] = {EACH_HEIGHT(NAME_TWO)},
#endif
    };
    kernels[width][row_count - 1](tile);
}
