#include "combine.h"

#include "power.h"
#include "vector.h"

typedef vf combination(vf a, vf b);

AF_INLINE vf add(vf a, vf b) { return a + b; }
AF_INLINE vf subtract(vf a, vf b) { return a - b; }
AF_INLINE vf multiply(vf a, vf b) { return a * b; }
AF_INLINE vf divide(vf a, vf b) { return a / b; }
AF_INLINE vf truth(vi mask) { return pick(mask, splat(1), splat(0)); }
AF_INLINE vf is_equal(vf a, vf b) { return truth(a == b); }
AF_INLINE vf is_less(vf a, vf b) { return truth(a < b); }
AF_INLINE vf is_at_most(vf a, vf b) { return truth(a <= b); }
AF_INLINE vf is_greater(vf a, vf b) { return truth(a > b); }
AF_INLINE vf is_at_least(vf a, vf b) { return truth(a >= b); }

AF_INLINE vf take(const float *from, int64_t step, int64_t at, int64_t count) {
    if (step == 0) return splat(*from);
    return count < AF_WIDTH ? load_some(from + at, count) : load(from + at);
}

AF_INLINE void combine(combination *apply, const af_pair_row *rows) {
    int64_t count = rows->count, a_step = rows->a_step, b_step = rows->b_step;
    for (int64_t row = 0; row <= rows->further; row++) {
        const float *a = rows->a + row * rows->a_pitch, *b = rows->b + row * rows->b_pitch;
        float *y = rows->y + row * rows->y_pitch;
        int64_t i = 0;
        for (; i + AF_WIDTH <= count; i += AF_WIDTH)
            store(y + i, apply(take(a, a_step, i, AF_WIDTH), take(b, b_step, i, AF_WIDTH)));
        int64_t rest = count - i;
        if (rest > 0) store_some(y + i, apply(take(a, a_step, i, rest), take(b, b_step, i, rest)), rest);
    }
}

static void raise_to_power(const af_pair_row *rows) {
    for (int64_t row = 0; row <= rows->further; row++) {
        const float *a = rows->a + row * rows->a_pitch, *b = rows->b + row * rows->b_pitch;
        float *y = rows->y + row * rows->y_pitch;
        if (rows->b_step == 0 && *b == 2) {
            const af_pair_row square = {a, a, y, rows->count, rows->a_step, rows->a_step, 0, 0, 0, 0};
            combine(multiply, &square);
            continue;
        }
        for (int64_t i = 0; i < rows->count; i++) y[i] = power(a[i * rows->a_step], b[i * rows->b_step]);
    }
}

void af_combine(int64_t operator, const af_pair_row *row) {
    switch (operator) {
    case AF_ADD: combine(add, row); break;
    case AF_SUB: combine(subtract, row); break;
    case AF_MUL: combine(multiply, row); break;
    case AF_DIV: combine(divide, row); break;
    case AF_POW: raise_to_power(row); break;
    case AF_MAX: combine(maximum, row); break;
    case AF_MIN: combine(minimum, row); break;
    case AF_IS_EQUAL: combine(is_equal, row); break;
    case AF_IS_LESS: combine(is_less, row); break;
    case AF_IS_AT_MOST: combine(is_at_most, row); break;
    case AF_IS_GREATER: combine(is_greater, row); break;
    case AF_IS_AT_LEAST: combine(is_at_least, row); break;
    default: break;
    }
}

void af_choose(const float *condition, int64_t condition_step, const af_pair_row *row) {
    for (int64_t i = 0; i < row->count; i += AF_WIDTH) {
        int64_t rest = row->count - i;
        vf holds = take(condition, condition_step, i, rest);
        vf y = pick(holds != 0.0f, take(row->a, row->a_step, i, rest), take(row->b, row->b_step, i, rest));
        if (rest < AF_WIDTH)
            store_some(row->y + i, y, rest);
        else
            store(row->y + i, y);
    }
}
