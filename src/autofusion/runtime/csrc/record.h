/* Records shared with Python: a context and the steps that it runs.

   The layout is that of `runtime/records.py` and `runtime/native.py`; whoever changes one side
   changes the other and AF_ABI_VERSION.  Extents, strides and pitches count elements. */
#ifndef AF_RECORD_H
#define AF_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "record_data.h"
#include "record_program.h"
#include "record_transformer.h"

#define AF_ABI_VERSION 6
#define AF_EXPORT __attribute__((visibility("default")))

enum { AF_OPERANDS = 16, AF_INTS = 96, AF_FLOATS = 4, AF_BATCH_AXES = 6 };

/* Columns of a weight panel; rows, depth and panels of a block of a matrix product. */
enum { AF_PANEL = 16, AF_ROW_BLOCK = 144, AF_DEPTH_BLOCK = 256, AF_PANEL_BLOCK = 8 };

/* Tiles that Winograd's filtering works on at a time. */
enum { AF_WINOGRAD_TILES = 25 };

/* Convolutions with fewer channels per group copy each window into one row first. */
enum { AF_GATHER_CHANNELS = 8 };

enum af_kernel {
    AF_PASS, /* the session runs this step itself */
    AF_CONV,
    AF_MATMUL,
    AF_POOL,
    AF_AFFINE,
    AF_UNARY,
    AF_BINARY,
    AF_RELAYOUT,
    AF_COPY,
    AF_STRIDED = 64, /* from here on the kernels of record_data.h */
    AF_CONCAT,
    AF_SELECT,
    AF_COMPARE,
    AF_ARITHMETIC,
    AF_CONVERT,
    AF_SOFTMAX,
    AF_REDUCE,
    AF_ARGUMENT,
    AF_CUMULATE,
    AF_RANK,
    AF_GATHER,
    AF_GATHER_ELEMENTS,
    AF_GATHER_BLOCKS,
    AF_SCATTER_ELEMENTS,
    AF_SCATTER_BLOCKS,
    AF_PAD,
    AF_RESIZE,
    AF_PROGRESSION,
    AF_TRIANGLE,
    AF_ATTENTION, /* from here on those of record_transformer.h */
    AF_NORM,
    AF_GROUP_NORM,
    AF_ROTARY,
    AF_EMBEDDING,
    AF_PRODUCT,
    AF_PROGRAM, /* of record_program.h */
    AF_CONV_DEPTHWISE,
    AF_CONV_POOL,
    AF_EXCITE,  /* of record_data.h */
    AF_FILTER, /* of record_data.h */
    AF_CONV_TRANSPOSE, /* an af_conv: `begins` are cut off, and what is not there is 0 */
    AF_KERNEL_COUNT
};

enum af_space { AF_NONE, AF_ARENA, AF_WEIGHTS, AF_BINDING };

/* Places of a record's operands: the first result, the kernel's operands in their order, further results, scratch
   memory. */
enum { AF_RESULT, AF_X, AF_WEIGHT, AF_BIAS, AF_RESIDUAL, AF_GATE, AF_FURTHER = 11, AF_SCRATCH = 15 };
enum { AF_A = 1, AF_B = 2, AF_SCALE = 2, AF_SHIFT = 3, AF_DEPTHWISE_WEIGHT = 4, AF_DEPTHWISE_BIAS = 5 };

/* The activations, then the other functions of one operand. */
enum af_function {
    AF_IDENTITY,
    AF_RELU,
    AF_LEAKY_RELU,
    AF_CLIP,
    AF_SIGMOID,
    AF_TANH,
    AF_HARD_SIGMOID,
    AF_HARD_SWISH,
    AF_SILU,
    AF_GELU,
    AF_GELU_TANH,
    AF_ELU,
    AF_ACTIVATION_COUNT,
    AF_ABS = AF_ACTIVATION_COUNT,
    AF_NEG,
    AF_EXP,
    AF_LOG,
    AF_SQRT,
    AF_RECIPROCAL,
    AF_FLOOR,
    AF_CEIL,
    AF_ERF,
    AF_SIN,
    AF_COS,
    AF_ROUND,
    AF_SIGN,
    AF_TO_FLOAT16,
    AF_TO_BFLOAT16,
    AF_FUNCTION_COUNT
};

enum af_operator { AF_ADD, AF_SUB, AF_MUL, AF_DIV, AF_POW, AF_MAX, AF_MIN, AF_OPERATOR_COUNT };

/* Comparisons of floats that give 1 or 0; in programs alone. */
enum af_truth {
    AF_IS_EQUAL = AF_OPERATOR_COUNT,
    AF_IS_LESS,
    AF_IS_AT_MOST,
    AF_IS_GREATER,
    AF_IS_AT_LEAST,
    AF_COMBINATION_COUNT
};

enum af_pool_kind { AF_POOL_MAX, AF_POOL_AVERAGE, AF_POOL_KIND_COUNT };

/* A sliding window over an image of up to three axes; axes that are not there have extent 1. */
typedef struct af_window {
    int64_t x[3], y[3], kernel[3], strides[3], begins[3], ends[3], dilations[3];
} af_window;

typedef struct af_conv {
    int64_t batch, group, channels, filters;
    af_window window;
    int64_t x_pitch, y_pitch, residual_pitch, activation;
    int64_t winograd; /* results of a tile each way, 2 or 4; 0 for another algorithm */
    int64_t gated;    /* x has a factor for every channel of every image */
    int64_t averaged; /* the means over the pixels are a result as well */
    int64_t type;     /* of the weights: that of the step, or AF_FLOAT16, AF_BFLOAT16 */
    int64_t narrow;   /* groups of 2, 4 or 8 channels have as many filters, and every channel has a lane */
} af_conv;

/* A convolution of all channels and the depthwise one of its result, which need no pitch between them; `alpha` and
   `beta` are those of the first one's activation. */
typedef struct af_conv_depthwise {
    af_conv conv, depthwise;
    double alpha, beta;
} af_conv_depthwise;

/* A product for every index of the batch axes: the matrices of a and b lie at the sums of their batch strides, those
   of y one after the other. */
typedef struct af_matmul {
    int64_t batch[AF_BATCH_AXES], a_strides[AF_BATCH_AXES], b_strides[AF_BATCH_AXES];
    int64_t rows, depth, columns, trans_a, trans_b, activation;
} af_matmul;

typedef struct af_pool {
    int64_t batch, channels;
    af_window window;
    int64_t x_pitch, y_pitch, kind, include_pad;
} af_pool;

/* A convolution and a pool of its result, of whole images where `is_global`; between them no pitch is needed. */
typedef struct af_conv_pool {
    af_conv conv;
    af_pool pool;
    int64_t is_global;
} af_conv_pool;

/* Affine and unary steps: `function` is an activation there, any function here. */
typedef struct af_rows {
    int64_t rows, columns, x_pitch, y_pitch, function;
} af_rows;

typedef struct af_binary {
    int64_t extents[AF_AXES], a_strides[AF_AXES], b_strides[AF_AXES], y_strides[AF_AXES];
    int64_t operator, activation;
} af_binary;

/* Axes of a relayout: all spatial axes of an image count as one. */
enum { AF_IMAGE, AF_CHANNEL, AF_PIXEL, AF_RELAYOUT_AXES };

typedef struct af_relayout {
    int64_t extents[AF_RELAYOUT_AXES], x_strides[AF_RELAYOUT_AXES], y_strides[AF_RELAYOUT_AXES];
} af_relayout;

typedef struct af_operand {
    int32_t space, slot;
    int64_t offset, bytes;
} af_operand;

/* `type` is that of the floating elements of a step, AF_FLOAT or AF_DOUBLE; kernels whose fields name a type, or a size,
   leave it AF_FLOAT. */
typedef struct af_step {
    int32_t kernel, type;
    af_operand operands[AF_OPERANDS];
    union {
        int64_t ints[AF_INTS];
        af_conv conv;
        af_conv_depthwise conv_depthwise;
        af_matmul matmul;
        af_pool pool;
        af_conv_pool conv_pool;
        af_rows rows;
        af_binary binary;
        af_relayout relayout;
        af_strided strided;
        af_concat concat;
        af_pointwise pointwise;
        af_softmax softmax;
        af_reduce reduce;
        af_argument argument;
        af_cumulate cumulate;
        af_rank rank;
        af_gather gather;
        af_elements elements;
        af_blocks blocks;
        af_pad pad;
        af_resize resize;
        af_progression progression;
        af_triangle triangle;
        af_excite excite;
        af_filter filter;
        af_attention attention;
        af_norm norm;
        af_group_norm group_norm;
        af_rotary rotary;
        af_embedding embedding;
        af_product product;
        af_program program;
    };
    double scale, alpha, beta, further;
} af_step;

_Static_assert(sizeof(af_step) == 1192, "the layout of runtime/records.py");

typedef struct af_binding {
    void *data;
    int64_t bytes, writable;
} af_binding;

typedef struct af_context {
    const af_step *steps;
    int64_t step_count;
    void *arena;
    int64_t arena_bytes;
    const void *weights;
    int64_t weights_bytes;
    const af_binding *bindings;
    int64_t binding_count;
    int64_t threads;
} af_context;

AF_EXPORT int32_t af_abi_version(void);

/* The x86-64 level of this processor, 1 to 4; 0 on other architectures. */
AF_EXPORT int32_t af_cpu_level(void);

/* 0 where every record stays within its operands and every operand within its space; else -1 and a message. */
AF_EXPORT int32_t af_check(const af_context *context, char *message, size_t size);

/* Run steps first..last-1 of a context that af_check accepted: 0, or -1 where it has no such steps, or one more than
   the number of the first step that data make impossible, after which nothing is run. */
AF_EXPORT int32_t af_run(const af_context *context, int64_t first, int64_t last);

#endif
