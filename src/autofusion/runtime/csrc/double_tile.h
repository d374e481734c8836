/* The micro-kernel that all products of doubles share. */
#ifndef AF_DOUBLE_TILE_H
#define AF_DOUBLE_TILE_H

#include "double_activation.h"

/* Rows that are multiplied by a panel before the next panel is read. */
enum { AF_DOUBLE_BLOCK = 48 };

/* y = act(sum * scale + bias + residual); an absent bias or residual is a null pointer. */
typedef struct af_double_epilogue {
    double scale;
    af_double_activation activation;
} af_double_epilogue;

/* Results of `rows` rows and up to AF_PANEL columns. */
typedef struct af_double_results {
    const af_double *bias, *residual;
    af_double *y;
    int64_t residual_pitch, y_pitch, rows, columns;
} af_double_results;

/* sums[row][column] = rows[row] . panel[..][column] for `count` rows of `depth` doubles and AF_PANEL columns. */
void af_multiply_doubles(const af_double *const *rows, int64_t count, int64_t depth, const af_double *panel,
                         af_double *sums);

/* Store what becomes of `sums`, which is not kept. */
void af_finish_doubles(const af_double_epilogue *epilogue, af_double *sums, const af_double_results *results);

/* The epilogue of a step that has an activation and its numbers. */
static inline af_double_epilogue make_double_epilogue(const af_step *step, int64_t activation) {
    return (af_double_epilogue){step->scale, {activation, step->alpha, step->beta}};
}

/* Bytes of pointers to the rows of a block, and of `depth` numbers of each. */
static inline int64_t count_table_bytes(void) { return AF_DOUBLE_BLOCK * (int64_t)sizeof(af_double *); }
static inline int64_t count_block_bytes(int64_t depth) { return AF_DOUBLE_BLOCK * depth * (int64_t)sizeof(double); }

#endif
