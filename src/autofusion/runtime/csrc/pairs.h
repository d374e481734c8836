/* Steps that compute every element from one element of each of two operands, of any type. */
#ifndef AF_PAIRS_H
#define AF_PAIRS_H

#include "element.h"
#include "walk.h"

/* A row of a step: steps count elements, those of 0 repeat one. */
typedef struct af_pair {
    const void *a, *b;
    void *y;
    int64_t count, a_step, b_step, y_step;
} af_pair;

typedef void af_pair_function(const af_pair *pair);

/* y[i] = value, an expression in `l` and `r`, for rows of the commonest steps in loops of their own. */
#define AF_PAIR_LOOPS(pair, operand, scalar, result, value)                                                         \
    do {                                                                                                    \
        const af_##operand *a = (pair)->a, *b = (pair)->b;                                                  \
        af_##result *y = (pair)->y;                                                                         \
        int64_t count = (pair)->count, a_step = (pair)->a_step, b_step = (pair)->b_step;                    \
        int is_dense = (pair)->y_step == 1;                                                                 \
        if (is_dense && a_step == 1 && b_step == 1)                                                         \
            for (int64_t i = 0; i < count; i++) {                                                           \
                scalar l = a[i], r = b[i];                                                             \
                y[i] = (value);                                                                             \
            }                                                                                               \
        else if (is_dense && a_step == 1 && b_step == 0)                                                    \
            for (int64_t i = 0; i < count; i++) {                                                           \
                scalar l = a[i], r = *b;                                                               \
                y[i] = (value);                                                                             \
            }                                                                                               \
        else                                                                                                \
            for (int64_t i = 0; i < count; i++) {                                                           \
                scalar l = a[i * a_step], r = b[i * b_step];                                           \
                y[i * (pair)->y_step] = (value);                                                            \
            }                                                                                               \
    } while (0)

/* Call `compute` for every row of share `part`; a step without a second operand passes the first one twice. */
static inline void af_walk_pairs(const af_call *call, int64_t part, int64_t parts, af_pair_function *compute) {
    const af_pointwise *p = &call->step->pointwise;
    int64_t size = element_size(p->type), y_size = element_size(p->y_type);
    int b_place = call->operands[AF_B] ? AF_B : AF_A;
    const int64_t *b_strides = p->strides[b_place - AF_A];
    af_range rows, columns;
    share_rows(p->extents, part, parts, &rows, &columns);
    af_walk walk = {.extents = p->extents, .strides = {p->strides[0], b_strides, p->y_strides}, .operands = 3};
    if (rows.first < rows.last) seek_row(&walk, rows.first);
    for (int64_t row = rows.first; row < rows.last; row++, next_row(&walk)) {
        af_pair pair = {.count = columns.last - columns.first, .a_step = p->strides[0][AF_INNER],
                        .b_step = b_strides[AF_INNER], .y_step = p->y_strides[AF_INNER]};
        pair.a = (const char *)call->operands[AF_A] + (walk.place[0] + columns.first * pair.a_step) * size;
        pair.b = (const char *)call->operands[b_place] + (walk.place[1] + columns.first * pair.b_step) * size;
        pair.y = (char *)call->operands[AF_RESULT] + (walk.place[2] + columns.first * pair.y_step) * y_size;
        compute(&pair);
    }
}

#endif
