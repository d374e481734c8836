/* Normalization over groups of channels, in images of any layout. */
#include "data.h"
#include "row_norm.h"

enum { FACTORS = 2, SHIFTS = 3 };

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

static af_moments measure_group(const float *x, const lines *l, float epsilon) {
    double sum = 0, squares = 0, count = (double)l->count * (double)l->length;
    for (int64_t line = 0; line < l->count; line++) sum += (double)add_row(x + line * l->x_stride, l->length);
    float mean = (float)(sum / count);
    for (int64_t line = 0; line < l->count; line++)
        squares += (double)add_squares(x + line * l->x_stride, l->length, mean);
    return (af_moments){mean, 1 / __builtin_sqrtf((float)(squares / count) + epsilon)};
}

/* A line of the pixels of one channel, which has one factor and one shift. */
static void scale_line(const float *x, float *y, int64_t count, af_moments moments, float factor, float shift) {
    int64_t i = 0;
    for (; i + AF_WIDTH <= count; i += AF_WIDTH)
        store(y + i, (load(x + i) - moments.mean) * moments.factor * factor + shift);
    for (; i < count; i++) y[i] = (x[i] - moments.mean) * moments.factor * factor + shift;
}

void af_run_group_norm(const af_call *call, int64_t part, int64_t parts) {
    const af_group_norm *n = &call->step->group_norm;
    lines l = find_lines(n);
    af_range units = share(n->batch * n->groups, 1, part, parts);
    for (int64_t unit = units.first; unit < units.last; unit++) {
        int64_t sample = unit / n->groups, channel = unit % n->groups * n->channels;
        const float *x = call->operands[AF_X] + sample * n->x_strides[0] + channel * n->x_strides[1];
        float *y = call->operands[AF_RESULT] + sample * n->y_strides[0] + channel * n->y_strides[1];
        const float *factors = call->operands[FACTORS] + channel, *shifts = call->operands[SHIFTS] + channel;
        af_moments moments = measure_group(x, &l, (float)call->step->alpha);
        for (int64_t line = 0; line < l.count; line++) {
            const float *from = x + line * l.x_stride;
            float *to = y + line * l.y_stride;
            if (l.of_channels)
                normalize_row(from, to, l.length, moments, factors, shifts);
            else
                scale_line(from, to, l.length, moments, factors[line], shifts[line]);
        }
    }
}
