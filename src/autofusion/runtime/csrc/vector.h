/* The vector type of the instruction set that this file is compiled for, and what C lacks for it. */
#ifndef AF_VECTOR_H
#define AF_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define AF_WIDTH 16
#elif defined(__AVX__)
#define AF_WIDTH 8
#else
#define AF_WIDTH 4
#endif

#define AF_INLINE static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(4 * AF_WIDTH)));
typedef int32_t vi __attribute__((vector_size(4 * AF_WIDTH)));

/* Memory is aligned to single elements only. */
typedef float vf_memory __attribute__((vector_size(4 * AF_WIDTH), aligned(4), may_alias));

AF_INLINE vf load(const float *from) { return *(const vf_memory *)from; }

AF_INLINE void store(float *to, vf x) { *(vf_memory *)to = x; }

AF_INLINE vf splat(float x) { return x - (vf){0}; }

/* x in a register: the compiler does not read it from memory again for each of its uses. */
#if defined(__x86_64__)
AF_INLINE vf keep(vf x) {
    __asm__("" : "+v"(x));
    return x;
}
#else
AF_INLINE vf keep(vf x) {
    __asm__("" : "+w"(x));
    return x;
}
#endif

/* load_some: the first `count` lanes, the others 0; store_some: those lanes alone.  No other memory is touched.
   A sanitizer does not look into instructions that take a mask, but into loops. */
#if defined(__SANITIZE_ADDRESS__)
AF_INLINE vf load_some(const float *from, int64_t count) {
    vf x = {0};
    for (int lane = 0; lane < AF_WIDTH && lane < count; lane++) x[lane] = from[lane];
    return x;
}
AF_INLINE void store_some(float *to, vf x, int64_t count) {
    for (int lane = 0; lane < AF_WIDTH && lane < count; lane++) to[lane] = x[lane];
}
#elif AF_WIDTH == 16
AF_INLINE vf load_some(const float *from, int64_t count) {
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
}
AF_INLINE void store_some(float *to, vf x, int64_t count) {
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)x);
}
#elif AF_WIDTH == 8
AF_INLINE __m256i first_lanes(int64_t count) {
    const vi lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    return (__m256i)(lanes < (int32_t)count);
}
AF_INLINE vf load_some(const float *from, int64_t count) { return (vf)_mm256_maskload_ps(from, first_lanes(count)); }
AF_INLINE void store_some(float *to, vf x, int64_t count) {
    _mm256_maskstore_ps(to, first_lanes(count), (__m256)x);
}
#else
AF_INLINE vf load_some(const float *from, int64_t count) {
    vf x = {0};
    if (count > 0) x[0] = from[0];
    if (count > 1) x[1] = from[1];
    if (count > 2) x[2] = from[2];
    if (count > 3) x[3] = from[3];
    return x;
}
AF_INLINE void store_some(float *to, vf x, int64_t count) {
    if (count > 0) to[0] = x[0];
    if (count > 1) to[1] = x[1];
    if (count > 2) to[2] = x[2];
    if (count > 3) to[3] = x[3];
}
#endif

/* Lane i is lane lanes[i] of x. */
#if AF_WIDTH == 16
AF_INLINE vf choose_lanes(vf x, vi lanes) { return (vf)_mm512_permutexvar_ps((__m512i)lanes, (__m512)x); }
#elif AF_WIDTH == 8
AF_INLINE vf choose_lanes(vf x, vi lanes) { return (vf)_mm256_permutevar8x32_ps((__m256)x, (__m256i)lanes); }
#else
/* Four bytes of each lane. */
AF_INLINE vi find_bytes(vi lanes) { return lanes * 0x04040404 + 0x03020100; }
#if defined(__x86_64__)
AF_INLINE vf choose_lanes(vf x, vi lanes) { return (vf)_mm_shuffle_epi8((__m128i)x, (__m128i)find_bytes(lanes)); }
#else
AF_INLINE vf choose_lanes(vf x, vi lanes) { return (vf)vqtbl1q_u8((uint8x16_t)x, (uint8x16_t)find_bytes(lanes)); }
#endif
#endif

AF_INLINE void copy_floats(float *to, const float *from, int64_t count) {
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) store(to + i, load(from + i));
    if (i < count) store_some(to + i, load_some(from + i, count - i), count - i);
}

/* x where the mask is -1, y where it is 0. */
AF_INLINE vf pick(vi mask, vf x, vf y) { return (vf)((mask & (vi)x) | (~mask & (vi)y)); }

/* at_least, at_most: the larger (smaller) of x and bound; x where x is NaN. */
#if defined(__x86_64__)
#if AF_WIDTH == 16
#define AF_REGISTER __m512
#define AF_NATIVE(operation) _mm512_##operation##_ps
#elif AF_WIDTH == 8
#define AF_REGISTER __m256
#define AF_NATIVE(operation) _mm256_##operation##_ps
#else
#define AF_REGISTER __m128
#define AF_NATIVE(operation) _mm_##operation##_ps
#endif
AF_INLINE vf at_least(vf x, vf bound) { return (vf)AF_NATIVE(max)((AF_REGISTER)bound, (AF_REGISTER)x); }
AF_INLINE vf at_most(vf x, vf bound) { return (vf)AF_NATIVE(min)((AF_REGISTER)bound, (AF_REGISTER)x); }
AF_INLINE vf square_root(vf x) { return (vf)AF_NATIVE(sqrt)((AF_REGISTER)x); }
AF_INLINE vf round_down(vf x) { return (vf)AF_NATIVE(floor)((AF_REGISTER)x); }
AF_INLINE vf round_up(vf x) { return (vf)AF_NATIVE(ceil)((AF_REGISTER)x); }
#elif defined(__aarch64__)
AF_INLINE vf at_least(vf x, vf bound) { return (vf)vmaxq_f32((float32x4_t)bound, (float32x4_t)x); }
AF_INLINE vf at_most(vf x, vf bound) { return (vf)vminq_f32((float32x4_t)bound, (float32x4_t)x); }
AF_INLINE vf square_root(vf x) { return (vf)vsqrtq_f32((float32x4_t)x); }
AF_INLINE vf round_down(vf x) { return (vf)vrndmq_f32((float32x4_t)x); }
AF_INLINE vf round_up(vf x) { return (vf)vrndpq_f32((float32x4_t)x); }
#else
#error "kernels exist for x86-64 and aarch64"
#endif

/* The larger (smaller) of the two; NaN where either is NaN. */
AF_INLINE vf maximum(vf x, vf y) { return pick(y != y, y, at_least(x, y)); }
AF_INLINE vf minimum(vf x, vf y) { return pick(y != y, y, at_most(x, y)); }

/* Lanes moved round by half of them, by a quarter, and so on: after each, a sum or maximum of pairs. */
#if AF_WIDTH == 16
#define AF_TURN_8(x) __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define AF_TURN_4(x) __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define AF_TURN_2(x) __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define AF_TURN_1(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#elif AF_WIDTH == 8
#define AF_TURN_4(x) __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3)
#define AF_TURN_2(x) __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5)
#define AF_TURN_1(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
#else
#define AF_TURN_2(x) __builtin_shufflevector(x, x, 2, 3, 0, 1)
#define AF_TURN_1(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#endif

/* The sum of all lanes. */
AF_INLINE float add_lanes(vf x) {
#if AF_WIDTH == 16
    x += AF_TURN_8(x);
#endif
#if AF_WIDTH >= 8
    x += AF_TURN_4(x);
#endif
    x += AF_TURN_2(x);
    x += AF_TURN_1(x);
    return x[0];
}

/* The largest lane; NaN where any is NaN. */
AF_INLINE float find_largest_lane(vf x) {
#if AF_WIDTH == 16
    x = maximum(x, AF_TURN_8(x));
#endif
#if AF_WIDTH >= 8
    x = maximum(x, AF_TURN_4(x));
#endif
    x = maximum(x, AF_TURN_2(x));
    x = maximum(x, AF_TURN_1(x));
    return x[0];
}

#endif
