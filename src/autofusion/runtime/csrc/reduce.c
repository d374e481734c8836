/* Sums, products, extremes and norms over any axes. */
#include <math.h>

#include "element.h"
#include "walk.h"

/* Results that are worked on together. */
enum { BESIDE = 256 };

/* Elements that are added up in their own precision before they go into a sum in double precision. */
enum { BLOCK = 128 };

/* Reduced elements of one result, or of `columns` results whose elements lie side by side: `count` of them, `step`
   apart. */
typedef struct run {
    const void *x;
    int64_t count, step, columns;
} run;

#define FOR_RUN(type, statement)                                     \
    do {                                                             \
        for (int64_t i = 0; i < r->count; i++) {                     \
            const type *from = (const type *)r->x + i * r->step;     \
            for (int64_t j = 0; j < r->columns; j++) {               \
                type e = from[j];                                    \
                statement;                                           \
            }                                                        \
        }                                                            \
    } while (0)

/* Reductions of floating numbers keep their sums in double precision. */
#define DEFINE_FLOATING(type)                                                                         \
    static void add_##type(int64_t kind, const run *r, double *y) {                                   \
        switch (kind) {                                                                               \
        case AF_REDUCE_MAX: FOR_RUN(af_##type, y[j] = e > y[j] || e != e ? e : y[j]); break;          \
        case AF_REDUCE_MIN: FOR_RUN(af_##type, y[j] = e < y[j] || e != e ? e : y[j]); break;          \
        case AF_REDUCE_PROD: FOR_RUN(af_##type, y[j] *= e); break;                                    \
        case AF_REDUCE_L1: FOR_RUN(af_##type, y[j] += fabs((double)e)); break;                        \
        case AF_REDUCE_SUM_SQUARE:                                                                    \
        case AF_REDUCE_L2: FOR_RUN(af_##type, y[j] += (double)e * (double)e); break;                  \
        default: FOR_RUN(af_##type, y[j] += e); break;                                                \
        }                                                                                             \
    }

DEFINE_FLOATING(float)
DEFINE_FLOATING(double)

/* Reductions of integers wrap; extremes are kept as they are. */
#define DEFINE_INTEGER(type)                                                                          \
    static void add_##type(int64_t kind, const run *r, int64_t *y) {                                  \
        uint64_t *bits = (uint64_t *)y;                                                               \
        switch (kind) {                                                                               \
        case AF_REDUCE_MAX: FOR_RUN(af_##type, y[j] = e > y[j] ? e : y[j]); break;                    \
        case AF_REDUCE_MIN: FOR_RUN(af_##type, y[j] = e < y[j] ? e : y[j]); break;                    \
        case AF_REDUCE_PROD: FOR_RUN(af_##type, bits[j] *= (uint64_t)e); break;                       \
        case AF_REDUCE_SUM_SQUARE: FOR_RUN(af_##type, bits[j] += (uint64_t)e * (uint64_t)e); break;   \
        case AF_REDUCE_L1:                                                                            \
            FOR_RUN(af_##type, bits[j] += is_negative((int64_t)e) ? 0 - (uint64_t)e : (uint64_t)e);   \
            break;                                                                                    \
        default: FOR_RUN(af_##type, bits[j] += (uint64_t)e); break;                                   \
        }                                                                                             \
    }

DEFINE_INTEGER(int8)
DEFINE_INTEGER(int32)
DEFINE_INTEGER(int64)
DEFINE_INTEGER(uint8)

/* The sum of a row of float32 elements side by side, in lanes. */
static double sum_row(const float *x, int64_t count) {
    double total = 0;
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t last = smaller(first + BLOCK, count);
        float lanes[16] = {0};
        int64_t i = first;
        for (; i + 16 <= last; i += 16)
            for (int lane = 0; lane < 16; lane++) lanes[lane] += x[i + lane];
        for (; i < last; i++) lanes[0] += x[i];
        double sum = 0;
        for (int lane = 0; lane < 16; lane++) sum += lanes[lane];
        total += sum;
    }
    return total;
}

typedef union totals {
    double real[BESIDE];
    int64_t whole[BESIDE];
} totals;

static int is_real(int64_t type) { return type == AF_FLOAT || type == AF_DOUBLE; }

static void begin(const af_reduce *p, totals *t, int64_t columns) {
    for (int64_t j = 0; j < columns; j++) {
        int64_t whole = p->kind == AF_REDUCE_PROD;
        double real = (double)whole;
        if (p->kind == AF_REDUCE_MAX) real = -INFINITY, whole = INT64_MIN;
        if (p->kind == AF_REDUCE_MIN) real = INFINITY, whole = INT64_MAX;
        if (is_real(p->type))
            t->real[j] = real;
        else
            t->whole[j] = whole;
    }
}

static void add_run(const af_reduce *p, const run *r, totals *t) {
    int is_sum = p->kind == AF_REDUCE_SUM || p->kind == AF_REDUCE_MEAN;
    if (p->type == AF_FLOAT && is_sum && r->step == 1 && r->columns == 1) {
        t->real[0] += sum_row(r->x, r->count);
        return;
    }
    switch (p->type) {
    case AF_FLOAT: add_float(p->kind, r, t->real); break;
    case AF_DOUBLE: add_double(p->kind, r, t->real); break;
    case AF_INT8: add_int8(p->kind, r, t->whole); break;
    case AF_INT32: add_int32(p->kind, r, t->whole); break;
    case AF_INT64: add_int64(p->kind, r, t->whole); break;
    default: add_uint8(p->kind, r, t->whole); break;
    }
}

static void finish(const af_reduce *p, const totals *t, int64_t reduced, void *y, int64_t step, int64_t columns) {
    for (int64_t j = 0; j < columns; j++) {
        if (is_real(p->type)) {
            double value = p->kind == AF_REDUCE_L2 ? sqrt(t->real[j]) : t->real[j];
            if (p->kind == AF_REDUCE_MEAN) value /= (double)reduced;
            if (p->type == AF_FLOAT)
                ((af_float *)y)[j * step] = (float)value;
            else
                ((af_double *)y)[j * step] = value;
            continue;
        }
        switch (element_size(p->type)) {
        case 1: ((af_int8 *)y)[j * step] = (int8_t)t->whole[j]; break;
        case 4: ((af_int32 *)y)[j * step] = (int32_t)t->whole[j]; break;
        default: ((af_int64 *)y)[j * step] = t->whole[j]; break;
        }
    }
}

void af_run_reduce(const af_call *call, int64_t part, int64_t parts) {
    const af_reduce *p = &call->step->reduce;
    int64_t size = element_size(p->type), x_step = p->x_strides[AF_INNER], y_step = p->y_strides[AF_INNER];
    int64_t reduced_rows = count_rows(p->reduced), columns = p->kept[AF_INNER];
    int64_t beside = x_step == 1 ? BESIDE : 1, groups = divide_up(columns, beside);
    af_range own = share(count_rows(p->kept) * groups, 1, part, parts);
    af_walk kept = {.extents = p->kept, .strides = {p->x_strides, p->y_strides}, .operands = 2};
    af_walk reduced = {.extents = p->reduced, .strides = {p->strides}, .operands = 1};
    for (int64_t index = own.first; index < own.last; index++) {
        int64_t column = index % groups * beside;
        if (column == 0 || index == own.first) seek_row(&kept, index / groups);
        run r = {.count = p->reduced[AF_INNER], .step = p->strides[AF_INNER]};
        r.columns = smaller(columns - column, beside);
        const char *x = (const char *)call->operands[AF_X] + (kept.place[0] + column * x_step) * size;
        char *y = (char *)call->operands[AF_RESULT] + (kept.place[1] + column * y_step) * size;
        totals t;
        begin(p, &t, r.columns);
        if (r.count > 0 && reduced_rows > 0) seek_row(&reduced, 0);
        for (int64_t row = 0; row < reduced_rows && r.count > 0; row++, next_row(&reduced)) {
            r.x = x + reduced.place[0] * size;
            add_run(p, &r, &t);
        }
        finish(p, &t, reduced_rows * r.count, y, y_step, r.columns);
    }
}
