/* Two-byte floats in memory, widened to float32 while they are read. */
#ifndef AF_HALF_H
#define AF_HALF_H

#include "element.h"
#include "vector.h"

typedef uint16_t vs __attribute__((vector_size(2 * AF_WIDTH)));
typedef uint32_t vu __attribute__((vector_size(4 * AF_WIDTH)));
typedef uint16_t vs_memory __attribute__((vector_size(2 * AF_WIDTH), aligned(2), may_alias));

/* Compilers make more of the conversion than the one instruction that there is. */
#if defined(__x86_64__) && AF_WIDTH == 16
AF_INLINE vu extend(vs bits) { return (vu)_mm512_cvtepu16_epi32((__m256i)bits); }
#elif defined(__x86_64__) && AF_WIDTH == 8 && defined(__AVX2__)
AF_INLINE vu extend(vs bits) { return (vu)_mm256_cvtepu16_epi32((__m128i)bits); }
#else
AF_INLINE vu extend(vs bits) { return __builtin_convertvector(bits, vu); }
#endif

AF_INLINE vf widen_bfloat16s(vs bits) { return (vf)(extend(bits) << 16); }

#if defined(__x86_64__) && AF_WIDTH == 16
AF_INLINE vf widen_float16s(vs bits) { return (vf)_mm512_cvtph_ps((__m256i)bits); }
#elif defined(__x86_64__) && AF_WIDTH == 8 && defined(__F16C__)
AF_INLINE vf widen_float16s(vs bits) { return (vf)_mm256_cvtph_ps((__m128i)bits); }
#else
/* Exponent and fraction in the places of a float32 mean the number over 2^112, subnormal ones included; what then has
   the largest exponent of a float16 is an infinity or NaN. */
AF_INLINE vf widen_float16s(vs bits) {
    vu wide = extend(bits), sign = (wide & 0x8000) << 16;
    vf magnitude = (vf)((wide & 0x7fff) << 13) * 0x1p112f;
    vu endless = (vu)(magnitude >= 0x1p16f) & 0x7f800000;
    return (vf)((vu)magnitude | endless | sign);
}
#endif

/* AF_WIDTH elements of `type`, AF_FLOAT, AF_FLOAT16 or AF_BFLOAT16, from place `at` on. */
AF_INLINE vf load_as(const int type, const void *from, int64_t at) {
    if (type == AF_FLOAT) return load((const float *)from + at);
    vs bits = *(const vs_memory *)((const uint16_t *)from + at);
    return type == AF_FLOAT16 ? widen_float16s(bits) : widen_bfloat16s(bits);
}

/* The first `count` of them, and 0 in the other lanes; no other memory is touched. */
AF_INLINE vf load_some_as(const int type, const void *from, int64_t at, int64_t count) {
    if (type == AF_FLOAT) return load_some((const float *)from + at, count);
    vs bits = {0};
    for (int lane = 0; lane < AF_WIDTH && lane < count; lane++) bits[lane] = ((const af_uint16 *)from)[at + lane];
    return type == AF_FLOAT16 ? widen_float16s(bits) : widen_bfloat16s(bits);
}

/* One element. */
AF_INLINE float load_one_as(int64_t type, const void *from, int64_t at) {
    if (type == AF_FLOAT) return ((const af_float *)from)[at];
    vs bits = {((const af_uint16 *)from)[at]};
    return type == AF_FLOAT16 ? widen_float16s(bits)[0] : widen_bfloat16s(bits)[0];
}

/* float32 rounded to the nearest number of a type, the even one of two, and kept float32; NaN stays NaN. */
AF_INLINE vf round_to_bfloat16(vf x) {
    vu bits = (vu)x, even = bits >> 16 & 1;
    return pick(x == x, (vf)((bits + 0x7fff + even) & 0xffff0000), x);
}

#if defined(__x86_64__) && AF_WIDTH == 16
AF_INLINE vf round_to_float16(vf x) { return (vf)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)x, 0)); }
#elif defined(__x86_64__) && AF_WIDTH == 8 && defined(__F16C__)
AF_INLINE vf round_to_float16(vf x) { return (vf)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)x, 0)); }
#else
/* Of numbers below the smallest normal one, what a sum with 1/2 keeps are multiples of 2^-24. */
AF_INLINE vf round_to_float16(vf x) {
    vu sign = (vu)x & 0x80000000, bits = (vu)x ^ sign, even = bits >> 13 & 1;
    vf size = (vf)bits, small = size + 0.5f - 0.5f, normal = (vf)((bits + 0xfff + even) & ~0x1fff);
    normal = pick(normal >= 0x1p16f, splat(__builtin_inff()), normal);
    return pick(x == x, (vf)((vu)pick(size < 0x1p-14f, small, normal) | sign), x);
}
#endif

/* Whether a type is one of those that `load_as` reads. */
static inline int is_widened(int64_t type) { return type == AF_FLOAT || type == AF_FLOAT16 || type == AF_BFLOAT16; }

#endif
