/* Two small matrix products in a row, of few rows each: what counts is that every weight is read once.

   The first matrix has a row for every hidden number, the second one as well: [hidden][channels], [hidden][columns]. */
#include "activation.h"
#include "data.h"
#include "half.h"

/* Hidden numbers at a time, and vectors of each that are summed side by side. */
enum { NUMBERS = 4, VECTORS = 2 };

enum { REDUCE = 2, REDUCE_BIAS, EXPAND, EXPAND_BIAS };

int64_t af_excite_scratch(const af_excite *excite) {
    return round_to_line((int64_t)sizeof(float) * excite->hidden);
}

/* The products of x with `numbers` rows of the first matrix, from place `row` on. */
AF_INLINE void reduce(const int type, const float *x, const void *weights, int64_t row, int64_t channels,
                      const int numbers, float *hidden) {
    vf sums[NUMBERS][VECTORS] = {{{0}}};
    int64_t channel = 0;
    for (; channel + VECTORS * AF_WIDTH <= channels; channel += VECTORS * AF_WIDTH)
        for (int n = 0; n < numbers; n++)
            for (int v = 0; v < VECTORS; v++)
                sums[n][v] += load(x + channel + v * AF_WIDTH) *
                              load_as(type, weights, row + n * channels + channel + v * AF_WIDTH);
    for (; channel < channels; channel += AF_WIDTH) {
        int64_t count = smaller(channels - channel, AF_WIDTH);
        for (int n = 0; n < numbers; n++)
            sums[n][0] += load_some(x + channel, count) *
                          load_some_as(type, weights, row + n * channels + channel, count);
    }
    for (int n = 0; n < numbers; n++) hidden[n] += add_lanes(sums[n][0] + sums[n][1]);
}

AF_INLINE void reduce_typed(const int type, const float *x, const void *weights, const af_excite *e, float *hidden) {
    int64_t number = 0, channels = e->channels;
    for (; number + NUMBERS <= e->hidden; number += NUMBERS)
        reduce(type, x, weights, number * channels, channels, NUMBERS, hidden + number);
    for (; number < e->hidden; number++) reduce(type, x, weights, number * channels, channels, 1, hidden + number);
}

static void reduce_all(const float *x, const void *weights, const af_excite *e, float *hidden) {
    switch (e->types[0]) {
    case AF_FLOAT16: reduce_typed(AF_FLOAT16, x, weights, e, hidden); return;
    case AF_BFLOAT16: reduce_typed(AF_BFLOAT16, x, weights, e, hidden); return;
    default: reduce_typed(AF_FLOAT, x, weights, e, hidden);
    }
}

/* Add `numbers` rows of the second matrix, from place `row` on, times their hidden numbers to `count` columns. */
AF_INLINE void expand(const int type, const float *hidden, const void *weights, int64_t row, int64_t pitch,
                      const int numbers, int64_t count, float *y) {
    int64_t column = 0;
    for (; column + AF_WIDTH <= count; column += AF_WIDTH) {
        vf sum = load(y + column);
        for (int n = 0; n < numbers; n++) sum += hidden[n] * load_as(type, weights, row + n * pitch + column);
        store(y + column, sum);
    }
    if (column < count) {
        int64_t rest = count - column;
        vf sum = load_some(y + column, rest);
        for (int n = 0; n < numbers; n++) sum += hidden[n] * load_some_as(type, weights, row + n * pitch + column, rest);
        store_some(y + column, sum, rest);
    }
}

AF_INLINE void expand_typed(const int type, const float *hidden, const void *weights, const af_excite *e,
                            af_range columns, float *y) {
    int64_t number = 0, count = columns.last - columns.first;
    for (; number + NUMBERS <= e->hidden; number += NUMBERS)
        expand(type, hidden + number, weights, number * e->columns + columns.first, e->columns, NUMBERS, count, y);
    for (; number < e->hidden; number++)
        expand(type, hidden + number, weights, number * e->columns + columns.first, e->columns, 1, count, y);
}

static void expand_all(const float *hidden, const void *weights, const af_excite *e, af_range columns, float *y) {
    switch (e->types[1]) {
    case AF_FLOAT16: expand_typed(AF_FLOAT16, hidden, weights, e, columns, y); return;
    case AF_BFLOAT16: expand_typed(AF_BFLOAT16, hidden, weights, e, columns, y); return;
    default: expand_typed(AF_FLOAT, hidden, weights, e, columns, y);
    }
}

static void start_sums(const float *bias, int64_t count, float *sums) {
    if (bias)
        memcpy(sums, bias, sizeof(float) * (size_t)count);
    else
        memset(sums, 0, sizeof(float) * (size_t)count);
}

/* Shares have columns of the result; each computes all hidden numbers for itself, which costs less than to wait. */
void af_run_excite(const af_call *call, int64_t part, int64_t parts) {
    const af_step *step = call->step;
    const af_excite *e = &step->excite;
    const float *bias = call->operands[EXPAND_BIAS];
    float *hidden = (float *)((char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes);
    af_activation between = {e->activation, (float)step->alpha, (float)step->beta};
    af_activation gate = {e->gate, (float)step->scale, (float)step->further};
    af_range columns = share(e->columns, AF_PANEL, part, parts);
    int64_t count = columns.last - columns.first;
    for (int64_t row = 0; row < e->rows; row++) {
        float *y = call->operands[AF_RESULT] + row * e->columns + columns.first;
        start_sums(call->operands[REDUCE_BIAS], e->hidden, hidden);
        reduce_all(call->operands[AF_X] + row * e->channels, call->operands[REDUCE], e, hidden);
        af_apply(&between, hidden, e->hidden, hidden, e->hidden, 1, e->hidden);
        start_sums(bias ? bias + columns.first : NULL, count, y);
        expand_all(hidden, call->operands[EXPAND], e, columns, y);
        af_apply(&gate, y, count, y, count, 1, count);
    }
}
