/* Images in other extents: every result is a weighted sum of the cells round its place on each axis. */
#include <math.h>
#include <string.h>

#include "call.h"
#include "vector.h"

/* `COLUMNS` results of a row are worked on for all rows of a share. */
enum { TAPS = 4, COLUMNS = 512 };

/* The cells of one axis that a result takes, and their weights. */
typedef struct reach {
    int64_t cells[TAPS];
    float weights[TAPS];
    int count;
} reach;

/* Where result `at` lies on the source axis, whose cells have their centres at 0, 1, 2, ... */
static double find_point(const af_resize *r, int axis, int64_t at, double scale) {
    double source = (double)r->x[axis], target = (double)r->y[axis], cell = (double)at;
    switch (r->coordinates) {
    case AF_ASYMMETRIC: return cell / scale;
    case AF_ALIGN_CORNERS: return target > 1 ? cell * ((source - 1) / (target - 1)) : 0;
    case AF_PYTORCH_HALF_PIXEL: return target > 1 ? (cell + 0.5) / scale - 0.5 : 0;
    case AF_HALF_PIXEL_SYMMETRIC:
        return source / 2 * (1 - target / (source * scale)) + (cell + 0.5) / scale - 0.5;
    default: return (cell + 0.5) / scale - 0.5;
    }
}

static double round_point(int64_t rounding, double point) {
    switch (rounding) {
    case AF_ROUND_FLOOR: return floor(point);
    case AF_ROUND_CEIL: return ceil(point);
    case AF_PREFER_CEIL: return floor(point + 0.5);
    default: return ceil(point - 0.5);
    }
}

static double weigh_cubic(double a, double distance) {
    if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}

static int64_t clamp_cell(double cell, int64_t extent) {
    /* Of a place that is no number it is the first cell. */
    return !(cell > 0) ? 0 : cell < (double)(extent - 1) ? (int64_t)cell : extent - 1;
}

static reach find_reach(const af_resize *r, int axis, int64_t at, double scale, double a) {
    reach found = {.weights = {1}, .count = 1};
    int64_t extent = r->x[axis];
    if (extent == r->y[axis] && scale == 1) {
        found.cells[0] = at;
        return found;
    }
    double point = find_point(r, axis, at, scale);
    if (r->mode == AF_NEAREST) {
        found.cells[0] = clamp_cell(round_point(r->rounding, point), extent);
        return found;
    }
    double first = floor(point) - (r->mode == AF_CUBIC), weights[TAPS], sum = 0;
    found.count = r->mode == AF_CUBIC ? 4 : 2;
    for (int tap = 0; tap < found.count; tap++) {
        double cell = first + tap, distance = fabs(point - cell);
        int is_outside = cell < 0 || cell > (double)(extent - 1);
        weights[tap] = r->mode == AF_LINEAR ? 1 - distance : weigh_cubic(a, distance);
        if (r->mode == AF_CUBIC && r->exclude_outside && is_outside) weights[tap] = 0;
        found.cells[tap] = clamp_cell(cell, extent);
        sum += weights[tap];
    }
    for (int tap = 0; tap < found.count; tap++) found.weights[tap] = (float)(weights[tap] / sum);
    return found;
}

/* y = y * is_begun + x * weight, channel by channel. */
static void add_pixel(const float *x, float *y, int64_t channels, float weight, int is_begun) {
    int64_t i = 0;
    for (; i + AF_WIDTH <= channels; i += AF_WIDTH) {
        vf value = load(x + i) * weight;
        store(y + i, is_begun ? load(y + i) + value : value);
    }
    for (; i < channels; i++) y[i] = is_begun ? y[i] + x[i] * weight : x[i] * weight;
}

static void resize_pixel(const af_resize *r, const float *x, float *y, const reach axes[3]) {
    if (axes[0].count * axes[1].count * axes[2].count == 1) {
        int64_t cell = (axes[0].cells[0] * r->x[1] + axes[1].cells[0]) * r->x[2] + axes[2].cells[0];
        if (r->channels == 1)
            *y = x[cell * r->x_pitch];
        else
            memcpy(y, x + cell * r->x_pitch, (size_t)r->channels * sizeof(float));
        return;
    }
    int is_begun = 0;
    for (int i = 0; i < axes[0].count; i++)
        for (int j = 0; j < axes[1].count; j++)
            for (int k = 0; k < axes[2].count; k++) {
                float weight = axes[0].weights[i] * axes[1].weights[j] * axes[2].weights[k];
                /* Cells past the border count where their weight is 0 too: of infinite ones the rest is NaN. */
                int64_t cell = (axes[0].cells[i] * r->x[1] + axes[1].cells[j]) * r->x[2] + axes[2].cells[k];
                add_pixel(x + cell * r->x_pitch, y, r->channels, weight, is_begun);
                is_begun = 1;
            }
}

void af_run_resize(const af_call *call, int64_t part, int64_t parts) {
    const af_resize *r = &call->step->resize;
    const double scales[3] = {call->step->scale, call->step->alpha, call->step->beta};
    double a = call->step->further;
    int64_t x_image = r->x[0] * r->x[1] * r->x[2] * r->x_pitch;
    af_range rows = share(r->channels > 0 ? r->images * r->y[0] * r->y[1] : 0, 1, part, parts);
    for (int64_t first = 0; first < r->y[2]; first += COLUMNS) {
        reach columns[COLUMNS];
        int64_t count = smaller(r->y[2] - first, COLUMNS);
        for (int64_t i = 0; i < count; i++) columns[i] = find_reach(r, 2, first + i, scales[2], a);
        for (int64_t row = rows.first; row < rows.last; row++) {
            int64_t line = row % r->y[1], plane = row / r->y[1] % r->y[0], image = row / r->y[1] / r->y[0];
            reach axes[3] = {find_reach(r, 0, plane, scales[0], a), find_reach(r, 1, line, scales[1], a)};
            const float *x = call->operands[AF_X] + image * x_image;
            for (int64_t i = 0; i < count; i++) {
                axes[2] = columns[i];
                resize_pixel(r, x, call->operands[AF_RESULT] + (row * r->y[2] + first + i) * r->y_pitch, axes);
            }
        }
    }
}
