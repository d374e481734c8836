/* Normalization of one row, which norms, embeddings and products behind a norm share. */
#ifndef AF_ROW_NORM_H
#define AF_ROW_NORM_H

#include "record.h"
#include "vector.h"

/* y = (x - mean) * factor */
typedef struct af_moments {
    float mean, factor;
} af_moments;

/* The sum of the squares of x - mean. */
AF_INLINE float add_squares(const float *x, int64_t count, float mean) {
    vf sums[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * AF_WIDTH <= count; i += 4 * AF_WIDTH)
        for (int v = 0; v < 4; v++) {
            vf distance = load(x + i + v * AF_WIDTH) - mean;
            sums[v] += distance * distance;
        }
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) {
        vf distance = load(x + i) - mean;
        sums[0] += distance * distance;
    }
    float rest = 0;
    for (; i < count; i++) rest += (x[i] - mean) * (x[i] - mean);
    return add_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

AF_INLINE float add_row(const float *x, int64_t count) {
    vf sums[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * AF_WIDTH <= count; i += 4 * AF_WIDTH)
        for (int v = 0; v < 4; v++) sums[v] += load(x + i + v * AF_WIDTH);
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) sums[0] += load(x + i);
    float rest = 0;
    for (; i < count; i++) rest += x[i];
    return add_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

/* What normalizes a row; the identity for AF_NORM_NONE. */
AF_INLINE af_moments measure_row(const float *x, int64_t count, int64_t kind, float epsilon) {
    if (kind == AF_NORM_NONE) return (af_moments){0, 1};
    float mean = kind == AF_NORM_LAYER ? add_row(x, count) / (float)count : 0;
    return (af_moments){mean, 1 / __builtin_sqrtf(add_squares(x, count, mean) / (float)count + epsilon)};
}

/* y = (x - mean) * factor * gamma + beta; a null gamma or beta is absent.  y may be x. */
AF_INLINE void normalize_row(const float *x, float *y, int64_t count, af_moments moments, const float *gamma,
                             const float *beta) {
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) {
        vf value = (load(x + i) - moments.mean) * moments.factor;
        if (gamma) value *= load(gamma + i);
        if (beta) value += load(beta + i);
        store(y + i, value);
    }
    for (; i < count; i++) {
        float value = (x[i] - moments.mean) * moments.factor;
        if (gamma) value *= gamma[i];
        y[i] = beta ? value + beta[i] : value;
    }
}

#endif
