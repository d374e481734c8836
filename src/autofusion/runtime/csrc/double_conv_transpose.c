/* Transposed convolutions of doubles: the classes of transposed.h, one window after the other. */
#include "double.h"
#include "double_tile.h"
#include "transposed.h"
#include "window.h"

/* A window of a class: its pixels in the image, and where its first result lies, which may be outside of the result. */
typedef struct place {
    const af_conv *conv, *opened;
    const af_axis_class *const *at;
    const af_double *x;
    af_reach reaches[3];
    int64_t image, start[3];
} place;

static place find_place(const af_call *call, const af_conv *opened, const af_axis_class *const at[3], int64_t row) {
    const af_conv *conv = &call->step->conv;
    const af_window *w = &opened->window;
    place p = {.conv = conv, .opened = opened, .at = at, .image = row};
    for (int axis = 2; axis >= 0; axis--) {
        int64_t index = p.image % w->y[axis];
        p.image /= w->y[axis];
        p.reaches[axis] = clip_window(w, axis, index, 0, w->x[axis]);
        p.start[axis] = at[axis]->first + index * conv->window.strides[axis];
    }
    p.x = find_doubles(call, AF_X) + p.image * w->x[0] * w->x[1] * w->x[2] * conv->x_pitch;
    return p;
}

/* Add what tap `tap`, at `pixel`, gives to the filters of panel `panel`, counted over all groups. */
static void add_tap(const place *p, const af_double *pixel, int64_t taps, int64_t tap, int64_t panel,
                    const af_double *weights, double sums[AF_PANEL]) {
    const af_conv *conv = p->opened;
    if (is_depthwise(p->conv)) {
        const af_double *factors = weights + (panel * taps + tap) * AF_PANEL;
        int64_t filter = panel * AF_PANEL, count = smaller(conv->filters - filter, AF_PANEL);
        int64_t multiplier = conv->filters / conv->channels;
        for (int64_t lane = 0; lane < count; lane++) sums[lane] += pixel[(filter + lane) / multiplier] * factors[lane];
        return;
    }
    int64_t depth = conv->channels / conv->group, panels = divide_up(conv->filters / conv->group, AF_PANEL);
    const af_double *factors = weights + (panel * taps + tap) * depth * AF_PANEL;
    const af_double *x = pixel + panel / panels * depth;
    for (int64_t channel = 0; channel < depth; channel++, factors += AF_PANEL)
        for (int64_t lane = 0; lane < AF_PANEL; lane++) sums[lane] += x[channel] * factors[lane];
}

static void add_window(const place *p, int64_t panel, const af_double *weights, double sums[AF_PANEL]) {
    const af_window *w = &p->opened->window;
    const af_reach *r = p->reaches;
    int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
    for (int64_t i = r[0].first; i < r[0].last; i++)
        for (int64_t j = r[1].first; j < r[1].last; j++)
            for (int64_t k = r[2].first; k < r[2].last; k++) {
                int64_t plane = r[0].start + i * w->dilations[0], line = r[1].start + j * w->dilations[1];
                int64_t pixel = (plane * w->x[1] + line) * w->x[2] + r[2].start + k * w->dilations[2];
                int64_t tap = (i * w->kernel[1] + j) * w->kernel[2] + k;
                add_tap(p, p->x + pixel * p->conv->x_pitch, taps, tap, panel, weights, sums);
            }
}

/* `count` sums are those of filters from `filter` on of phase `phase` of the class. */
static void finish_phase(const af_call *call, const place *p, int64_t phase, int64_t filter, int64_t count,
                         double *sums) {
    const af_double_epilogue epilogue = make_double_epilogue(call->step, p->conv->activation);
    const af_double *bias = find_doubles(call, AF_BIAS);
    const int64_t *extents = p->conv->window.y;
    int64_t pixel = 0, scale = 1;
    for (int axis = 2; axis >= 0; axis--) {
        int64_t at = p->start[axis] + phase % p->at[axis]->width;
        phase /= p->at[axis]->width;
        if (at < 0 || at >= extents[axis]) return;
        pixel += at * scale;
        scale *= extents[axis];
    }
    const af_double_results results = {
        .bias = bias ? bias + filter : NULL,
        .y = find_doubles(call, AF_RESULT) + (p->image * scale + pixel) * p->conv->y_pitch + filter,
        .y_pitch = p->conv->y_pitch,
        .rows = 1,
        .columns = count,
    };
    af_finish_doubles(&epilogue, sums, &results);
}

static void run_window(const af_call *call, const place *p, const af_double *weights) {
    const af_conv *conv = p->opened;
    int64_t group = is_depthwise(p->conv) ? 1 : conv->group, filters = conv->filters / group;
    int64_t panels = divide_up(filters, AF_PANEL);
    for (int64_t panel = 0; panel < group * panels; panel++) {
        double sums[AF_PANEL] = {0};
        add_window(p, panel, weights, sums);
        int64_t place = panel % panels * AF_PANEL, first = panel / panels * filters + place;
        int64_t columns = smaller(filters - place, AF_PANEL);
        for (int64_t lane = 0; lane < columns;) {
            int64_t filter = (first + lane) % p->conv->filters;
            int64_t count = smaller(p->conv->filters - filter, columns - lane);
            double some[AF_PANEL];
            for (int64_t i = 0; i < AF_PANEL; i++) some[i] = i < count ? sums[lane + i] : 0;
            finish_phase(call, p, (first + lane) / p->conv->filters, filter, count, some);
            lane += count;
        }
    }
}

void af_run_conv_transpose_double(const af_call *call, int64_t part, int64_t parts) {
    const af_conv *conv = &call->step->conv;
    af_classes classes = af_find_classes(conv, find_scratch(call, part));
    const af_double *weights = find_doubles(call, AF_WEIGHT);
    int64_t count = classes.counts[0] * classes.counts[1] * classes.counts[2], depth = conv->channels / conv->group;
    for (int64_t index = 0; index < count; index++) {
        const af_axis_class *at[3];
        af_point_to_class(&classes, index, at);
        af_conv opened = af_open_class(conv, at);
        const af_window *w = &opened.window;
        af_range rows = share(conv->batch * w->y[0] * w->y[1] * w->y[2], 1, part, parts);
        for (int64_t row = rows.first; row < rows.last; row++) {
            place p = find_place(call, &opened, at, row);
            run_window(call, &p, weights);
        }
        int64_t panels = is_depthwise(conv) ? divide_up(conv->filters, AF_PANEL)
                                            : conv->group * divide_up(opened.filters / conv->group, AF_PANEL) * depth;
        weights += w->kernel[0] * w->kernel[1] * w->kernel[2] * panels * AF_PANEL;
    }
}
