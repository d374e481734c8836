/* Softmax of doubles and its logarithm along one axis. */
#include <math.h>

#include "double.h"
#include "double_math.h"

/* Lines that lie side by side and are worked on together. */
enum { BESIDE = 64 };

/* One line of elements next to each other. */
static void run_line(const af_double *x, af_double *y, int64_t count, int is_log) {
    double largest = -__builtin_inf(), total = 0;
    for (int64_t i = 0; i < count; i++) largest = x[i] > largest || x[i] != x[i] ? x[i] : largest;
    vd sum = {0};
    int64_t i = 0;
    for (; i + AF_LANES <= count; i += AF_LANES) {
        vd e = double_exp(load_doubles(x + i) - largest);
        sum += e;
        if (!is_log) store_doubles(y + i, e);
    }
    total = add_double_lanes(sum);
    vd e = double_exp(load_some_doubles(x + i, count - i) - largest);
    for (int64_t lane = 0; lane < count - i; lane++) total += e[lane];
    if (!is_log) store_some_doubles(y + i, e, count - i);
    double shift = is_log ? log(total) : 0;
    for (i = 0; i < count; i++) y[i] = is_log ? x[i] - largest - shift : y[i] / total;
}

/* `columns` lines beside each other. */
static void run_columns(const af_double *x, af_double *y, const af_softmax *s, int64_t columns) {
    const af_lines *l = &s->lines;
    double largest[BESIDE], sum[BESIDE];
    for (int64_t j = 0; j < columns; j++) largest[j] = -__builtin_inf(), sum[j] = 0;
    for (int64_t i = 0; i < l->extent; i++)
        for (int64_t j = 0; j < columns; j++) {
            double e = x[i * l->x_stride + j];
            largest[j] = e > largest[j] || e != e ? e : largest[j];
        }
    for (int64_t i = 0; i < l->extent; i++)
        for (int64_t j = 0; j < columns; j += AF_LANES) {
            int64_t lanes = smaller(columns - j, AF_LANES);
            vd e = double_exp(load_some_doubles(x + i * l->x_stride + j, lanes) - load_some_doubles(largest + j, lanes));
            for (int64_t lane = 0; lane < lanes; lane++) sum[j + lane] += e[lane];
            if (!s->is_log) store_some_doubles(y + i * l->y_stride + j, e, lanes);
        }
    for (int64_t j = 0; s->is_log && j < columns; j++) sum[j] = log(sum[j]);
    for (int64_t i = 0; i < l->extent; i++)
        for (int64_t j = 0; j < columns; j++) {
            af_double *to = y + i * l->y_stride + j;
            *to = s->is_log ? x[i * l->x_stride + j] - largest[j] - sum[j] : *to / sum[j];
        }
}

void af_run_softmax_double(const af_call *call, int64_t part, int64_t parts) {
    const af_softmax *s = &call->step->softmax;
    const af_lines *l = &s->lines;
    int64_t groups = divide_up(l->inner, BESIDE);
    int is_near = l->inner == 1 && l->x_stride == 1 && l->y_stride == 1;
    af_range own = share(l->extent > 0 ? l->outer * groups : 0, 1, part, parts);
    for (int64_t index = own.first; index < own.last; index++) {
        int64_t outer = index / groups, column = index % groups * BESIDE;
        const af_double *x = find_doubles(call, AF_X) + outer * l->x_outer + column;
        af_double *y = find_doubles(call, AF_RESULT) + outer * l->y_outer + column;
        if (is_near)
            run_line(x, y, l->extent, (int)s->is_log);
        else
            run_columns(x, y, s, smaller(l->inner - column, BESIDE));
    }
}
