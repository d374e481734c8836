/* Elementary functions of doubles, to a few units in the last place; NaN and infinities pass as in scalar arithmetic.

   exp and expm1 are Taylor series on |r| <= ln(2) / 2, log is the series of atanh.  ln 2 comes in two parts, the first
   of 33 bits, so that a whole number of them is exact. */
#ifndef AF_DOUBLE_MATH_H
#define AF_DOUBLE_MATH_H

#include "double_vector.h"

#define AF_LN2_HIGH 0x1.62e42feep-1
#define AF_LN2_LOW 0x1.a39ef35793c76p-33

AF_INLINE vd double_absolute(vd x) { return (vd)((vl)x & INT64_MAX); }

/* The magnitude of x with the sign of y. */
AF_INLINE vd double_with_sign(vd x, vd y) { return (vd)(((vl)x & INT64_MAX) | ((vl)y & INT64_MIN)); }

/* 2^n for n in -1022..1023. */
AF_INLINE vd double_power_of_two(vl n) { return (vd)((n + 1023) << 52); }

/* exp(x) = 2^n * (1 + series). */
typedef struct af_double_power {
    vd series;
    vl n;
} af_double_power;

/* For x in -746..710, or NaN. */
AF_INLINE af_double_power double_split_power(vd x) {
    const vd magic = splat_double(0x1.8p52);
    vd shifted = x * 0x1.71547652b82fep0 + magic, whole = shifted - magic;
    vd r = x - whole * AF_LN2_HIGH - whole * AF_LN2_LOW;
    vd p = splat_double(1.0 / 6227020800);
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    return (af_double_power){r + r * r * p, (vl)shifted - (vl)magic};
}

/* The scale is applied in two steps so that results go under gradually. */
AF_INLINE vd double_exp(vd x) {
    af_double_power power = double_split_power(double_at_most(double_at_least(x, splat_double(-746)), splat_double(710)));
    vl half = power.n >> 1;
    return (1.0 + power.series) * double_power_of_two(half) * double_power_of_two(power.n - half);
}

/* exp(x) - 1 for x up to 40; beyond that what it is there. */
AF_INLINE vd double_expm1(vd x) {
    af_double_power power = double_split_power(double_at_most(double_at_least(x, splat_double(-40)), splat_double(40)));
    vd scale = double_power_of_two(power.n);
    return pick_double(x == 0.0, x, scale * power.series + (scale - 1.0));
}

/* log(x) = e ln 2 + log(m), sqrt(1/2) <= m < sqrt(2), by the series of atanh((m - 1) / (m + 1)). */
AF_INLINE vd double_log(vd x) {
    const int64_t root = 0x3fe6a09e667f3bcd;
    vl tiny = x < 0x1p-1022;
    vl bits = (vl)pick_double(tiny, x * 0x1p54, x) - root;
    vd exponent = __builtin_convertvector((bits >> 52) - (tiny & 54), vd);
    vd m = (vd)((bits & 0x000fffffffffffff) + root);
    vd s = (m - 1.0) / (m + 1.0), square = s * s;
    vd p = splat_double(2.0 / 21);
    p = p * square + 2.0 / 19;
    p = p * square + 2.0 / 17;
    p = p * square + 2.0 / 15;
    p = p * square + 2.0 / 13;
    p = p * square + 2.0 / 11;
    p = p * square + 2.0 / 9;
    p = p * square + 2.0 / 7;
    p = p * square + 2.0 / 5;
    p = p * square + 2.0 / 3;
    vd result = exponent * AF_LN2_HIGH + (2.0 * s + (s * square * p + exponent * AF_LN2_LOW));
    result = pick_double(x < __builtin_inf(), result, x);
    result = pick_double(x == 0.0, splat_double(-__builtin_inf()), result);
    return pick_double(x < 0.0, splat_double(__builtin_nan("")), result);
}

/* tanh(x) = e / (e + 2), e = expm1(2 x). */
AF_INLINE vd double_tanh(vd x) {
    vd e = double_expm1(2.0 * double_absolute(x));
    return double_with_sign(e / (e + 2.0), x);
}

/* 1 / (1 + exp(-x)) without overflow. */
AF_INLINE vd double_sigmoid(vd x) {
    vd small = double_exp(-double_absolute(x));
    return pick_double(x < 0.0, small, splat_double(1)) / (1.0 + small);
}

#define AF_HORNER(count, coefficients, x, total)                                               \
    vd total = splat_double((coefficients)[0]);                                                \
    for (int place = 1; place < (count); place++) total = total * (x) + (coefficients)[place]

/* The rational approximations of W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of
   Computation 23 (1969): of erf(x) / x near zero, of erfc(x) exp(x^2) further out; from 6 on the result rounds to 1. */
AF_INLINE vd double_erf(vd x) {
    static const double near_p[] = {1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
                                    3.77485237685302021e2, 3.20937758913846947e3};
    static const double near_q[] = {1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
                                    2.84423683343917062e3};
    static const double far_p[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
                                   6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
                                   1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
    static const double far_q[] = {1.0,                   1.57449261107098347e1, 1.17693950891312499e2,
                                   5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
                                   4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3};
    vd size = double_absolute(x), square = x * x;
    AF_HORNER(5, near_p, square, near_above);
    AF_HORNER(5, near_q, square, near_below);
    vd middle = double_at_most(double_at_least(size, splat_double(0.46875)), splat_double(6));
    AF_HORNER(9, far_p, middle, far_above);
    AF_HORNER(9, far_q, middle, far_below);
    vd far = 1.0 - double_exp(-middle * middle) * far_above / far_below;
    return pick_double(size <= 0.46875, x * near_above / near_below, double_with_sign(far, x));
}

#endif
