/* Attention: what its parts share. */
#ifndef AF_ATTENTION_H
#define AF_ATTENTION_H

#include "data.h"
#include "tile.h"

/* Keys that are worked on at a time: their scores stay near the processor for a tile of queries. */
enum { AF_KEY_BLOCK = 512 };

/* At least the rows of a tile on any processor. */
enum { AF_TILE_MOST = 16 };

/* Queries that are too few to pack keys and values for. */
enum { AF_FEW_QUERIES = 4 };

/* Operands and further results. */
enum { AF_Q = 1, AF_K, AF_V, AF_ADDED, AF_MASK, AF_KEEP, AF_PAST_KEY, AF_PAST_VALUE };
enum { AF_PRESENT_KEY = AF_FURTHER, AF_PRESENT_VALUE };

/* Rows of keys or values of one head: the first `past` lie elsewhere. */
typedef struct af_rows_of_head {
    const float *past_rows, *rows;
    int64_t past, width, row_stride, step;
} af_rows_of_head;

/* One head of one sample. */
typedef struct af_head {
    const af_call *call;
    int64_t sample, head;
    const float *q;
    float *y;
    af_rows_of_head keys, values;
    int64_t key_count;
} af_head;

AF_INLINE int64_t count_panels(int64_t columns) { return divide_up(columns, AF_PANEL); }

AF_INLINE const float *find_row_of_head(const af_rows_of_head *rows, int64_t row, int64_t *step) {
    *step = row < rows->past ? 1 : rows->step;
    return row < rows->past ? rows->past_rows + row * rows->width : rows->rows + (row - rows->past) * rows->row_stride;
}

/* Put keys first..last-1 in panels of AF_PANEL keys: [panel][number][key], zeros where there is no key. */
void af_pack_keys(const af_rows_of_head *keys, af_range range, float *panels);

/* Put values first..last-1 in panels of AF_PANEL numbers: [panel][value][number]; panels lie `depth` rows apart. */
void af_pack_values(const af_rows_of_head *values, af_range range, float *panels);

/* Mask the scores of `query` for keys first..last-1, and those after them up to a whole panel; their maximum. */
float af_mask_scores(const af_head *head, int64_t query, af_range keys, float *scores);

/* scores = exp(scores - bound); their sum.  NaN where bound is -inf, as by the formula. */
float af_exponentiate(float *scores, int64_t count, float bound);

/* y = v / sum for the numbers of a query; with `guard` zeros where sum is NaN. */
void af_store_query(const af_head *head, int64_t query, const float *v, float sum);

/* Queries first..last-1, read and written row by row, for which nothing is packed. */
void af_attend_rows(const af_head *head, af_range queries, float *scratch);

#endif
