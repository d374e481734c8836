/* Normalization of one row of doubles, which norms, embeddings and products behind a norm share. */
#ifndef AF_DOUBLE_ROW_NORM_H
#define AF_DOUBLE_ROW_NORM_H

#include "double_vector.h"
#include "record.h"

/* y = (x - mean) * factor */
typedef struct af_double_moments {
    double mean, factor;
} af_double_moments;

AF_INLINE double add_doubles(const af_double *x, int64_t count) {
    vd sums = {0};
    int64_t i = 0;
    for (; i + AF_LANES <= count; i += AF_LANES) sums += load_doubles(x + i);
    double sum = add_double_lanes(sums);
    for (; i < count; i++) sum += x[i];
    return sum;
}

/* The sum of the squares of x - mean. */
AF_INLINE double add_double_squares(const af_double *x, int64_t count, double mean) {
    vd sums = {0};
    int64_t i = 0;
    for (; i + AF_LANES <= count; i += AF_LANES) {
        vd distance = load_doubles(x + i) - mean;
        sums += distance * distance;
    }
    double sum = add_double_lanes(sums);
    for (; i < count; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

/* What normalizes a row; the identity for AF_NORM_NONE. */
AF_INLINE af_double_moments measure_doubles(const af_double *x, int64_t count, int64_t kind, double epsilon) {
    if (kind == AF_NORM_NONE) return (af_double_moments){0, 1};
    double mean = kind == AF_NORM_LAYER ? add_doubles(x, count) / (double)count : 0;
    return (af_double_moments){mean, 1 / __builtin_sqrt(add_double_squares(x, count, mean) / (double)count + epsilon)};
}

/* y = (x - mean) * factor * gamma + beta; a null gamma or beta is absent.  y may be x. */
AF_INLINE void normalize_doubles(const af_double *x, af_double *y, int64_t count, af_double_moments moments,
                                 const af_double *gamma, const af_double *beta) {
    for (int64_t i = 0; i < count; i++) {
        double value = (x[i] - moments.mean) * moments.factor;
        if (gamma) value *= gamma[i];
        y[i] = beta ? value + beta[i] : value;
    }
}

#endif
