/* The same elements in the layout of another buffer: channels innermost or pixels innermost. */
#include "call.h"
#include "vector.h"

/* Rows and columns of a square that fits into the first-level cache on both sides. */
enum { SQUARE = 64 };

#define UNROLL _Pragma("GCC unroll 16")

/* Lane `j` of two vectors whose blocks of `n` lanes change places: the second block of one with the first of the other. */
#define FIRST(j, n) ((j) & (n) ? AF_WIDTH + (j) - (n) : (j))
#define SECOND(j, n) ((j) & (n) ? AF_WIDTH + (j) : (j) + (n))
#define FOUR(LANE, j, n) LANE(j, n), LANE(j + 1, n), LANE(j + 2, n), LANE(j + 3, n)
#if AF_WIDTH == 16
#define LANES(LANE, n) FOUR(LANE, 0, n), FOUR(LANE, 4, n), FOUR(LANE, 8, n), FOUR(LANE, 12, n)
#elif AF_WIDTH == 8
#define LANES(LANE, n) FOUR(LANE, 0, n), FOUR(LANE, 4, n)
#else
#define LANES(LANE, n) FOUR(LANE, 0, n)
#endif

#define EXCHANGE(n)                                                                           \
    UNROLL for (int i = 0; i < AF_WIDTH; i++) {                                               \
        if (i & (n)) continue;                                                                \
        vf first = __builtin_shufflevector(rows[i], rows[i + (n)], LANES(FIRST, n));          \
        rows[i + (n)] = __builtin_shufflevector(rows[i], rows[i + (n)], LANES(SECOND, n));    \
        rows[i] = first;                                                                      \
    }

/* Rows become columns. */
AF_INLINE void transpose(vf rows[AF_WIDTH]) {
#if AF_WIDTH == 16
    EXCHANGE(8)
#endif
#if AF_WIDTH >= 8
    EXCHANGE(4)
#endif
    EXCHANGE(2)
    EXCHANGE(1)
}

/* A matrix whose rows lie `pitch` floats apart. */
typedef struct matrix {
    float *first;
    int64_t pitch;
} matrix;

/* Up to AF_WIDTH rows and columns of x as columns and rows of y. */
AF_INLINE void turn(matrix x, matrix y, int64_t row_count, int64_t column_count) {
    vf rows[AF_WIDTH];
    if (row_count == AF_WIDTH && column_count == AF_WIDTH) {
        UNROLL for (int i = 0; i < AF_WIDTH; i++) rows[i] = load(x.first + i * x.pitch);
        transpose(rows);
        UNROLL for (int i = 0; i < AF_WIDTH; i++) store(y.first + i * y.pitch, rows[i]);
        return;
    }
    UNROLL for (int i = 0; i < AF_WIDTH; i++) {
        rows[i] = i < row_count ? load_some(x.first + i * x.pitch, column_count) : (vf){0};
    }
    transpose(rows);
    UNROLL for (int i = 0; i < AF_WIDTH; i++) {
        if (i < column_count) store_some(y.first + i * y.pitch, rows[i], row_count);
    }
}

/* Rows `rows` of x as columns of y, square by square; every row has `columns` elements. */
static void turn_rows(matrix x, matrix y, af_range rows, af_range columns) {
    for (int64_t column = columns.first; column < columns.last; column += AF_WIDTH) {
        for (int64_t row = rows.first; row < rows.last; row += AF_WIDTH) {
            matrix from = {x.first + row * x.pitch + column, x.pitch}, to = {y.first + column * y.pitch + row, y.pitch};
            turn(from, to, smaller(rows.last - row, AF_WIDTH), smaller(columns.last - column, AF_WIDTH));
        }
    }
}

static void move_square(const af_relayout *r, float *x, float *y, af_range pixels, af_range channels) {
    int64_t x_channel = r->x_strides[AF_CHANNEL], x_pixel = r->x_strides[AF_PIXEL];
    int64_t y_channel = r->y_strides[AF_CHANNEL], y_pixel = r->y_strides[AF_PIXEL];
    if (x_pixel == 1 && y_channel == 1) {
        turn_rows((matrix){x, x_channel}, (matrix){y, y_pixel}, channels, pixels);
        return;
    }
    if (x_channel == 1 && y_pixel == 1) {
        turn_rows((matrix){x, x_pixel}, (matrix){y, y_channel}, pixels, channels);
        return;
    }
    for (int64_t pixel = pixels.first; pixel < pixels.last; pixel++)
        for (int64_t channel = channels.first; channel < channels.last; channel++)
            y[pixel * y_pixel + channel * y_channel] = x[pixel * x_pixel + channel * x_channel];
}

/* Lines of three channels into pixels side by side, as most models begin: the compiler turns three streams into one. */
static void join_three(const float *x, int64_t x_channel, float *y, int64_t pixel_count) {
    const float *restrict a = x, *restrict b = x + x_channel, *restrict c = x + 2 * x_channel;
    float *restrict to = y;
    for (int64_t pixel = 0; pixel < pixel_count; pixel++) {
        to[3 * pixel] = a[pixel];
        to[3 * pixel + 1] = b[pixel];
        to[3 * pixel + 2] = c[pixel];
    }
}

void af_run_relayout(const af_call *call, int64_t part, int64_t parts) {
    const af_relayout *r = &call->step->relayout;
    int64_t channel_count = r->extents[AF_CHANNEL];
    af_range pixels = share(r->extents[AF_PIXEL], SQUARE, part, parts);
    for (int64_t image = 0; image < r->extents[AF_IMAGE]; image++) {
        float *x = call->operands[AF_X] + image * r->x_strides[AF_IMAGE];
        float *y = call->operands[AF_RESULT] + image * r->y_strides[AF_IMAGE];
        if (channel_count == 3 && r->x_strides[AF_PIXEL] == 1 && r->y_strides[AF_PIXEL] == 3 &&
            r->y_strides[AF_CHANNEL] == 1) {
            join_three(x + pixels.first, r->x_strides[AF_CHANNEL], y + 3 * pixels.first, pixels.last - pixels.first);
            continue;
        }
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel += SQUARE) {
            for (int64_t channel = 0; channel < channel_count; channel += SQUARE) {
                af_range square_pixels = {pixel, smaller(pixel + SQUARE, pixels.last)};
                af_range square_channels = {channel, smaller(channel + SQUARE, channel_count)};
                move_square(r, x, y, square_pixels, square_channels);
            }
        }
    }
}
