#include "widen.h"

#include "half.h"

/* Numbers that are widened at a time. */
enum { STEP = 4 * AF_WIDTH };

#define UNROLL _Pragma("GCC unroll 4")

AF_INLINE void widen(const int type, const void *from, float *to, int64_t count) {
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP)
        UNROLL for (int k = 0; k < STEP; k += AF_WIDTH) store(to + i + k, load_as(type, from, i + k));
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) store(to + i, load_as(type, from, i));
    for (; i < count; i++) to[i] = load_one_as(type, from, i);
}

void af_widen(int64_t type, const void *from, float *to, int64_t count) {
    if (type == AF_FLOAT16)
        widen(AF_FLOAT16, from, to, count);
    else
        widen(AF_BFLOAT16, from, to, count);
}
