/* Images of doubles in other extents. */
#include "double.h"
#include "resize.h"

#include <string.h>

static void resize_pixel(const af_resize *r, const af_double *x, af_double *y, const reach axes[3]) {
    if (axes[0].count * axes[1].count * axes[2].count == 1) {
        int64_t cell = (axes[0].cells[0] * r->x[1] + axes[1].cells[0]) * r->x[2] + axes[2].cells[0];
        if (r->channels == 1)
            *y = x[cell * r->x_pitch];
        else
            memcpy(y, x + cell * r->x_pitch, (size_t)r->channels * sizeof(double));
        return;
    }
    int is_begun = 0;
    for (int i = 0; i < axes[0].count; i++)
        for (int j = 0; j < axes[1].count; j++)
            for (int k = 0; k < axes[2].count; k++) {
                double weight = axes[0].weights[i] * axes[1].weights[j] * axes[2].weights[k];
                /* Cells past the border count where their weight is 0 too: of infinite ones the rest is NaN. */
                int64_t cell = (axes[0].cells[i] * r->x[1] + axes[1].cells[j]) * r->x[2] + axes[2].cells[k];
                const af_double *from = x + cell * r->x_pitch;
                for (int64_t c = 0; c < r->channels; c++) y[c] = is_begun ? y[c] + from[c] * weight : from[c] * weight;
                is_begun = 1;
            }
}

void af_run_resize_double(const af_call *call, int64_t part, int64_t parts) {
    const af_resize *r = &call->step->resize;
    const double scales[3] = {call->step->scale, call->step->alpha, call->step->beta};
    double a = call->step->further;
    int64_t x_image = r->x[0] * r->x[1] * r->x[2] * r->x_pitch;
    af_range rows = share(r->channels > 0 ? r->images * r->y[0] * r->y[1] : 0, 1, part, parts);
    for (int64_t first = 0; first < r->y[2]; first += AF_RESIZE_COLUMNS) {
        reach columns[AF_RESIZE_COLUMNS];
        int64_t count = smaller(r->y[2] - first, AF_RESIZE_COLUMNS);
        for (int64_t i = 0; i < count; i++) columns[i] = find_reach(r, 2, first + i, scales[2], a);
        for (int64_t row = rows.first; row < rows.last; row++) {
            int64_t line = row % r->y[1], plane = row / r->y[1] % r->y[0], image = row / r->y[1] / r->y[0];
            reach axes[3] = {find_reach(r, 0, plane, scales[0], a), find_reach(r, 1, line, scales[1], a)};
            const af_double *x = find_doubles(call, AF_X) + image * x_image;
            for (int64_t i = 0; i < count; i++) {
                axes[2] = columns[i];
                resize_pixel(r, x, find_doubles(call, AF_RESULT) + (row * r->y[2] + first + i) * r->y_pitch, axes);
            }
        }
    }
}
