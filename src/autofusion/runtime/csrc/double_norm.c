/* LayerNormalization and RMSNormalization of rows of doubles, or of the sum of two; normalization over groups of
   channels. */
#include "double.h"
#include "double_row_norm.h"

enum { GAMMA = 2, BETA = 3, ADDEND = 4, FACTORS = 2, SHIFTS = 3 };

void af_run_norm_double(const af_call *call, int64_t part, int64_t parts) {
    const af_norm *norm = &call->step->norm;
    af_range rows = share(norm->rows, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        int64_t at = row * norm->columns;
        const af_double *x = find_doubles(call, AF_X) + at, *addend = find_doubles(call, ADDEND);
        af_double *y = find_doubles(call, AF_RESULT) + at, *sum = find_doubles(call, AF_FURTHER);
        if (addend || sum) {
            af_double *total = sum ? sum + at : y;
            for (int64_t i = 0; i < norm->columns; i++) total[i] = addend ? x[i] + addend[at + i] : x[i];
            x = total;
        }
        af_double_moments moments = measure_doubles(x, norm->columns, norm->kind, call->step->alpha);
        normalize_doubles(x, y, norm->columns, moments, find_doubles(call, GAMMA), find_doubles(call, BETA));
    }
}

/* The lines of a group: runs of elements side by side. */
typedef struct lines {
    int64_t count, length, x_stride, y_stride;
    int of_channels; /* a line is the channels of a pixel, else the pixels of a channel */
} lines;

static lines find_lines(const af_group_norm *n) {
    if (n->x_strides[2] == 1 && n->y_strides[2] == 1)
        return (lines){n->channels, n->pixels, n->x_strides[1], n->y_strides[1], 0};
    return (lines){n->pixels, n->channels, n->x_strides[2], n->y_strides[2], 1};
}

static af_double_moments measure_group(const af_double *x, const lines *l, double epsilon) {
    double sum = 0, squares = 0, count = (double)l->count * (double)l->length;
    for (int64_t line = 0; line < l->count; line++) sum += add_doubles(x + line * l->x_stride, l->length);
    double mean = sum / count;
    for (int64_t line = 0; line < l->count; line++)
        squares += add_double_squares(x + line * l->x_stride, l->length, mean);
    return (af_double_moments){mean, 1 / __builtin_sqrt(squares / count + epsilon)};
}

void af_run_group_norm_double(const af_call *call, int64_t part, int64_t parts) {
    const af_group_norm *n = &call->step->group_norm;
    lines l = find_lines(n);
    af_range units = share(n->batch * n->groups, 1, part, parts);
    for (int64_t unit = units.first; unit < units.last; unit++) {
        int64_t sample = unit / n->groups, channel = unit % n->groups * n->channels;
        const af_double *x = find_doubles(call, AF_X) + sample * n->x_strides[0] + channel * n->x_strides[1];
        af_double *y = find_doubles(call, AF_RESULT) + sample * n->y_strides[0] + channel * n->y_strides[1];
        const af_double *factors = find_doubles(call, FACTORS) + channel, *shifts = find_doubles(call, SHIFTS) + channel;
        af_double_moments moments = measure_group(x, &l, call->step->alpha);
        for (int64_t line = 0; line < l.count; line++) {
            const af_double *from = x + line * l.x_stride;
            af_double *to = y + line * l.y_stride;
            if (l.of_channels) {
                normalize_doubles(from, to, l.length, moments, factors, shifts);
                continue;
            }
            for (int64_t i = 0; i < l.length; i++)
                to[i] = (from[i] - moments.mean) * moments.factor * factors[line] + shifts[line];
        }
    }
}
