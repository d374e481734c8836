/* Rows of the left matrix in the order in which the micro-kernel reads them. */
#include "product.h"
#include "row_norm.h"

typedef float quad __attribute__((vector_size(16)));
typedef float quad_memory __attribute__((vector_size(16), aligned(4), may_alias));

AF_INLINE quad load_quad(const float *from) { return *(const quad_memory *)from; }
AF_INLINE void store_quad(float *to, quad x) { *(quad_memory *)to = x; }

AF_INLINE quad scale_quad(quad x, const af_moments *moments, const float *gamma, const float *beta, int64_t column) {
    if (moments) x = (x - moments->mean) * moments->factor;
    if (gamma) x *= load_quad(gamma + column);
    return beta ? x + load_quad(beta + column) : x;
}

AF_INLINE float scale_one(float x, const af_moments *moments, const float *gamma, const float *beta, int64_t column) {
    if (moments) x = (x - moments->mean) * moments->factor;
    if (gamma) x *= gamma[column];
    return beta ? x + beta[column] : x;
}

/* Four columns of four rows, exchanged; packed rows are `pitch` floats apart. */
AF_INLINE void exchange_four(const quad x[4], float *to, int64_t pitch) {
    quad low_01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5), high_01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    quad low_23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5), high_23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    store_quad(to, __builtin_shufflevector(low_01, low_23, 0, 1, 4, 5));
    store_quad(to + pitch, __builtin_shufflevector(low_01, low_23, 2, 3, 6, 7));
    store_quad(to + 2 * pitch, __builtin_shufflevector(high_01, high_23, 0, 1, 4, 5));
    store_quad(to + 3 * pitch, __builtin_shufflevector(high_01, high_23, 2, 3, 6, 7));
}

AF_INLINE void pack(const float *a, int64_t pitch, int64_t rows, af_range depth, const af_moments *moments,
                    const float *gamma, const float *beta, float *packed) {
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
        int64_t column = depth.first;
        float *to = packed + row;
        for (; column + 4 <= depth.last; column += 4, to += 4 * rows) {
            quad x[4];
            for (int i = 0; i < 4; i++)
                x[i] = scale_quad(load_quad(a + (row + i) * pitch + column), moments ? moments + row + i : NULL, gamma,
                                  beta, column);
            exchange_four(x, to, rows);
        }
        for (; column < depth.last; column++, to += rows)
            for (int i = 0; i < 4; i++)
                to[i] = scale_one(a[(row + i) * pitch + column], moments ? moments + row + i : NULL, gamma, beta, column);
    }
    for (; row < rows; row++)
        for (int64_t column = depth.first; column < depth.last; column++)
            packed[(column - depth.first) * rows + row] =
                scale_one(a[row * pitch + column], moments ? moments + row : NULL, gamma, beta, column);
}

void af_pack_rows(const float *a, int64_t pitch, int64_t rows, af_range depth, const af_moments *moments,
                  const float *gamma, const float *beta, float *packed) {
    if (moments)
        pack(a, pitch, rows, depth, moments, gamma, beta, packed);
    else
        pack(a, pitch, rows, depth, NULL, NULL, NULL, packed);
}
