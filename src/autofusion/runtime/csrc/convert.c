/* Conversion between element types, as numpy's on x86-64: what an integer cannot hold becomes its least number, or
   wraps. */
#include <math.h>

#include "pairs.h"

/* Elements under way at a time, as the widest type of their kind. */
enum { CHUNK = 256 };

typedef union chunk {
    int64_t whole[CHUNK];
    uint64_t natural[CHUNK];
    double real[CHUNK];
} chunk;

enum kind { WHOLE, NATURAL, REAL };

static enum kind find_kind(int64_t type) {
    if (type == AF_UINT64) return NATURAL;
    return type == AF_FLOAT || type == AF_DOUBLE || type == AF_FLOAT16 || type == AF_BFLOAT16 ? REAL : WHOLE;
}

static double widen_bfloat16(uint16_t bits) {
    union { uint32_t bits; float value; } wide = {(uint32_t)bits << 16};
    return wide.value;
}

static double widen_float16(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == 31) return copysign(fraction ? NAN : INFINITY, sign);
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* The nearest number of a format with `digits` binary digits and least exponent `least`, ties to even. */
static double round_to_digits(double x, int digits, int least) {
    int exponent;
    frexp(x, &exponent);
    int place = (exponent < least ? least : exponent) - digits;
    return ldexp(nearbyint(ldexp(x, -place)), place);
}

static uint16_t narrow_float16(double x) {
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (x != x) return sign | 0x7e00;
    double rounded = fabs(x) < 1e6 ? fabs(round_to_digits(x, 11, -13)) : INFINITY;
    if (rounded >= 65536) return sign | 0x7c00;
    if (rounded < 0x1p-14) return sign | (uint16_t)(rounded * 0x1p24);
    int exponent;
    double fraction = frexp(rounded, &exponent);
    return sign | (uint16_t)((exponent + 14) << 10) | ((uint16_t)(fraction * 2048) & 1023);
}

static uint16_t narrow_bfloat16(double x) {
    /* Of a sum with digits below float's the last bit says that something was cut off, so that no tie is made up. */
    union { float value; uint32_t bits; } narrow = {(float)x};
    if (x != x) return (uint16_t)(narrow.bits >> 16) | 0x40;
    return (uint16_t)((narrow.bits + 0x7fff + (narrow.bits >> 16 & 1)) >> 16);
}

#define LOAD(member, type, value)                              \
    for (int64_t i = 0; i < count; i++) {                      \
        af_##type e = ((const af_##type *)from)[i * step];     \
        to->member[i] = value;                                 \
    }                                                          \
    break

static void load_chunk(int64_t type, const void *from, int64_t step, int64_t count, chunk *to) {
    switch (type) {
    case AF_FLOAT: LOAD(real, float, (double)e);
    case AF_DOUBLE: LOAD(real, double, e);
    case AF_FLOAT16: LOAD(real, uint16, widen_float16(e));
    case AF_BFLOAT16: LOAD(real, uint16, widen_bfloat16(e));
    case AF_INT8: LOAD(whole, int8, e);
    case AF_INT16: LOAD(whole, int16, e);
    case AF_INT32: LOAD(whole, int32, e);
    case AF_INT64: LOAD(whole, int64, e);
    case AF_BOOL: LOAD(whole, uint8, e != 0);
    case AF_UINT8: LOAD(whole, uint8, e);
    case AF_UINT16: LOAD(whole, uint16, e);
    case AF_UINT32: LOAD(whole, uint32, e);
    default: LOAD(natural, uint64, e);
    }
}

/* Numbers that `limit` bounds on both sides, cut to integers; others, and NaN, become -limit. */
static void cut_chunk(chunk *c, int64_t count, double limit) {
    for (int64_t i = 0; i < count; i++) {
        double x = c->real[i];
        c->whole[i] = x > -limit - 1 && x < limit ? (int64_t)x : (int64_t)-limit;
    }
}

#define STORE(type, value) \
    for (int64_t i = 0; i < count; i++) ((af_##type *)to)[i * step] = (af_##type)(value); \
    break

static void store_reals(int64_t type, chunk *c, int64_t count, void *to, int64_t step) {
    switch (type) {
    case AF_FLOAT: STORE(float, c->real[i]);
    case AF_DOUBLE: STORE(double, c->real[i]);
    case AF_FLOAT16: STORE(uint16, narrow_float16(c->real[i]));
    default: STORE(uint16, narrow_bfloat16(c->real[i]));
    }
}

static void store_wholes(int64_t type, chunk *c, int64_t count, void *to, int64_t step) {
    switch (type) {
    case AF_BOOL: STORE(uint8, c->whole[i] != 0);
    case AF_INT8: STORE(int8, c->whole[i]);
    case AF_INT16: STORE(int16, c->whole[i]);
    case AF_INT32: STORE(int32, c->whole[i]);
    case AF_INT64: STORE(int64, c->whole[i]);
    case AF_UINT8: STORE(uint8, c->whole[i]);
    case AF_UINT16: STORE(uint16, c->whole[i]);
    case AF_UINT32: STORE(uint32, c->whole[i]);
    default: STORE(uint64, c->whole[i]);
    }
}

static void convert_chunk(int64_t from, int64_t to, chunk *c, int64_t count) {
    enum kind source = find_kind(from), target = find_kind(to);
    if (source == REAL && to == AF_BOOL)
        for (int64_t i = 0; i < count; i++) c->whole[i] = c->real[i] != 0;
    else if (source == REAL && target == NATURAL)
        for (int64_t i = 0; i < count; i++) {
            double x = c->real[i];
            int is_whole = x > -0x1p63 && x < 0x1p63;
            c->natural[i] = is_whole ? (uint64_t)(int64_t)x : x > 0 && x < 0x1p64 ? (uint64_t)x : 1ull << 63;
        }
    else if (source == REAL && target == WHOLE)
        cut_chunk(c, count, to == AF_INT64 || to == AF_UINT32 ? 0x1p63 : 0x1p31);
    else if (source == NATURAL && target == REAL)
        for (int64_t i = 0; i < count; i++) c->real[i] = (double)c->natural[i];
    else if (source == WHOLE && target == REAL)
        for (int64_t i = 0; i < count; i++) c->real[i] = (double)c->whole[i];
}

void af_run_convert(const af_call *call, int64_t part, int64_t parts) {
    const af_pointwise *p = &call->step->pointwise;
    int64_t size = element_size(p->type), y_size = element_size(p->y_type);
    int64_t x_step = p->strides[0][AF_INNER], y_step = p->y_strides[AF_INNER];
    af_range rows, columns;
    share_rows(p->extents, part, parts, &rows, &columns);
    af_walk walk = {.extents = p->extents, .strides = {p->strides[0], p->y_strides}, .operands = 2};
    if (rows.first < rows.last) seek_row(&walk, rows.first);
    for (int64_t row = rows.first; row < rows.last; row++, next_row(&walk)) {
        for (int64_t column = columns.first; column < columns.last; column += CHUNK) {
            chunk under_way;
            int64_t count = smaller(columns.last - column, CHUNK);
            const char *x = (const char *)call->operands[AF_X] + (walk.place[0] + column * x_step) * size;
            char *y = (char *)call->operands[AF_RESULT] + (walk.place[1] + column * y_step) * y_size;
            load_chunk(p->type, x, x_step, count, &under_way);
            convert_chunk(p->type, p->y_type, &under_way, count);
            if (find_kind(p->y_type) == REAL)
                store_reals(p->y_type, &under_way, count, y, y_step);
            else
                store_wholes(p->y_type, &under_way, count, y, y_step);
        }
    }
}
