/* Comparisons of two tensors of one type. */
#include "pairs.h"

#define COMPARE(name, type, scalar, operation)                                     \
    static void name##_##type(const af_pair *pair) {                               \
        AF_PAIR_LOOPS(pair, type, scalar, uint8, (af_uint8)(l operation r));       \
    }

#define COMPARE_ALL(type, scalar)                 \
    COMPARE(equal, type, scalar, ==)              \
    COMPARE(not_equal, type, scalar, !=)          \
    COMPARE(less, type, scalar, <)                \
    COMPARE(less_or_equal, type, scalar, <=)      \
    COMPARE(greater, type, scalar, >)             \
    COMPARE(greater_or_equal, type, scalar, >=)   \
    static af_pair_function *const compare_##type[AF_COMPARISON_COUNT] = { \
        equal_##type, not_equal_##type, less_##type, less_or_equal_##type, greater_##type, greater_or_equal_##type};

COMPARE_ALL(float, float)
COMPARE_ALL(double, double)
COMPARE_ALL(int8, int8_t)
COMPARE_ALL(int16, int16_t)
COMPARE_ALL(int32, int32_t)
COMPARE_ALL(int64, int64_t)
COMPARE_ALL(uint8, uint8_t)
COMPARE_ALL(uint16, uint16_t)
COMPARE_ALL(uint32, uint32_t)
COMPARE_ALL(uint64, uint64_t)

void af_run_compare(const af_call *call, int64_t part, int64_t parts) {
    static af_pair_function *const *const tables[AF_TYPE_COUNT] = {
        [AF_FLOAT] = compare_float,   [AF_DOUBLE] = compare_double, [AF_INT8] = compare_int8,
        [AF_INT16] = compare_int16,   [AF_INT32] = compare_int32,   [AF_INT64] = compare_int64,
        [AF_UINT8] = compare_uint8,   [AF_UINT16] = compare_uint16, [AF_UINT32] = compare_uint32,
        [AF_UINT64] = compare_uint64, [AF_BOOL] = compare_uint8,
    };
    const af_pointwise *p = &call->step->pointwise;
    af_walk_pairs(call, part, parts, tables[p->type][p->operator]);
}
