#include "transposed.h"

int af_joins_phases(const af_conv *conv) {
    const af_window *w = &conv->window;
    int has_gaps = 0, overlaps = 0;
    for (int axis = 0; axis < 3; axis++) {
        has_gaps |= w->dilations[axis] > 1;
        overlaps |= w->kernel[axis] > w->strides[axis];
    }
    int is_better = conv->filters <= AF_JOINED_FILTERS || !overlaps;
    return conv->group == 1 && !is_depthwise(conv) && !has_gaps && is_better;
}

int64_t af_classes_bytes(const af_conv *conv) {
    const int64_t *strides = conv->window.strides;
    return round_to_line((int64_t)sizeof(af_axis_class) * (strides[0] + strides[1] + strides[2]));
}

static int64_t find_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The class of `width` phases from `phase` on: their taps lie one divisor of the stride apart, the last one first. */
static af_axis_class find_class(const af_window *w, int axis, int64_t phase, int64_t width) {
    int64_t stride = w->strides[axis], dilation = w->dilations[axis], kernel = w->kernel[axis];
    int64_t divisor = find_divisor(stride, dilation), tap = 0;
    int64_t most = smaller(kernel, stride / divisor);
    while (tap < most && tap * dilation % stride != phase) tap++;
    int64_t window = divide_up(w->begins[axis] - (phase + width - 1), stride);
    af_axis_class c = {.width = width, .dilation = dilation / divisor};
    if (tap < most) {
        c.taps = divide_up(kernel - tap, stride / divisor);
        c.begin = (tap * dilation - phase) / stride + (c.taps - 1) * c.dilation - window;
    }
    c.first = window * stride + phase - w->begins[axis];
    c.count = c.first < w->y[axis] ? (w->y[axis] - 1 - c.first) / stride + 1 : 0;
    return c;
}

af_classes af_find_classes(const af_conv *conv, void *memory) {
    const af_window *w = &conv->window;
    af_classes classes = {.counts = {0}};
    af_axis_class *c = memory;
    int joins = af_joins_phases(conv);
    for (int axis = 0; axis < 3; axis++) {
        int64_t stride = w->strides[axis], before = 0;
        classes.axes[axis] = c;
        for (int64_t phase = 0; phase < stride; phase += c->width, c++, classes.counts[axis]++) {
            int64_t border = phase < w->kernel[axis] % stride ? w->kernel[axis] % stride : stride;
            *c = find_class(w, axis, phase, joins ? border - phase : 1);
            c->before = before;
            before += c->taps * c->width;
        }
        c = classes.axes[axis] + classes.counts[axis];
    }
    return classes;
}

void af_point_to_class(const af_classes *classes, int64_t index, const af_axis_class *at[3]) {
    for (int axis = 2; axis >= 0; axis--) {
        at[axis] = classes->axes[axis] + index % classes->counts[axis];
        index /= classes->counts[axis];
    }
}

af_conv af_open_class(const af_conv *conv, const af_axis_class *const at[3]) {
    af_conv opened = *conv;
    opened.filters = conv->filters * at[0]->width * at[1]->width * at[2]->width;
    for (int axis = 0; axis < 3; axis++) {
        opened.window.y[axis] = at[axis]->count;
        opened.window.kernel[axis] = at[axis]->taps;
        opened.window.strides[axis] = 1;
        opened.window.begins[axis] = at[axis]->begin;
        opened.window.dilations[axis] = at[axis]->dilation;
    }
    return opened;
}
