/* Arithmetic on two tensors of one type: integers, which wrap, truth values, and double precision. */
#include <math.h>

#include "pairs.h"

#define OPERATE(name, type, scalar, value) \
    static void name##_##type(const af_pair *pair) { AF_PAIR_LOOPS(pair, type, scalar, type, value); }

/* Of integers: a division by zero gives 0, as does its remainder; the only other quotient that overflows wraps. */
#define DEFINE_INTEGER(type, is_signed)                                                                        \
    static inline type##_t divide_##type(type##_t l, type##_t r) {                                             \
        if (r == 0) return 0;                                                                                  \
        return is_signed && r == (type##_t)-1 ? (type##_t)(0 - (uint64_t)l) : (type##_t)(l / r);               \
    }                                                                                                          \
    static inline type##_t keep_sign_##type(type##_t l, type##_t r) {                                          \
        return r == 0 || (is_signed && r == (type##_t)-1) ? 0 : (type##_t)(l % r);                             \
    }                                                                                                          \
    static inline type##_t remain_##type(type##_t l, type##_t r) {                                             \
        type##_t rest = keep_sign_##type(l, r);                                                                \
        int differ = is_signed && rest != 0 && is_negative((int64_t)rest) != is_negative((int64_t)r);          \
        return differ ? (type##_t)(rest + r) : rest;                                                           \
    }                                                                                                          \
    /* Of a negative exponent: the reciprocal cut to an integer, 0 for 0. */                                   \
    static inline type##_t raise_##type(type##_t l, type##_t r) {                                              \
        if (is_signed && is_negative((int64_t)r)) return l == 1 || l == (type##_t)-1 ? (r % 2 ? l : 1) : 0;    \
        uint64_t result = 1, base = (uint64_t)l;                                                               \
        for (uint64_t rest = (uint64_t)r; rest; rest >>= 1, base *= base)                                      \
            if (rest & 1) result *= base;                                                                      \
        return (type##_t)result;                                                                               \
    }                                                                                                          \
    OPERATE(plus, type, type##_t, (type##_t)((uint64_t)l + (uint64_t)r))                                       \
    OPERATE(minus, type, type##_t, (type##_t)((uint64_t)l - (uint64_t)r))                                      \
    OPERATE(times, type, type##_t, (type##_t)((uint64_t)l * (uint64_t)r))                                      \
    OPERATE(divided, type, type##_t, divide_##type(l, r))                                                      \
    OPERATE(remainder, type, type##_t, remain_##type(l, r))                                                    \
    OPERATE(fmod, type, type##_t, keep_sign_##type(l, r))                                                      \
    OPERATE(raised, type, type##_t, raise_##type(l, r))                                                        \
    OPERATE(larger, type, type##_t, l > r ? l : r)                                                             \
    OPERATE(smaller, type, type##_t, l < r ? l : r)                                                            \
    OPERATE(and, type, type##_t, (type##_t)(l & r))                                                            \
    OPERATE(or, type, type##_t, (type##_t)(l | r))                                                             \
    OPERATE(xor, type, type##_t, (type##_t)(l ^ r))                                                            \
    static af_pair_function *const arithmetic_##type[AF_ARITHMETIC_COUNT] = {                                  \
        plus_##type,   minus_##type,  times_##type,   divided_##type, remainder_##type, fmod_##type,           \
        raised_##type, larger_##type, smaller_##type, and_##type,     or_##type,        xor_##type};

DEFINE_INTEGER(int8, 1)
DEFINE_INTEGER(int16, 1)
DEFINE_INTEGER(int32, 1)
DEFINE_INTEGER(int64, 1)
DEFINE_INTEGER(uint8, 0)
DEFINE_INTEGER(uint16, 0)
DEFINE_INTEGER(uint32, 0)
DEFINE_INTEGER(uint64, 0)

static inline double remain_double(double l, double r) {
    double rest = fmod(l, r);
    if (rest != 0) return (rest < 0) != (r < 0) ? rest + r : rest;
    return copysign(rest, r);
}

OPERATE(plus, double, double, l + r)
OPERATE(minus, double, double, l - r)
OPERATE(times, double, double, l * r)
OPERATE(divided, double, double, l / r)
OPERATE(remainder, double, double, remain_double(l, r))
OPERATE(fmod, double, double, fmod(l, r))
OPERATE(raised, double, double, pow(l, r))
OPERATE(larger, double, double, l != l || l > r ? l : r)
OPERATE(smaller, double, double, l != l || l < r ? l : r)

static inline float remain_float(float l, float r) { return (float)remain_double(l, r); }
OPERATE(remainder, float, float, remain_float(l, r))
OPERATE(fmod, float, float, fmodf(l, r))

static af_pair_function *const arithmetic_double[AF_ARITHMETIC_COUNT] = {
    plus_double, minus_double,  times_double,  divided_double, remainder_double,
    fmod_double, raised_double, larger_double, smaller_double,
};
static af_pair_function *const arithmetic_float[AF_ARITHMETIC_COUNT] = {
    [AF_REMAINDER] = remainder_float, [AF_FMOD] = fmod_float};

static af_pair_function *find_function(const af_pointwise *p) {
    static af_pair_function *const *const tables[AF_TYPE_COUNT] = {
        [AF_FLOAT] = arithmetic_float,   [AF_DOUBLE] = arithmetic_double, [AF_INT8] = arithmetic_int8,
        [AF_INT16] = arithmetic_int16,   [AF_INT32] = arithmetic_int32,   [AF_INT64] = arithmetic_int64,
        [AF_UINT8] = arithmetic_uint8,   [AF_UINT16] = arithmetic_uint16, [AF_UINT32] = arithmetic_uint32,
        [AF_UINT64] = arithmetic_uint64,
    };
    /* Of truth values the three bitwise operations alone, and what orders them. */
    if (p->type == AF_BOOL) return p->operator >= AF_LARGER ? arithmetic_uint8[p->operator] : NULL;
    return tables[p->type] ? tables[p->type][p->operator] : NULL;
}

int af_knows_arithmetic(const af_pointwise *p) { return find_function(p) != NULL; }

void af_run_arithmetic(const af_call *call, int64_t part, int64_t parts) {
    af_walk_pairs(call, part, parts, find_function(&call->step->pointwise));
}
