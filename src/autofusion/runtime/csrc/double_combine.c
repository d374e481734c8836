#include "double_combine.h"

#include <math.h>

#include "double_vector.h"

typedef vd combination(vd a, vd b);

AF_INLINE vd add(vd a, vd b) { return a + b; }
AF_INLINE vd subtract(vd a, vd b) { return a - b; }
AF_INLINE vd multiply(vd a, vd b) { return a * b; }
AF_INLINE vd divide(vd a, vd b) { return a / b; }
AF_INLINE vd truth(vl mask) { return pick_double(mask, splat_double(1), splat_double(0)); }
AF_INLINE vd is_equal(vd a, vd b) { return truth(a == b); }
AF_INLINE vd is_less(vd a, vd b) { return truth(a < b); }
AF_INLINE vd is_at_most(vd a, vd b) { return truth(a <= b); }
AF_INLINE vd is_greater(vd a, vd b) { return truth(a > b); }
AF_INLINE vd is_at_least(vd a, vd b) { return truth(a >= b); }

AF_INLINE vd take(const af_double *from, int64_t step, int64_t at, int64_t count) {
    if (step == 0) return splat_double(*from);
    return count < AF_LANES ? load_some_doubles(from + at, count) : load_doubles(from + at);
}

AF_INLINE void put(af_double *to, vd x, int64_t count) {
    if (count < AF_LANES)
        store_some_doubles(to, x, count);
    else
        store_doubles(to, x);
}

AF_INLINE void combine(combination *apply, const af_double_pairs *p) {
    int64_t i = 0;
    for (; i + AF_LANES <= p->count; i += AF_LANES)
        store_doubles(p->y + i, apply(take(p->a, p->a_step, i, AF_LANES), take(p->b, p->b_step, i, AF_LANES)));
    int64_t rest = p->count - i;
    if (rest > 0) store_some_doubles(p->y + i, apply(take(p->a, p->a_step, i, rest), take(p->b, p->b_step, i, rest)), rest);
}

static void raise_to_power(const af_double_pairs *p) {
    if (p->b_step == 0 && *p->b == 2) {
        const af_double_pairs square = {p->a, p->a, p->y, p->count, p->a_step, p->a_step};
        combine(multiply, &square);
        return;
    }
    for (int64_t i = 0; i < p->count; i++) p->y[i] = pow(p->a[i * p->a_step], p->b[i * p->b_step]);
}

void af_combine_doubles(int64_t operator, const af_double_pairs *pairs) {
    switch (operator) {
    case AF_ADD: combine(add, pairs); break;
    case AF_SUB: combine(subtract, pairs); break;
    case AF_MUL: combine(multiply, pairs); break;
    case AF_DIV: combine(divide, pairs); break;
    case AF_POW: raise_to_power(pairs); break;
    case AF_MAX: combine(double_maximum, pairs); break;
    case AF_MIN: combine(double_minimum, pairs); break;
    case AF_IS_EQUAL: combine(is_equal, pairs); break;
    case AF_IS_LESS: combine(is_less, pairs); break;
    case AF_IS_AT_MOST: combine(is_at_most, pairs); break;
    case AF_IS_GREATER: combine(is_greater, pairs); break;
    case AF_IS_AT_LEAST: combine(is_at_least, pairs); break;
    default: break;
    }
}

void af_choose_doubles(const af_double *condition, int64_t condition_step, const af_double_pairs *p) {
    for (int64_t i = 0; i < p->count; i += AF_LANES) {
        int64_t rest = p->count - i;
        vl holds = take(condition, condition_step, i, rest) != 0.0;
        put(p->y + i, pick_double(holds, take(p->a, p->a_step, i, rest), take(p->b, p->b_step, i, rest)), rest);
    }
}
