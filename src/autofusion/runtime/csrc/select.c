/* Elements of one tensor or of another, as truth values say. */
#include "element.h"
#include "walk.h"

/* A row of a step: steps of 0 repeat an element. */
typedef struct row {
    const af_uint8 *condition;
    const void *a, *b;
    void *y;
    int64_t count, condition_step, a_step, b_step, y_step;
} row;

#define CHOOSE(type)                                                                                         \
    static void choose_##type(const row *r) {                                                                \
        const af_##type *a = r->a, *b = r->b;                                                                \
        af_##type *y = r->y;                                                                                 \
        if (r->condition_step == 1 && r->a_step == 1 && r->b_step == 1 && r->y_step == 1)                    \
            for (int64_t i = 0; i < r->count; i++) y[i] = r->condition[i] ? a[i] : b[i];                     \
        else if (r->condition_step == 1 && r->a_step == 1 && r->b_step == 0 && r->y_step == 1)               \
            for (int64_t i = 0; i < r->count; i++) y[i] = r->condition[i] ? a[i] : *b;                       \
        else if (r->condition_step == 1 && r->a_step == 0 && r->b_step == 1 && r->y_step == 1)               \
            for (int64_t i = 0; i < r->count; i++) y[i] = r->condition[i] ? *a : b[i];                       \
        else                                                                                                 \
            for (int64_t i = 0; i < r->count; i++)                                                           \
                y[i * r->y_step] = r->condition[i * r->condition_step] ? a[i * r->a_step] : b[i * r->b_step]; \
    }

CHOOSE(uint8)
CHOOSE(uint16)
CHOOSE(uint32)
CHOOSE(uint64)

void af_run_select(const af_call *call, int64_t part, int64_t parts) {
    const af_pointwise *p = &call->step->pointwise;
    int64_t size = element_size(p->type);
    af_range rows, columns;
    share_rows(p->extents, part, parts, &rows, &columns);
    const int64_t *strides[] = {p->strides[0], p->strides[1], p->strides[2], p->y_strides};
    af_walk walk = {.extents = p->extents, .strides = {strides[0], strides[1], strides[2], strides[3]}, .operands = 4};
    if (rows.first < rows.last) seek_row(&walk, rows.first);
    for (int64_t index = rows.first; index < rows.last; index++, next_row(&walk)) {
        row r = {.count = columns.last - columns.first, .condition_step = strides[0][AF_INNER],
                 .a_step = strides[1][AF_INNER], .b_step = strides[2][AF_INNER], .y_step = strides[3][AF_INNER]};
        r.condition = (const af_uint8 *)call->operands[AF_X] + walk.place[0] + columns.first * r.condition_step;
        r.a = (const char *)call->operands[AF_X + 1] + (walk.place[1] + columns.first * r.a_step) * size;
        r.b = (const char *)call->operands[AF_X + 2] + (walk.place[2] + columns.first * r.b_step) * size;
        r.y = (char *)call->operands[AF_RESULT] + (walk.place[3] + columns.first * r.y_step) * size;
        switch (size) {
        case 1: choose_uint8(&r); break;
        case 2: choose_uint16(&r); break;
        case 4: choose_uint32(&r); break;
        default: choose_uint64(&r); break;
        }
    }
}
