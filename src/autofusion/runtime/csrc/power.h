/* a^b of single numbers, computed in double precision. */
#ifndef AF_POWER_H
#define AF_POWER_H

#include <stdint.h>
#include <string.h>

/* log2 of a positive finite number: its exponent, and the series of atanh for the mantissa in sqrt(1/2)..sqrt(2). */
static inline double binary_logarithm(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits -= 0x3fe6a09e667f3bcd;
    int64_t exponent = bits >> 52;
    bits = (bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd;
    double m;
    memcpy(&m, &bits, sizeof m);
    double s = (m - 1) / (m + 1), square = s * s;
    double p = 1.0 / 15;
    p = p * square + 1.0 / 13;
    p = p * square + 1.0 / 11;
    p = p * square + 1.0 / 9;
    p = p * square + 1.0 / 7;
    p = p * square + 1.0 / 5;
    p = p * square + 1.0 / 3;
    p = p * square + 1;
    return (double)exponent + 2.8853900817779268 * s * p;
}

/* 2^x for |x| <= 200, by the Taylor series of exp for the fraction. */
static inline double binary_exponential(double x) {
    int64_t whole = (int64_t)(x + (x < 0 ? -0.5 : 0.5));
    double r = (x - (double)whole) * 0.69314718055994531;
    double p = 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 1.0 / 2;
    p = p * r + 1;
    p = p * r + 1;
    int64_t bits = (whole + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* The result for a base that is 0 or infinite, or an infinite exponent: 0, 1 or infinity. */
static inline float limit_power(float magnitude, float exponent) {
    if (magnitude == 1) return 1;
    return (magnitude > 1) == (exponent > 0) ? __builtin_inff() : 0.0f;
}

static inline float power(float base, float exponent) {
    if (exponent == 0 || base == 1) return 1;
    if (exponent == 1) return base;
    if (exponent == 2) return base * base;
    if (base != base || exponent != exponent) return base + exponent;
    float magnitude = __builtin_fabsf(base), size = __builtin_fabsf(exponent);
    int is_whole = size >= 16777216.0f || size == (float)(int32_t)size;
    int is_odd = is_whole && size < 16777216.0f && ((int32_t)size & 1);
    if (base < 0 && magnitude < __builtin_inff() && !is_whole) return __builtin_nanf("");
    float result;
    if (magnitude == 0 || magnitude == __builtin_inff() || size == __builtin_inff()) {
        result = limit_power(magnitude, exponent);
    } else {
        double logarithm = binary_logarithm(magnitude) * (double)exponent;
        result = (float)binary_exponential(logarithm > 160 ? 160 : logarithm < -160 ? -160 : logarithm);
    }
    return is_odd ? __builtin_copysignf(result, base) : result;
}

#endif
