/* Elementary functions of a vector, to about 1e-7 relative; NaN and infinities pass as in scalar arithmetic.

   The polynomials are minimax fits made for this library on the intervals named beside them. */
#ifndef AF_VMATH_H
#define AF_VMATH_H

#include "vector.h"

AF_INLINE vf absolute(vf x) { return (vf)((vi)x & 0x7fffffff); }

/* The magnitude of x with the sign of y. */
AF_INLINE vf with_sign(vf x, vf y) { return (vf)(((vi)x & 0x7fffffff) | ((vi)y & (int32_t)0x80000000)); }

/* 2^n for n in -126..127. */
AF_INLINE vf power_of_two(vi n) { return (vf)((n + 127) << 23); }

/* x * 2^n for n between -151 and 129, given as a whole number of both types.
   Without an instruction the scale is applied in two steps so that results go under gradually. */
AF_INLINE vf scale_by_power(vf x, vf whole, vi n) {
#if AF_WIDTH == 16
    (void)n;
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)whole);
#else
    (void)whole;
    vi half = n >> 1;
    return x * power_of_two(half) * power_of_two(n - half);
#endif
}

/* exp(x) = 2^n * exp(r), |r| <= ln(2) / 2. */
AF_INLINE vf vexp(vf x) {
    const vf magic = splat(12582912.0f);
    vf bounded = at_most(at_least(x, splat(-104.0f)), splat(89.0f));
    vf shifted = bounded * 1.44269504f + magic;
    vi n = (vi)shifted - (vi)magic;
    vf whole = shifted - magic;
    vf r = bounded - whole * 0.693145752f - whole * 1.42860677e-6f;
    vf p = splat(1.383683560e-03f);
    p = p * r + 8.374824057e-03f;
    p = p * r + 4.166822619e-02f;
    p = p * r + 1.666642007e-01f;
    p = p * r + 4.999999208e-01f;
    p = p * r + 1.000000036f;
    p = p * r + 1.0f;
    return scale_by_power(p, whole, n);
}

/* exp(x) - 1: the Taylor series where exp would cancel. */
AF_INLINE vf vexpm1(vf x) {
    vf p = splat(1.0f / 5040);
    p = p * x + 1.0f / 720;
    p = p * x + 1.0f / 120;
    p = p * x + 1.0f / 24;
    p = p * x + 1.0f / 6;
    p = p * x + 0.5f;
    p = p * x + 1.0f;
    return pick(absolute(x) < 0.35f, x * p, vexp(x) - 1.0f);
}

/* log(x) = e ln 2 + log(m), sqrt(1/2) <= m < sqrt(2), by the series of atanh((m - 1) / (m + 1)). */
AF_INLINE vf vlog(vf x) {
    vf a = absolute(x);
    vi tiny = a < 1.17549435e-38f;
    vf scaled = pick(tiny, a * 8388608.0f, a);
    vi bits = (vi)scaled - 0x3f3504f3;
    vf exponent = __builtin_convertvector((bits >> 23) - (tiny & 23), vf);
    vf m = (vf)((bits & 0x007fffff) + 0x3f3504f3);
    vf s = (m - 1.0f) / (m + 1.0f);
    vf square = s * s;
    vf p = splat(2.0f / 9);
    p = p * square + 2.0f / 7;
    p = p * square + 2.0f / 5;
    p = p * square + 2.0f / 3;
    vf result = exponent * 0.693145752f + (s * 2.0f + (s * square * p + exponent * 1.42860677e-6f));
    result = pick(x < __builtin_inff(), result, x);
    result = pick(x == 0.0f, splat(-__builtin_inff()), result);
    return pick(x < 0.0f, splat(__builtin_nanf("")), result);
}

/* erf(x): x P(x^2) below 1, 1 - exp(Q(|x|)) from there to 4, where float arithmetic reaches 1. */
AF_INLINE vf verf(vf x) {
    vf square = x * x;
    vf p = splat(7.853861288e-05f);
    p = p * square - 8.010193606e-04f;
    p = p * square + 5.188327684e-03f;
    p = p * square - 2.685381193e-02f;
    p = p * square + 1.128358515e-01f;
    p = p * square - 3.761262582e-01f;
    p = p * square + 1.128379166f;
    vf a = at_most(absolute(x), splat(4.0f));
    vf q = splat(-1.157221062e-03f);
    q = q * a + 1.483184659e-02f;
    q = q * a - 8.879972818e-02f;
    q = q * a - 6.542400459e-01f;
    q = q * a - 1.117621278f;
    q = q * a - 2.619169838e-03f;
    return pick(absolute(x) < 1.0f, x * p, with_sign(1.0f - vexp(q), x));
}

/* tanh(x): x P(x^2) below 0.625, else from exp. */
AF_INLINE vf vtanh(vf x) {
    vf square = x * x;
    vf p = splat(-5.659988987e-03f);
    p = p * square + 2.059098831e-02f;
    p = p * square - 5.372106801e-02f;
    p = p * square + 1.333112754e-01f;
    p = p * square - 3.333326053e-01f;
    p = p * square + 1.0f;
    vf a = absolute(x);
    vf large = 1.0f - 2.0f / (vexp(a * 2.0f) + 1.0f);
    return pick(a < 0.625f, x * p, with_sign(large, x));
}

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|), Phi(-a) = 2^Q(a) on 0..6, decreasing from there; relative errors are below 4e-6
   on both sides to 3.  The second factor is bounded for positive x, so that infinity stays. */
AF_INLINE vf vgelu(vf x) {
    vf a = absolute(x);
    vf q = splat(-8.726609053e-07f);
    q = q * a + 1.445652651e-05f;
    q = q * a - 6.057972860e-05f;
    q = q * a - 4.582923139e-04f;
    q = q * a + 7.506489754e-03f;
    q = q * a - 5.281806737e-02f;
    q = q * a - 4.590970278e-01f;
    q = q * a - 1.151119351f;
    q = at_least(q * a - 0.9999997020f, splat(-151.0f));
    vf shifted = q + 12582912.0f, whole = shifted - 12582912.0f, r = q - whole;
    vf p = splat(1.327646896e-03f);
    p = p * r + 9.675541893e-03f;
    p = p * r + 5.550713465e-02f;
    p = p * r + 2.402212024e-01f;
    p = p * r + 6.931469440e-01f;
    p = p * r + 1.000000119f;
    vf tail = scale_by_power(p, whole, (vi)shifted - (vi)splat(12582912.0f));
    return at_least(x, splat(0)) + at_least(-a, at_most(x, splat(-40.0f))) * tail;
}

/* x * 2^n for a normal result; the last bits of `shifted`, `whole` plus 1.5 * 2^23, are n.  Added to the exponent, the
   bits of NaN would make a number of it: x * 0 keeps it. */
AF_INLINE vf shift_exponent(vf x, vf whole, vf shifted) {
#if AF_WIDTH == 16
    (void)shifted;
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)whole);
#else
    (void)whole;
    return (vf)((vi)x + ((vi)shifted << 23)) + x * 0.0f;
#endif
}

/* 1 / (1 + exp(-x)) with both terms of the sum 2^-32 of what they are, so that the second one does not overflow before
   the quotient is 0.  exp(-x) = 2^n * exp(r), |r| <= ln(2) / 2, for x in bounds beyond which nothing changes. */
AF_INLINE vf vsigmoid(vf x) {
    const vf magic = splat(12582912.0f);
    vf bounded = at_most(at_least(x, splat(-110.0f)), splat(64.0f));
    vf shifted = magic - bounded * 1.44269502f, whole = shifted - magic;
    vf r = -bounded - whole * 0.693145752f - whole * 1.42860677e-6f;
    const vf unit = splat(2.3283064365386963e-10f);
    vf p = splat(3.221639339e-13f);
    p = p * r + 1.949915676e-12f;
    p = p * r + 9.701639924e-12f;
    p = p * r + 3.880453312e-11f;
    p = p * r + 1.164153034e-10f;
    p = p * r + 2.328306520e-10f;
    p = p * r + unit;
    return unit / (shift_exponent(p, whole, shifted) + unit);
}

#endif
