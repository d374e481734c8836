#include "activation.h"

#include <math.h>

#include "half.h"
#include "vmath.h"

typedef vf function(vf x, vf alpha, vf beta);

#define UNUSED __attribute__((unused))

AF_INLINE vf identity(vf x, UNUSED vf alpha, UNUSED vf beta) { return x; }

AF_INLINE vf relu(vf x, UNUSED vf alpha, UNUSED vf beta) { return at_least(x, splat(0)); }

AF_INLINE vf leaky_relu(vf x, vf alpha, UNUSED vf beta) { return pick(x < 0.0f, alpha * x, x); }

AF_INLINE vf clip(vf x, vf alpha, vf beta) { return at_most(at_least(x, alpha), beta); }

AF_INLINE vf sigmoid(vf x, UNUSED vf alpha, UNUSED vf beta) { return vsigmoid(x); }

AF_INLINE vf hyperbolic_tangent(vf x, UNUSED vf alpha, UNUSED vf beta) { return vtanh(x); }

AF_INLINE vf hard_sigmoid(vf x, vf alpha, vf beta) { return clip(alpha * x + beta, splat(0), splat(1)); }

AF_INLINE vf hard_swish(vf x, UNUSED vf alpha, UNUSED vf beta) {
    return x * clip(x * (1.0f / 6) + 0.5f, splat(0), splat(1));
}

AF_INLINE vf silu(vf x, vf alpha, UNUSED vf beta) { return x * vsigmoid(alpha * x); }

AF_INLINE vf gelu(vf x, UNUSED vf alpha, UNUSED vf beta) { return vgelu(x); }

AF_INLINE vf gelu_tanh(vf x, UNUSED vf alpha, UNUSED vf beta) {
    return x * vsigmoid(1.595769122f * (x + 0.044715f * x * x * x));
}

AF_INLINE vf elu(vf x, vf alpha, UNUSED vf beta) { return pick(x < 0.0f, alpha * vexpm1(x), x); }

AF_INLINE vf absolute_value(vf x, UNUSED vf alpha, UNUSED vf beta) { return absolute(x); }

AF_INLINE vf negation(vf x, UNUSED vf alpha, UNUSED vf beta) { return -x; }

AF_INLINE vf exponential(vf x, UNUSED vf alpha, UNUSED vf beta) { return vexp(x); }

AF_INLINE vf logarithm(vf x, UNUSED vf alpha, UNUSED vf beta) { return vlog(x); }

AF_INLINE vf root(vf x, UNUSED vf alpha, UNUSED vf beta) { return square_root(x); }

AF_INLINE vf reciprocal(vf x, UNUSED vf alpha, UNUSED vf beta) { return 1.0f / x; }

AF_INLINE vf floor_of(vf x, UNUSED vf alpha, UNUSED vf beta) { return round_down(x); }

AF_INLINE vf ceiling(vf x, UNUSED vf alpha, UNUSED vf beta) { return round_up(x); }

AF_INLINE vf error_function(vf x, UNUSED vf alpha, UNUSED vf beta) { return verf(x); }

AF_INLINE vf sine(vf x, UNUSED vf alpha, UNUSED vf beta) {
    for (int lane = 0; lane < AF_WIDTH; lane++) x[lane] = sinf(x[lane]);
    return x;
}

AF_INLINE vf cosine(vf x, UNUSED vf alpha, UNUSED vf beta) {
    for (int lane = 0; lane < AF_WIDTH; lane++) x[lane] = cosf(x[lane]);
    return x;
}

/* The nearest whole number, the even one of two: numbers above 2^23 have no fraction, and the sum has none either. */
AF_INLINE vf round_to_even(vf x, UNUSED vf alpha, UNUSED vf beta) {
    vf large = with_sign(splat(8388608.0f), x);
    return pick(absolute(x) < 8388608.0f, with_sign(x + large - large, x), x);
}

AF_INLINE vf sign_of(vf x, UNUSED vf alpha, UNUSED vf beta) {
    return pick(x > 0.0f, splat(1), pick(x < 0.0f, splat(-1), pick(x == 0.0f, splat(0), x)));
}

AF_INLINE vf to_float16(vf x, UNUSED vf alpha, UNUSED vf beta) { return round_to_float16(x); }

AF_INLINE vf to_bfloat16(vf x, UNUSED vf alpha, UNUSED vf beta) { return round_to_bfloat16(x); }

typedef struct span {
    const float *x;
    float *y;
    int64_t x_pitch, y_pitch, rows, columns;
    float alpha, beta;
} span;

/* Inlined once per function, so that each loop holds its function's own instructions. */
AF_INLINE void each(function *apply, const span *s) {
    vf alpha = splat(s->alpha), beta = splat(s->beta);
    for (int64_t row = 0; row < s->rows; row++) {
        const float *x = s->x + row * s->x_pitch;
        float *y = s->y + row * s->y_pitch;
        int64_t column = 0;
        for (; column + AF_WIDTH <= s->columns; column += AF_WIDTH)
            store(y + column, apply(load(x + column), alpha, beta));
        if (column < s->columns) {
            int64_t rest = s->columns - column;
            store_some(y + column, apply(load_some(x + column, rest), alpha, beta), rest);
        }
    }
}

static void apply_function(int64_t function, const span *s) {
    switch (function) {
    case AF_IDENTITY: each(identity, s); break;
    case AF_RELU: each(relu, s); break;
    case AF_LEAKY_RELU: each(leaky_relu, s); break;
    case AF_CLIP: each(clip, s); break;
    case AF_SIGMOID: each(sigmoid, s); break;
    case AF_TANH: each(hyperbolic_tangent, s); break;
    case AF_HARD_SIGMOID: each(hard_sigmoid, s); break;
    case AF_HARD_SWISH: each(hard_swish, s); break;
    case AF_SILU: each(silu, s); break;
    case AF_GELU: each(gelu, s); break;
    case AF_GELU_TANH: each(gelu_tanh, s); break;
    case AF_ELU: each(elu, s); break;
    case AF_ABS: each(absolute_value, s); break;
    case AF_NEG: each(negation, s); break;
    case AF_EXP: each(exponential, s); break;
    case AF_LOG: each(logarithm, s); break;
    case AF_SQRT: each(root, s); break;
    case AF_RECIPROCAL: each(reciprocal, s); break;
    case AF_FLOOR: each(floor_of, s); break;
    case AF_CEIL: each(ceiling, s); break;
    case AF_ERF: each(error_function, s); break;
    case AF_SIN: each(sine, s); break;
    case AF_COS: each(cosine, s); break;
    case AF_ROUND: each(round_to_even, s); break;
    case AF_SIGN: each(sign_of, s); break;
    case AF_TO_FLOAT16: each(to_float16, s); break;
    case AF_TO_BFLOAT16: each(to_bfloat16, s); break;
    default: break;
    }
}

void af_apply(const af_activation *activation, const float *x, int64_t x_pitch, float *y, int64_t y_pitch,
              int64_t rows, int64_t columns) {
    if (activation->function == AF_IDENTITY && x == y) return;
    span s = {x, y, x_pitch, y_pitch, rows, columns, activation->alpha, activation->beta};
    if (x_pitch == columns && y_pitch == columns) {
        s.rows = 1;
        s.columns = rows * columns;
    }
    apply_function(activation->function, &s);
}
