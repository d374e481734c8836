/* Validation of convolutions. */
#include <string.h>

#include "check.h"
#include "data.h"
#include "transposed.h"

/* True for 3x3 windows one pixel apart over all channels of a plane. */
static int allows_winograd(const af_conv *conv) {
    const af_window *w = &conv->window;
    const int64_t kernel[] = {1, 3, 3};
    int is_plane = memcmp(w->kernel, kernel, sizeof kernel) == 0 && w->x[0] == 1 && w->y[0] == 1;
    return is_plane && within(w->strides, 3, 1, 1) && within(w->dilations, 3, 1, 1) && conv->group == 1 &&
           (conv->winograd == 2 || conv->winograd == 4);
}

/* Channels and pitches of a convolution are sane and fit each other; `has_residual` says whether a residual is read. */
static int check_channels(const checker *c, const af_conv *conv, int has_residual) {
    const int64_t extents[] = {conv->batch,   conv->channels, conv->filters,
                               conv->x_pitch, conv->y_pitch,  conv->residual_pitch};
    if (!within(extents, 6, 0, WINDOW_LIMIT) || !within(&conv->group, 1, 1, WINDOW_LIMIT))
        return refuse(c, "an extent is out of range");
    if (conv->channels % conv->group || conv->filters % conv->group)
        return refuse(c, "%lld groups do not divide %lld channels and %lld filters", (long long)conv->group,
                      (long long)conv->channels, (long long)conv->filters);
    if (conv->x_pitch < conv->channels || conv->y_pitch < conv->filters ||
        (has_residual && conv->residual_pitch < conv->filters))
        return refuse(c, "a pitch is less than the number of channels");
    return check_code(c, "activation", conv->activation, AF_ACTIVATION_COUNT);
}

/* Bounds the scratch memory, whose size is computed without care for overflow. */
static int check_taps(const checker *c, const af_conv *conv) {
    int64_t taps = multiply_extents(conv->window.kernel, 3), depth = conv->channels / conv->group;
    if (times(times(taps, depth + 1), AF_ROW_BLOCK * (int64_t)sizeof(float *)) >= ELEMENT_LIMIT)
        return refuse(c, "its window is too large");
    return 0;
}

/* The extents of a convolution are sane and fit each other. */
static int check_geometry(const checker *c, const af_conv *conv, int has_residual) {
    const af_window *w = &conv->window;
    if (check_channels(c, conv, has_residual) || af_check_window(c, w, 0)) return -1;
    if (!are_images_countable(conv->batch, w, conv->x_pitch, conv->y_pitch))
        return refuse(c, "its images are too large");
    if (conv->winograd && !allows_winograd(conv)) return refuse(c, "Winograd's filtering does not suit its window");
    return check_taps(c, conv);
}

static int64_t count_weights(const af_conv *conv) {
    int64_t taps = multiply_extents(conv->window.kernel, 3), depth = conv->channels / conv->group;
    int64_t panels = has_lanes(conv) ? divide_up(conv->filters, AF_PANEL)
                                     : times(conv->group, divide_up(conv->filters / conv->group, AF_PANEL));
    if (conv->winograd) taps = (conv->winograd + 2) * (conv->winograd + 2);
    return times(times(panels, taps), depth * AF_PANEL);
}

/* The weight at `place` is there, in a type that kernels widen. */
static int check_weights(const checker *c, int place, const af_conv *conv) {
    if (!is_readable(c, conv->type)) return refuse(c, "its weight is of type %lld", (long long)conv->type);
    return check_sized(c, place, count_weights(conv), element_size(conv->type));
}

/* A gate is for 1x1 windows over all channels; means are for windows of single channels; narrow groups are of a size
   that divides a panel. */
static int check_excitation(const checker *c, const af_conv *conv) {
    const af_window *w = &conv->window;
    if (!within(&conv->gated, 2, 0, 1) || !within(&conv->narrow, 1, 0, 1))
        return refuse(c, "a flag is neither 0 nor 1");
    int64_t size = conv->channels / conv->group;
    int is_small = size == 2 || size == 4 || size == 8;
    if (conv->narrow && (!is_small || conv->channels != conv->filters || conv->winograd))
        return refuse(c, "its groups are not narrow");
    int is_pointwise = multiply_extents(w->kernel, 3) == 1 && within(w->strides, 3, 1, 1) &&
                       within(w->begins, 3, 0, 0) && within(w->ends, 3, 0, 0) && conv->group == 1;
    if (conv->gated && (!is_pointwise || has_lanes(conv))) return refuse(c, "a gate does not suit its window");
    if (conv->averaged && (!is_depthwise(conv) || conv->winograd)) return refuse(c, "it has no means to give");
    int64_t panels = divide_up(conv->filters, AF_PANEL);
    if (conv->gated && times(times(panels, conv->channels), AF_PANEL * (int64_t)sizeof(float)) >= ELEMENT_LIMIT)
        return refuse(c, "its weight is too large");
    if (conv->averaged && times(times(conv->batch, conv->filters), sizeof(float)) >= ELEMENT_LIMIT)
        return refuse(c, "it has too many means");
    return 0;
}

/* Of the operands from `first` on, gate and means are there where they are said to be, and nothing else. */
static int check_further(const checker *c, int first, const af_conv *gated, const af_conv *averaged) {
    for (int place = first; place < AF_SCRATCH; place++) {
        int has_means = place == AF_FURTHER && averaged->averaged, has_gate = place == AF_GATE && gated->gated;
        int64_t count = has_means ? times(averaged->batch, averaged->filters) : times(gated->batch, gated->channels);
        if (has_means || has_gate ? check_operand(c, place, count) : check_unused(c, place)) return -1;
    }
    return 0;
}

/* Scratch memory of a convolution whose extents are sane. */
static int64_t count_scratch(const checker *c, const af_conv *conv) {
    if (is_double(c)) return af_conv_double_scratch(conv);
    return conv->winograd ? af_winograd_scratch(conv) : af_conv_scratch(conv);
}

int af_check_conv(const checker *c) {
    const af_conv *conv = &c->step->conv;
    const af_window *w = &conv->window;
    if (check_geometry(c, conv, c->step->operands[AF_RESIDUAL].space != AF_NONE) || check_excitation(c, conv) ||
        check_weights(c, AF_WEIGHT, conv))
        return -1;
    if (is_double(c) && (conv->winograd || conv->gated || conv->averaged || conv->narrow))
        return refuse(c, "convolutions of doubles are plain sums alone");
    return check_operand(c, AF_RESULT, span_images(conv->batch, w->y, conv->filters, conv->y_pitch)) ||
           check_operand(c, AF_X, span_images(conv->batch, w->x, conv->channels, conv->x_pitch)) ||
           check_optional(c, AF_BIAS, conv->filters) ||
           check_optional(c, AF_RESIDUAL, span_images(conv->batch, w->y, conv->filters, conv->residual_pitch)) ||
           check_further(c, AF_RESIDUAL + 1, conv, conv) || check_scratch(c, count_scratch(c, conv)) ||
           check_overlap_beside(c, 0, find_beside(c, AF_X, conv->channels, conv->x_pitch, conv->filters, conv->y_pitch) |
                                          find_beside(c, AF_RESIDUAL, conv->filters, conv->residual_pitch,
                                                      conv->filters, conv->y_pitch));
}

/* True for windows over planes. */
static int is_flat(const af_window *w) {
    return w->x[0] == 1 && w->y[0] == 1 && w->kernel[0] == 1 && w->begins[0] == 0 && w->ends[0] == 0;
}

int af_check_conv_depthwise(const checker *c) {
    const af_conv *conv = &c->step->conv_depthwise.conv, *depthwise = &c->step->conv_depthwise.depthwise;
    const af_window *w = &conv->window, *last = &depthwise->window;
    if (check_geometry(c, conv, 0) || check_geometry(c, depthwise, 0) || check_excitation(c, conv) ||
        check_excitation(c, depthwise))
        return -1;
    if (conv->group != 1 || conv->narrow || conv->winograd || conv->gated || conv->averaged || depthwise->winograd ||
        !is_flat(w) || !is_flat(last))
        return refuse(c, "its convolutions are not of planes over all channels and over each");
    if (depthwise->batch != conv->batch || depthwise->channels != conv->filters || !is_depthwise(depthwise) ||
        depthwise->filters != depthwise->channels ||
        memcmp(last->x, w->y, sizeof w->y) != 0)
        return refuse(c, "its convolutions do not fit each other");
    /* Lines of all channels, of which the last ones may fill up a panel. */
    const int64_t inner[] = {w->y[1], w->y[2], conv->filters + 2 * AF_PANEL, sizeof(float)};
    if (!is_countable(inner, 4)) return refuse(c, "its images are too large");
    return check_operand(c, AF_RESULT, span_images(conv->batch, last->y, conv->filters, depthwise->y_pitch)) ||
           check_operand(c, AF_X, span_images(conv->batch, w->x, conv->channels, conv->x_pitch)) ||
           check_weights(c, AF_WEIGHT, conv) || check_optional(c, AF_BIAS, conv->filters) ||
           check_weights(c, AF_DEPTHWISE_WEIGHT, depthwise) ||
           check_optional(c, AF_DEPTHWISE_BIAS, conv->filters) ||
           check_further(c, AF_DEPTHWISE_BIAS + 1, conv, depthwise) ||
           check_scratch(c, af_conv_depthwise_scratch(&c->step->conv_depthwise)) || check_overlap(c, 0);
}

int af_check_conv_pool(const checker *c) {
    const af_conv_pool *both = &c->step->conv_pool;
    const af_conv *conv = &both->conv;
    const af_pool *pool = &both->pool;
    const af_window *w = &conv->window, *last = &pool->window;
    if (check_geometry(c, conv, c->step->operands[AF_RESIDUAL].space != AF_NONE) || af_check_pool(c, pool)) return -1;
    if (!within(&both->is_global, 1, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (has_lanes(conv) || conv->gated || conv->averaged || (both->is_global && conv->group != 1))
        return refuse(c, "its convolution is none that can be pooled");
    if (both->is_global ? !within(last->y, 3, 1, 1) : !is_flat(last))
        return refuse(c, "its pool is neither of planes nor of whole images");
    if (pool->batch != conv->batch || pool->channels != conv->filters || memcmp(last->x, w->y, sizeof w->y) != 0 ||
        conv->y_pitch != conv->filters || pool->x_pitch != conv->filters)
        return refuse(c, "its convolution and its pool do not fit each other");
    return check_operand(c, AF_RESULT, span_images(conv->batch, last->y, conv->filters, pool->y_pitch)) ||
           check_operand(c, AF_X, span_images(conv->batch, w->x, conv->channels, conv->x_pitch)) ||
           check_weights(c, AF_WEIGHT, conv) || check_optional(c, AF_BIAS, conv->filters) ||
           check_optional(c, AF_RESIDUAL, span_images(conv->batch, w->y, conv->filters, conv->residual_pitch)) ||
           check_absent(c, AF_RESIDUAL + 1) || check_scratch(c, af_conv_pool_scratch(both)) || check_overlap(c, 0);
}

/* Of a transposed convolution: the result may have any extents. */
static int check_transposed(const checker *c, const af_conv *conv) {
    const af_window *w = &conv->window;
    if (check_channels(c, conv, 0)) return -1;
    int is_sane = within(w->x, 6, 0, WINDOW_LIMIT) && within(w->kernel, 6, 1, WINDOW_LIMIT) &&
                  within(w->begins, 3, 0, WINDOW_LIMIT) && within(w->dilations, 3, 1, WINDOW_LIMIT);
    if (!is_sane) return refuse(c, "an extent is out of range");
    const int64_t unused[] = {w->ends[0],      w->ends[1],  w->ends[2],     conv->residual_pitch,
                              conv->winograd, conv->gated, conv->averaged, conv->narrow};
    if (!within(unused, 8, 0, 0)) return refuse(c, "it has what no transposed convolution has");
    if (multiply_extents(w->strides, 3) > AF_MOST_PHASES) return refuse(c, "its strides are too large");
    if (times(multiply_extents(w->strides, 3), conv->filters) > WINDOW_LIMIT)
        return refuse(c, "it has too many filters");
    if (!are_images_countable(conv->batch, w, conv->x_pitch, conv->y_pitch))
        return refuse(c, "its images are too large");
    if (!is_readable(c, conv->type)) return refuse(c, "its weight is of type %lld", (long long)conv->type);
    return check_taps(c, conv);
}

static int64_t count_transposed_weights(const af_conv *conv) {
    if (!af_joins_phases(conv)) return count_weights(conv);
    af_axis_class memory[6];
    af_classes classes = af_find_classes(conv, memory);
    int64_t weights = 0;
    for (int64_t index = 0; index < classes.counts[0] * classes.counts[1] * classes.counts[2]; index++) {
        const af_axis_class *at[3];
        af_point_to_class(&classes, index, at);
        af_conv opened = af_open_class(conv, at);
        weights = plus(weights, count_weights(&opened));
    }
    return weights;
}

int af_check_conv_transpose(const checker *c) {
    const af_conv *conv = &c->step->conv;
    const af_window *w = &conv->window;
    return check_transposed(c, conv) ||
           check_operand(c, AF_RESULT, span_images(conv->batch, w->y, conv->filters, conv->y_pitch)) ||
           check_operand(c, AF_X, span_images(conv->batch, w->x, conv->channels, conv->x_pitch)) ||
           check_sized(c, AF_WEIGHT, count_transposed_weights(conv), element_size(conv->type)) ||
           check_optional(c, AF_BIAS, conv->filters) ||
           check_absent(c, AF_BIAS + 1) ||
           check_scratch(c, is_double(c) ? af_classes_bytes(conv) : af_conv_transpose_scratch(conv)) || check_overlap(c, 0);
}
