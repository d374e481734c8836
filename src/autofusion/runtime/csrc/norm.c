/* LayerNormalization and RMSNormalization of rows, or of the sum of two. */
#include "data.h"
#include "row_norm.h"

enum { GAMMA = 2, BETA = 3, ADDEND = 4 };

/* y = a + b */
static void add_rows(const float *a, const float *b, float *y, int64_t count) {
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH) store(y + i, load(a + i) + load(b + i));
    for (; i < count; i++) y[i] = a[i] + b[i];
}

void af_run_norm(const af_call *call, int64_t part, int64_t parts) {
    const af_norm *norm = &call->step->norm;
    const float *residual = call->operands[ADDEND];
    float *sum = call->operands[AF_FURTHER];
    af_range rows = share(norm->rows, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        int64_t at = row * norm->columns;
        const float *x = call->operands[AF_X] + at;
        float *y = call->operands[AF_RESULT] + at;
        if (residual) {
            float *total = sum ? sum + at : y;
            add_rows(x, residual + at, total, norm->columns);
            x = total;
        } else if (sum) {
            memcpy(sum + at, x, (size_t)norm->columns * sizeof(float));
        }
        af_moments moments = measure_row(x, norm->columns, norm->kind, (float)call->step->alpha);
        normalize_row(x, y, norm->columns, moments, call->operands[GAMMA], call->operands[BETA]);
    }
}
