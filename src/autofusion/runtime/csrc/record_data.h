/* Fields of the steps that move, choose, compare and reduce elements of any type; part of record.h.

   Strides, offsets and extents count elements; `size` is the bytes of an element, `type` an af_type.  Rows of AF_AXES
   axes have their innermost axis last; axes that are not there come first and have extent 1. */
#ifndef AF_RECORD_DATA_H
#define AF_RECORD_DATA_H

#include <stdint.h>

enum { AF_AXES = 8, AF_PARTS = 10 };

/* y[offset + i . y_strides] = x[offset + i . x_strides] for every i below the extents. */
typedef struct af_strided {
    int64_t extents[AF_AXES], x_strides[AF_AXES], y_strides[AF_AXES], x_offset, y_offset, size;
} af_strided;

/* Rows of y, one after the other out of a row of each of `parts` operands. */
typedef struct af_concat {
    int64_t rows, parts, y_pitch, widths[AF_PARTS], pitches[AF_PARTS], size;
} af_concat;

/* Steps on up to three broadcast operands: select, compare, arithmetic, convert. */
typedef struct af_pointwise {
    int64_t extents[AF_AXES], y_strides[AF_AXES], strides[3][AF_AXES], operator, type, y_type;
} af_pointwise;

enum af_comparison { AF_EQUAL, AF_NOT_EQUAL, AF_LESS, AF_LESS_OR_EQUAL, AF_GREATER, AF_GREATER_OR_EQUAL,
                     AF_COMPARISON_COUNT };

/* `AF_REMAINDER` has the sign of the divisor, `AF_FMOD` that of the dividend. */
enum af_arithmetic {
    AF_PLUS,
    AF_MINUS,
    AF_TIMES,
    AF_DIVIDED,
    AF_REMAINDER,
    AF_FMOD,
    AF_RAISED,
    AF_LARGER,
    AF_SMALLER,
    AF_AND,
    AF_OR,
    AF_XOR,
    AF_ARITHMETIC_COUNT
};

/* Lines of `extent` elements along one axis, `inner` of them side by side. */
typedef struct af_lines {
    int64_t outer, extent, inner, x_outer, x_stride, y_outer, y_stride;
} af_lines;

typedef struct af_softmax {
    af_lines lines;
    int64_t is_log;
} af_softmax;

/* ArgMax and ArgMin: `is_last` prefers the last of equal elements. */
typedef struct af_argument {
    af_lines lines;
    int64_t is_min, is_last, type;
} af_argument;

typedef struct af_cumulate {
    af_lines lines;
    int64_t exclusive, reverse, type;
} af_cumulate;

/* The places along the axis of the `count` first elements in order. */
typedef struct af_rank {
    af_lines lines;
    int64_t count, largest, type;
} af_rank;

enum af_reduction {
    AF_REDUCE_SUM,
    AF_REDUCE_MEAN,
    AF_REDUCE_MAX,
    AF_REDUCE_MIN,
    AF_REDUCE_PROD,
    AF_REDUCE_SUM_SQUARE,
    AF_REDUCE_L1,
    AF_REDUCE_L2,
    AF_REDUCTION_COUNT
};

/* A result for every index of the kept axes, over all indices of the reduced ones. */
typedef struct af_reduce {
    int64_t kept[AF_AXES], x_strides[AF_AXES], y_strides[AF_AXES], reduced[AF_AXES], strides[AF_AXES], kind, type;
} af_reduce;

/* y[outer, i, inner] = x[outer, indices[i], inner]; x has elements of `size` bytes, and y the same, unless `widened` is
   AF_FLOAT16 or AF_BFLOAT16: then x is of that type and y of float32. */
typedef struct af_gather {
    int64_t outer, extent, inner, count, index_size, size, widened;
} af_gather;

/* Places along one axis of a tensor, which has `axis_stride` there and `strides` along the others (0 along the axis
   itself); `extents` are those of the indices. */
typedef struct af_elements {
    int64_t extents[AF_AXES], strides[AF_AXES], axis_extent, axis_stride, index_size, type, reduction;
} af_elements;

/* `count` indices of `depth` axes in each of `batch` batches name blocks of `inner` elements. */
typedef struct af_blocks {
    int64_t batch, count, depth, extents[AF_AXES], inner, index_size, type, reduction;
} af_blocks;

enum af_scatter_reduction { AF_PUT, AF_PUT_SUM, AF_PUT_PROD, AF_PUT_MAX, AF_PUT_MIN, AF_PUT_COUNT };

enum af_pad_mode { AF_PAD_CONSTANT, AF_PAD_REFLECT, AF_PAD_EDGE, AF_PAD_WRAP, AF_PAD_MODE_COUNT };

typedef struct af_pad {
    int64_t extents[AF_AXES], y_strides[AF_AXES], sources[AF_AXES], x_strides[AF_AXES], begins[AF_AXES], mode, size;
} af_pad;

enum af_interpolation { AF_NEAREST, AF_LINEAR, AF_CUBIC, AF_INTERPOLATION_COUNT };
enum af_coordinates {
    AF_HALF_PIXEL,
    AF_HALF_PIXEL_SYMMETRIC,
    AF_PYTORCH_HALF_PIXEL,
    AF_ALIGN_CORNERS,
    AF_ASYMMETRIC,
    AF_COORDINATES_COUNT
};
enum af_rounding { AF_ROUND_FLOOR, AF_ROUND_CEIL, AF_PREFER_FLOOR, AF_PREFER_CEIL, AF_ROUNDING_COUNT };

/* Images of up to three axes; the numbers of the step are the three scales and the coefficient of cubic weights. */
typedef struct af_resize {
    int64_t images, channels, x_pitch, y_pitch, x[3], y[3], mode, coordinates, rounding, exclude_outside;
} af_resize;

typedef struct af_progression {
    int64_t count, type;
} af_progression;

/* Elements on and above (below) diagonal `diagonal` of every matrix; the others are 0. */
typedef struct af_triangle {
    int64_t matrices, rows, columns, diagonal, upper, size;
} af_triangle;

/* Two small matrix products in a row, with `activation` between them and `gate` behind them.  `alpha` and `beta` of the
   step are those of the first one, `scale` and `further` those of the second; `types` are of their matrices. */
typedef struct af_excite {
    int64_t rows, channels, hidden, columns, activation, gate, types[2];
} af_excite;

/* Filters of 3x3 taps of `type` for Winograd's filtering, `tile` results each way. */
typedef struct af_filter {
    int64_t filters, channels, tile, type;
} af_filter;

#endif
