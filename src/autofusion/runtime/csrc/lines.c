/* What follows the elements of a line along one axis: places of extremes, running sums, places in order. */
#include "element.h"
#include "call.h"

#define FOR_ARITHMETIC_TYPES(X, name) \
    case AF_FLOAT: X(float, name); break;  \
    case AF_DOUBLE: X(double, name); break; \
    case AF_INT8: X(int8, name); break;   \
    case AF_INT32: X(int32, name); break; \
    case AF_INT64: X(int64, name); break; \
    default: X(uint8, name); break;

/* Whether `e` goes before `best`: NaN goes before all other numbers, as numpy has it. */
#define GOES_BEFORE(e, best, is_min) \
    ((is_min) ? (e) < (best) || ((e) != (e) && (best) == (best)) : (e) > (best) || ((e) != (e) && (best) == (best)))

#define DEFINE_PLACES(type)                                                                                       \
    static int64_t find_extreme_##type(const af_argument *p, const af_##type *x) {                                \
        int64_t place = 0;                                                                                        \
        for (int64_t i = 1; i < p->lines.extent; i++) {                                                           \
            af_##type e = x[i * p->lines.x_stride], best = x[place * p->lines.x_stride];                          \
            int is_equal = e == best || (e != e && best != best);                                                 \
            if (GOES_BEFORE(e, best, p->is_min) || (is_equal && p->is_last)) place = i;                           \
        }                                                                                                         \
        return place;                                                                                             \
    }

DEFINE_PLACES(float)
DEFINE_PLACES(double)
DEFINE_PLACES(int8)
DEFINE_PLACES(int32)
DEFINE_PLACES(int64)
DEFINE_PLACES(uint8)

/* Lines of more than no elements. */
static int64_t count_lines(const af_lines *l, int64_t count) { return count > 0 ? l->outer * l->inner : 0; }

/* The line with number `index`: where it begins in x and in y. */
static void find_line(const af_lines *l, int64_t index, int64_t *x, int64_t *y) {
    *x = index / l->inner * l->x_outer + index % l->inner;
    *y = index / l->inner * l->y_outer + index % l->inner;
}

void af_run_argument(const af_call *call, int64_t part, int64_t parts) {
    const af_argument *p = &call->step->argument;
    af_range own = share(count_lines(&p->lines, p->lines.extent), 1, part, parts);
    af_int64 *places = (void *)call->operands[AF_RESULT];
    for (int64_t index = own.first; index < own.last; index++) {
        int64_t from, to;
        find_line(&p->lines, index, &from, &to);
        const void *x = call->operands[AF_X];
#define FIND(type, name) places[to] = name##_##type(p, (const af_##type *)x + from)
        switch (p->type) { FOR_ARITHMETIC_TYPES(FIND, find_extreme) }
    }
}

/* Running sums; those of integers wrap. */
#define DEFINE_SUMS(type, sum_type)                                                                             \
    static void cumulate_##type(const af_cumulate *p, const af_##type *x, af_##type *y) {                      \
        sum_type sum = 0;                                                                                       \
        for (int64_t i = 0; i < p->lines.extent; i++) {                                                         \
            int64_t at = p->reverse ? p->lines.extent - 1 - i : i;                                              \
            af_##type e = x[at * p->lines.x_stride];                                                            \
            if (p->exclusive) y[at * p->lines.y_stride] = (af_##type)sum;                                       \
            sum += (sum_type)e;                                                                                 \
            if (!p->exclusive) y[at * p->lines.y_stride] = (af_##type)sum;                                      \
        }                                                                                                       \
    }

DEFINE_SUMS(float, double)
DEFINE_SUMS(double, double)
DEFINE_SUMS(int8, uint64_t)
DEFINE_SUMS(int32, uint64_t)
DEFINE_SUMS(int64, uint64_t)
DEFINE_SUMS(uint8, uint64_t)

void af_run_cumulate(const af_call *call, int64_t part, int64_t parts) {
    const af_cumulate *p = &call->step->cumulate;
    af_range own = share(count_lines(&p->lines, p->lines.extent), 16, part, parts);
    for (int64_t index = own.first; index < own.last; index++) {
        int64_t from, to;
        find_line(&p->lines, index, &from, &to);
        const void *x = call->operands[AF_X];
        void *y = call->operands[AF_RESULT];
#define CUMULATE(type, name) name##_##type(p, (const af_##type *)x + from, (af_##type *)y + to)
        switch (p->type) { FOR_ARITHMETIC_TYPES(CUMULATE, cumulate) }
    }
}

/* Places in order: a heap of the best so far with the worst on top, which then is taken apart from the top. */
#define DEFINE_ORDER(type)                                                                                      \
    static int precedes_##type(const af_rank *p, const af_##type *x, int64_t a, int64_t b) {                    \
        af_##type left = x[a * p->lines.x_stride], right = x[b * p->lines.x_stride];                            \
        if (GOES_BEFORE(left, right, !p->largest)) return 1;                                                    \
        return !GOES_BEFORE(right, left, !p->largest) && a < b;                                                 \
    }                                                                                                           \
    static void sink_##type(const af_rank *p, const af_##type *x, af_int64 *heap, int64_t count) {              \
        int64_t step = p->lines.y_stride;                                                                       \
        for (int64_t parent = 0, child; (child = 2 * parent + 1) < count; parent = child) {                     \
            if (child + 1 < count && precedes_##type(p, x, heap[child * step], heap[(child + 1) * step])) child++; \
            if (precedes_##type(p, x, heap[child * step], heap[parent * step])) return;                         \
            int64_t moved = heap[parent * step];                                                                \
            heap[parent * step] = heap[child * step];                                                           \
            heap[child * step] = moved;                                                                         \
        }                                                                                                       \
    }                                                                                                           \
    static void rise_##type(const af_rank *p, const af_##type *x, af_int64 *heap, int64_t child) {              \
        int64_t step = p->lines.y_stride;                                                                       \
        for (; child > 0; child = (child - 1) / 2) {                                                            \
            int64_t parent = (child - 1) / 2, moved = heap[child * step];                                       \
            if (precedes_##type(p, x, moved, heap[parent * step])) return;                                      \
            heap[child * step] = heap[parent * step];                                                           \
            heap[parent * step] = moved;                                                                        \
        }                                                                                                       \
    }                                                                                                           \
    static void order_##type(const af_rank *p, const af_##type *x, af_int64 *heap) {                            \
        int64_t step = p->lines.y_stride;                                                                       \
        for (int64_t i = 0; i < p->count; i++) {                                                                \
            heap[i * step] = i;                                                                                 \
            rise_##type(p, x, heap, i);                                                                         \
        }                                                                                                       \
        for (int64_t i = p->count; i < p->lines.extent && p->count > 0; i++) {                                  \
            if (!precedes_##type(p, x, i, heap[0])) continue;                                                   \
            heap[0] = i;                                                                                        \
            sink_##type(p, x, heap, p->count);                                                                  \
        }                                                                                                       \
        for (int64_t left = p->count - 1; left > 0; left--) {                                                   \
            int64_t worst = heap[0];                                                                            \
            heap[0] = heap[left * step];                                                                        \
            heap[left * step] = worst;                                                                          \
            sink_##type(p, x, heap, left);                                                                      \
        }                                                                                                       \
    }

DEFINE_ORDER(float)
DEFINE_ORDER(double)
DEFINE_ORDER(int8)
DEFINE_ORDER(int32)
DEFINE_ORDER(int64)
DEFINE_ORDER(uint8)

void af_run_rank(const af_call *call, int64_t part, int64_t parts) {
    const af_rank *p = &call->step->rank;
    af_range own = share(count_lines(&p->lines, p->count), 1, part, parts);
    af_int64 *y = (void *)call->operands[AF_RESULT];
    for (int64_t index = own.first; index < own.last; index++) {
        int64_t from, to;
        find_line(&p->lines, index, &from, &to);
        const void *x = call->operands[AF_X];
#define ORDER(type, name) name##_##type(p, (const af_##type *)x + from, y + to)
        switch (p->type) { FOR_ARITHMETIC_TYPES(ORDER, order) }
    }
}
