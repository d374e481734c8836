/* Rows of several operands that are walked together, each by strides of its own. */
#ifndef AF_WALK_H
#define AF_WALK_H

#include "call.h"

enum { AF_WALKED = 4 };

/* `columns` elements of a row: where each operand has the first, in elements, and how far apart they lie. */
typedef struct af_walk {
    const int64_t *extents;
    const int64_t *strides[AF_WALKED];
    int operands;
    int64_t at[AF_AXES], place[AF_WALKED];
} af_walk;

enum { AF_INNER = AF_AXES - 1 };

/* Rows of more than no elements. */
static inline int64_t count_rows(const int64_t extents[AF_AXES]) {
    int64_t rows = extents[AF_INNER] > 0;
    for (int axis = 0; axis < AF_INNER; axis++) rows *= extents[axis];
    return rows;
}

/* Stand at the beginning of `row`. */
static inline void seek_row(af_walk *walk, int64_t row) {
    for (int operand = 0; operand < walk->operands; operand++) walk->place[operand] = 0;
    for (int axis = AF_INNER - 1; axis >= 0; axis--) {
        walk->at[axis] = row % walk->extents[axis];
        row /= walk->extents[axis];
        for (int operand = 0; operand < walk->operands; operand++)
            walk->place[operand] += walk->at[axis] * walk->strides[operand][axis];
    }
}

/* Go on to the next row; after the last one to the first. */
static inline void next_row(af_walk *walk) {
    for (int axis = AF_INNER - 1; axis >= 0; axis--) {
        int wraps = ++walk->at[axis] == walk->extents[axis];
        int64_t steps = wraps ? 1 - walk->extents[axis] : 1;
        for (int operand = 0; operand < walk->operands; operand++)
            walk->place[operand] += steps * walk->strides[operand][axis];
        if (!wraps) return;
        walk->at[axis] = 0;
    }
}

/* Share `part` of `parts` of the rows, or of the columns where there are few rows. */
static inline void share_rows(const int64_t extents[AF_AXES], int64_t part, int64_t parts, af_range *rows,
                              af_range *columns) {
    *rows = (af_range){0, count_rows(extents)};
    *columns = (af_range){0, extents[AF_INNER]};
    if (rows->last >= parts)
        *rows = share(rows->last, 1, part, parts);
    else
        *columns = share(columns->last, 64, part, parts);
}

#endif
