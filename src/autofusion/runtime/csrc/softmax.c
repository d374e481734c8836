/* Softmax and its logarithm along one axis. */
#include <math.h>

#include "call.h"
#include "vmath.h"

/* Lines that lie side by side and are worked on together. */
enum { BESIDE = 64 };

/* Vectors of a line that is kept in registers. */
enum { SHORT = 2 };

static vf load_or(const float *from, int64_t count, float filler) {
    vf x = splat(filler);
    for (int64_t i = 0; i < count; i++) x[i] = from[i];
    return x;
}

static float find_largest(const float *x, int64_t count) {
    vf most = splat(-__builtin_inff());
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) most = maximum(most, load(x + i));
    if (i < count) most = maximum(most, load_or(x + i, count - i, -__builtin_inff()));
    return find_largest_lane(most);
}

/* A line of any length. */
static void run_long(const float *x, float *y, int64_t count, int is_log) {
    vf largest = splat(find_largest(x, count)), sum = splat(0);
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) {
        vf e = vexp(load(x + i) - largest);
        sum += e;
        if (!is_log) store(y + i, e);
    }
    if (i < count) {
        vf e = vexp(load_or(x + i, count - i, -__builtin_inff()) - largest);
        /* Where the largest is infinite, the lanes that are not there are NaN as all others are. */
        sum += e;
        if (!is_log) store_some(y + i, e, count - i);
    }
    float total = add_lanes(sum);
    vf shift = splat(is_log ? logf(total) : 0), factor = splat(1 / total);
    for (i = 0; i < count; i += AF_WIDTH) {
        int64_t lanes = smaller(count - i, AF_WIDTH);
        vf value = is_log ? load_some(x + i, lanes) - largest - shift : load_some(y + i, lanes) * factor;
        store_some(y + i, value, lanes);
    }
}

/* A line that fits into `vectors` vectors, the last of which may have lanes to spare. */
AF_INLINE void run_short(const float *x, float *y, int64_t count, int is_log, const int vectors) {
    int64_t last = (vectors - 1) * AF_WIDTH, rest = count - last;
    vf line[SHORT], powers[SHORT], sum = splat(0);
    for (int v = 0; v < vectors - 1; v++) line[v] = load(x + v * AF_WIDTH);
    line[vectors - 1] = rest < AF_WIDTH ? load_or(x + last, rest, -__builtin_inff()) : load(x + last);
    vf most = line[0];
    for (int v = 1; v < vectors; v++) most = maximum(most, line[v]);
    vf largest = splat(find_largest_lane(most));
    for (int v = 0; v < vectors; v++) {
        powers[v] = vexp(line[v] - largest);
        sum += powers[v];
    }
    float total = add_lanes(sum);
    vf shift = splat(is_log ? logf(total) : 0), factor = splat(1 / total);
    for (int v = 0; v < vectors; v++) {
        vf value = is_log ? line[v] - largest - shift : powers[v] * factor;
        if (v < vectors - 1 || rest == AF_WIDTH)
            store(y + v * AF_WIDTH, value);
        else
            store_some(y + v * AF_WIDTH, value, rest);
    }
}

/* One line of elements next to each other. */
static void run_line(const float *x, float *y, int64_t count, int is_log) {
    if (count <= AF_WIDTH)
        run_short(x, y, count, is_log, 1);
    else if (count <= 2 * AF_WIDTH)
        run_short(x, y, count, is_log, 2);
    else
        run_long(x, y, count, is_log);
}

/* `columns` lines beside each other. */
static void run_columns(const float *x, float *y, const af_softmax *s, int64_t columns) {
    const af_lines *l = &s->lines;
    float largest[BESIDE], sum[BESIDE];
    for (int64_t j = 0; j < columns; j++) largest[j] = -__builtin_inff(), sum[j] = 0;
    for (int64_t i = 0; i < l->extent; i++)
        for (int64_t j = 0; j < columns; j++) {
            float e = x[i * l->x_stride + j];
            largest[j] = e > largest[j] || e != e ? e : largest[j];
        }
    for (int64_t i = 0; i < l->extent; i++)
        for (int64_t j = 0; j < columns; j += AF_WIDTH) {
            int64_t lanes = smaller(columns - j, AF_WIDTH);
            vf e = vexp(load_some(x + i * l->x_stride + j, lanes) - load_some(largest + j, lanes));
            store_some(sum + j, load_some(sum + j, lanes) + e, lanes);
            if (!s->is_log) store_some(y + i * l->y_stride + j, e, lanes);
        }
    for (int64_t j = 0; j < columns; j++) sum[j] = s->is_log ? logf(sum[j]) : 1 / sum[j];
    for (int64_t i = 0; i < l->extent; i++)
        for (int64_t j = 0; j < columns; j++) {
            float *to = y + i * l->y_stride + j;
            *to = s->is_log ? x[i * l->x_stride + j] - largest[j] - sum[j] : *to * sum[j];
        }
}

void af_run_softmax(const af_call *call, int64_t part, int64_t parts) {
    const af_softmax *s = &call->step->softmax;
    const af_lines *l = &s->lines;
    int64_t groups = divide_up(l->inner, BESIDE);
    int is_near = l->inner == 1 && l->x_stride == 1 && l->y_stride == 1;
    af_range own = share(l->extent > 0 ? l->outer * groups : 0, 1, part, parts);
    for (int64_t index = own.first; index < own.last; index++) {
        int64_t outer = index / groups, column = index % groups * BESIDE;
        const float *x = call->operands[AF_X] + outer * l->x_outer + column;
        float *y = call->operands[AF_RESULT] + outer * l->y_outer + column;
        if (is_near)
            run_line(x, y, l->extent, (int)s->is_log);
        else
            run_columns(x, y, s, smaller(l->inner - column, BESIDE));
    }
}
