/* Rotary position embedding of doubles: pairs of numbers turned by an angle. */
#include "double.h"

enum { COS = 2, SIN = 3 };

static int64_t find_place(const int64_t at[3], const int64_t strides[4]) {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
}

/* Turn one head of one row, whose places along the first three axes are at `at`. */
static void turn_row(const af_call *call, const int64_t at[3]) {
    const af_rotary *r = &call->step->rotary;
    const af_double *x = find_doubles(call, AF_X) + r->x.offset + find_place(at, r->x.strides);
    const af_double *cosines = find_doubles(call, COS) + find_place(at, r->cos_strides);
    const af_double *sines = find_doubles(call, SIN) + find_place(at, r->sin_strides);
    af_double *y = find_doubles(call, AF_RESULT) + r->y.offset + find_place(at, r->y.strides);
    int64_t x_step = r->x.strides[3], y_step = r->y.strides[3];
    for (int64_t pair = 0; pair < r->width / 2; pair++) {
        /* Numbers i and j are a pair, whose angles stand at a and b. */
        int64_t i = r->interleaved ? 2 * pair : pair, j = r->interleaved ? i + 1 : pair + r->width / 2;
        int64_t a = r->is_half ? pair : i, b = r->is_half ? pair : j;
        double first = x[i * x_step], second = x[j * x_step];
        y[i * y_step] = first * cosines[a * r->cos_strides[3]] - second * sines[a * r->sin_strides[3]];
        y[j * y_step] = second * cosines[b * r->cos_strides[3]] + first * sines[b * r->sin_strides[3]];
    }
    for (int64_t i = r->width; i < r->size; i++) y[i * y_step] = x[i * x_step];
}

void af_run_rotary_double(const af_call *call, int64_t part, int64_t parts) {
    const af_rotary *r = &call->step->rotary;
    af_range units = share(r->batch * r->heads * r->rows, 1, part, parts);
    for (int64_t unit = units.first; unit < units.last; unit++)
        turn_row(call, (const int64_t[]){unit / r->rows / r->heads, unit / r->rows % r->heads, unit % r->rows});
}
