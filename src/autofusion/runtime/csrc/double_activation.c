#include "double_activation.h"

#include <math.h>

#include "double_math.h"

typedef vd function(vd x, vd alpha, vd beta);

#define UNUSED __attribute__((unused))

/* A function of single numbers for every lane. */
#define EACH_LANE(name, scalar)                                              \
    AF_INLINE vd name(vd x, UNUSED vd alpha, UNUSED vd beta) {               \
        for (int lane = 0; lane < AF_LANES; lane++) x[lane] = scalar(x[lane]); \
        return x;                                                            \
    }

EACH_LANE(root, sqrt)
EACH_LANE(floor_of, floor)
EACH_LANE(ceiling, ceil)
EACH_LANE(round_to_even, rint)
EACH_LANE(sine, sin)
EACH_LANE(cosine, cos)

AF_INLINE vd identity(vd x, UNUSED vd alpha, UNUSED vd beta) { return x; }

AF_INLINE vd relu(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_at_least(x, splat_double(0)); }

AF_INLINE vd leaky_relu(vd x, vd alpha, UNUSED vd beta) { return pick_double(x < 0.0, alpha * x, x); }

AF_INLINE vd clip(vd x, vd alpha, vd beta) { return double_at_most(double_at_least(x, alpha), beta); }

AF_INLINE vd sigmoid(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_sigmoid(x); }

AF_INLINE vd hyperbolic_tangent(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_tanh(x); }

AF_INLINE vd hard_sigmoid(vd x, vd alpha, vd beta) { return clip(alpha * x + beta, splat_double(0), splat_double(1)); }

AF_INLINE vd hard_swish(vd x, UNUSED vd alpha, UNUSED vd beta) {
    return x * clip(x / 6.0 + 0.5, splat_double(0), splat_double(1));
}

AF_INLINE vd silu(vd x, vd alpha, UNUSED vd beta) { return x * double_sigmoid(alpha * x); }

AF_INLINE vd gelu(vd x, UNUSED vd alpha, UNUSED vd beta) {
    return x * (1.0 + double_erf(x * 0.70710678118654752440)) * 0.5;
}

/* The constant is sqrt(2 / pi). */
AF_INLINE vd gelu_tanh(vd x, UNUSED vd alpha, UNUSED vd beta) {
    return 0.5 * x * (1.0 + double_tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

AF_INLINE vd elu(vd x, vd alpha, UNUSED vd beta) { return pick_double(x < 0.0, alpha * double_expm1(x), x); }

AF_INLINE vd absolute_value(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_absolute(x); }

AF_INLINE vd negation(vd x, UNUSED vd alpha, UNUSED vd beta) { return -x; }

AF_INLINE vd exponential(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_exp(x); }

AF_INLINE vd logarithm(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_log(x); }

AF_INLINE vd reciprocal(vd x, UNUSED vd alpha, UNUSED vd beta) { return 1.0 / x; }

AF_INLINE vd error_function(vd x, UNUSED vd alpha, UNUSED vd beta) { return double_erf(x); }

AF_INLINE vd sign_of(vd x, UNUSED vd alpha, UNUSED vd beta) {
    vd sign = pick_double(x < 0.0, splat_double(-1), pick_double(x == 0.0, splat_double(0), x));
    return pick_double(x > 0.0, splat_double(1), sign);
}

typedef struct span {
    const af_double *x;
    af_double *y;
    int64_t x_pitch, y_pitch, rows, columns;
    double alpha, beta;
} span;

/* Inlined once per function, so that each loop holds its function's own instructions. */
AF_INLINE void each(function *apply, const span *s) {
    vd alpha = splat_double(s->alpha), beta = splat_double(s->beta);
    for (int64_t row = 0; row < s->rows; row++) {
        const af_double *x = s->x + row * s->x_pitch;
        af_double *y = s->y + row * s->y_pitch;
        for (int64_t column = 0; column < s->columns; column += AF_LANES) {
            int64_t rest = s->columns - column;
            if (rest >= AF_LANES)
                store_doubles(y + column, apply(load_doubles(x + column), alpha, beta));
            else
                store_some_doubles(y + column, apply(load_some_doubles(x + column, rest), alpha, beta), rest);
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
    default: break;
    }
}

void af_apply_double(const af_double_activation *activation, const af_double *x, int64_t x_pitch, af_double *y,
                     int64_t y_pitch, int64_t rows, int64_t columns) {
    if (activation->function == AF_IDENTITY && x == y) return;
    span s = {x, y, x_pitch, y_pitch, rows, columns, activation->alpha, activation->beta};
    if (x_pitch == columns && y_pitch == columns) {
        s.rows = 1;
        s.columns = rows * columns;
    }
    apply_function(activation->function, &s);
}
