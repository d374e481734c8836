/* Fields of the steps of transformers; part of record.h.  Extents and strides count elements. */
#ifndef AF_RECORD_TRANSFORMER_H
#define AF_RECORD_TRANSFORMER_H

#include <stdint.h>

/* [batch, heads, rows, numbers] in a buffer: `offset`, then one stride an axis. */
typedef struct af_view {
    int64_t offset, strides[4];
} af_view;

enum af_keep_mode { AF_KEEP_NONE, AF_KEEP_FIRST, AF_KEEP_ADD, AF_KEEP_LAST, AF_KEEP_MODE_COUNT };

/* A term of the scores [batch, heads, queries, keys]: sample b reads sample b mod `period`. */
typedef struct af_term {
    int64_t period, strides[4];
} af_term;

/* `scale` of the step is the factor, `alpha` the number for elements that are not kept. */
typedef struct af_attention {
    int64_t batch, heads, key_heads, queries, keys, size, value_size, past;
    af_view q, k, v, y;
    af_term bias, mask, keep;
    int64_t keep_mode, keep_drops, causal, guard;
} af_attention;

enum af_norm_kind { AF_NORM_NONE, AF_NORM_LAYER, AF_NORM_RMS, AF_NORM_KIND_COUNT };

/* `alpha` of the step is epsilon, here and in the other normalizing steps. */
typedef struct af_norm {
    int64_t rows, columns, kind;
} af_norm;

/* Elements [sample, group, channel of the group, pixel]. */
typedef struct af_group_norm {
    int64_t batch, groups, channels, pixels;
    int64_t x_strides[3], y_strides[3]; /* of sample, channel, pixel */
} af_group_norm;

/* The tables have `width` numbers a row, or half as many: `is_half`. */
typedef struct af_rotary {
    int64_t batch, heads, rows, size, width, interleaved, is_half;
    af_view x, y;
    int64_t cos_strides[4], sin_strides[4];
} af_rotary;

/* A product with a constant matrix whose columns are dealt out to `parts` results, or are two factors: `gated`.
   `norm` is an af_norm_kind, whose epsilon is `further` of the step; `type` is that of the matrix's elements. */
enum { AF_RESULTS = 4 };

typedef struct af_product {
    int64_t rows, depth, parts, widths[AF_RESULTS], activation, norm, gated, type;
} af_product;

enum { AF_TABLES = 3, AF_LEADING = 4 };

/* A table with ids has `count` rows of elements of `type`; a tensor without has `id_size` 0, `strides` along the
   leading axes, and float32 elements. */
typedef struct af_table {
    int64_t count, id_size, strides[AF_LEADING], step, type;
} af_table;

typedef struct af_embedding {
    int64_t extents[AF_LEADING], columns, kind;
    af_table tables[AF_TABLES];
} af_embedding;

#endif
