/* What the checks of records share: bounds that do not overflow, and operands against their memory. */
#ifndef AF_CHECK_H
#define AF_CHECK_H

#include <stdarg.h>
#include <stdio.h>

#include "call.h"
#include "double.h"
#include "half.h"

/* Extents of windows are below this, so that no place in an image overflows. */
#define WINDOW_LIMIT ((int64_t)1 << 31)

/* Any count of elements is below this, so that no offset in bytes overflows. */
#define ELEMENT_LIMIT ((int64_t)1 << 60)

typedef struct af_checker {
    const af_context *context;
    const af_step *step;
    int64_t index;
    char *message;
    size_t size;
} checker;

static inline int refuse(const checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline int refuse(const checker *c, const char *format, ...) {
    char reason[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    snprintf(c->message, c->size, "step %lld: %s", (long long)c->index, reason);
    return -1;
}

/* Sums and products of numbers that are not negative, ELEMENT_LIMIT where they would be more. */
static inline int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > ELEMENT_LIMIT ? ELEMENT_LIMIT : product;
}

static inline int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > ELEMENT_LIMIT ? ELEMENT_LIMIT : sum;
}

/* True where all `count` numbers are in low..high. */
static inline int within(const int64_t *numbers, int count, int64_t low, int64_t high) {
    for (int i = 0; i < count; i++)
        if (numbers[i] < low || numbers[i] > high) return 0;
    return 1;
}

/* Elements from the first to the last of `rows` rows of `columns`. */
static inline int64_t span_rows(int64_t rows, int64_t columns, int64_t pitch) {
    if (rows == 0 || columns == 0) return 0;
    return plus(times(rows - 1, pitch), columns);
}

/* Elements from the first to the last that `axes` axes reach. */
static inline int64_t span_axes(const int64_t *extents, const int64_t *strides, int axes, int64_t innermost) {
    int64_t span = innermost;
    for (int axis = 0; axis < axes; axis++) {
        if (extents[axis] == 0) return 0;
        span = plus(span, times(extents[axis] - 1, strides[axis]));
    }
    return span;
}

static inline int64_t multiply_extents(const int64_t *extents, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; i++) product = times(product, extents[i]);
    return product;
}

/* True where the kernels can count the elements: even those that are left where an extent of 0 counts as 1. */
static inline int is_countable(const int64_t *extents, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; i++) product = times(product, extents[i] ? extents[i] : 1);
    return product < ELEMENT_LIMIT;
}

/* Whether elements of a result may share a place: they do not where each stride, from the smallest up, leaves all that
   the axes before it reach behind.  Strides say nothing where there are no elements. */
static inline int repeats_places(const int64_t *extents, const int64_t *strides, int count) {
    int order[AF_AXES], axes = 0;
    for (int axis = 0; axis < count; axis++) {
        if (extents[axis] == 0) return 0;
        if (extents[axis] == 1) continue;
        int at = axes++;
        for (; at > 0 && strides[order[at - 1]] > strides[axis]; at--) order[at] = order[at - 1];
        order[at] = axis;
    }
    int64_t reach = 0;
    for (int at = 0; at < axes; at++) {
        int64_t stride = strides[order[at]];
        if (stride <= reach) return 1;
        reach = plus(reach, times(extents[order[at]] - 1, stride));
    }
    return 0;
}

/* Elements that `pixels` pixels of up to three axes span in every image. */
static inline int64_t span_images(int64_t batch, const int64_t pixels[3], int64_t channels, int64_t pitch) {
    return span_rows(times(batch, multiply_extents(pixels, 3)), channels, pitch);
}

static inline int are_images_countable(int64_t batch, const af_window *w, int64_t x_pitch, int64_t y_pitch) {
    const int64_t x[] = {batch, w->x[0], w->x[1], w->x[2], x_pitch};
    const int64_t y[] = {batch, w->y[0], w->y[1], w->y[2], y_pitch};
    return is_countable(x, 5) && is_countable(y, 5);
}

static inline int check_space(const checker *c, int place) {
    const af_operand *operand = &c->step->operands[place];
    const af_context *context = c->context;
    int64_t extent, offset = operand->offset, bytes = operand->bytes;
    switch (operand->space) {
    case AF_NONE: return 0;
    case AF_ARENA: extent = context->arena_bytes; break;
    case AF_WEIGHTS: extent = context->weights_bytes; break;
    case AF_BINDING:
        if (operand->slot < 0 || operand->slot >= context->binding_count)
            return refuse(c, "operand %d names binding %d of %lld", place, operand->slot,
                          (long long)context->binding_count);
        extent = context->bindings[operand->slot].bytes;
        break;
    default: return refuse(c, "operand %d lies in space %d", place, operand->space);
    }
    if (offset < 0 || bytes < 0 || offset > extent || bytes > extent - offset)
        return refuse(c, "operand %d takes %lld bytes from byte %lld of %lld", place, (long long)bytes,
                      (long long)offset, (long long)extent);
    if (place != AF_RESULT && place < AF_FURTHER) return 0;
    int writable = operand->space == AF_ARENA ||
                   (operand->space == AF_BINDING && context->bindings[operand->slot].writable);
    return writable ? 0 : refuse(c, "operand %d is written but lies in memory that is only read", place);
}

/* Operand `place` exists and holds `elements` of `size` bytes, at an address that is a multiple of it or of 4. */
static inline int check_sized(const checker *c, int place, int64_t elements, int64_t size) {
    const af_operand *operand = &c->step->operands[place];
    if (operand->space == AF_NONE) return refuse(c, "operand %d is absent", place);
    if (operand->offset % smaller(size, 4)) return refuse(c, "operand %d is not aligned", place);
    if (elements > operand->bytes / size)
        return refuse(c, "operand %d has %lld bytes, too few for %lld elements", place, (long long)operand->bytes,
                      (long long)elements);
    return 0;
}

/* Bytes of a floating element of the step. */
static inline int64_t floating_size(const checker *c) { return element_size(c->step->type); }

static inline int is_double(const checker *c) { return c->step->type == AF_DOUBLE; }

/* Whether the step reads weights of `type`: floats, or what is widened to them; doubles where it computes with such. */
static inline int is_readable(const checker *c, int64_t type) {
    return is_double(c) ? type == AF_DOUBLE : is_widened(type);
}

/* Operand `place` exists and holds `elements` floating numbers of the step's type. */
static inline int check_operand(const checker *c, int place, int64_t elements) {
    return check_sized(c, place, elements, floating_size(c));
}

static inline int check_optional(const checker *c, int place, int64_t elements) {
    return c->step->operands[place].space == AF_NONE ? 0 : check_operand(c, place, elements);
}

static inline int check_unused(const checker *c, int place) {
    return c->step->operands[place].space == AF_NONE ? 0 : refuse(c, "operand %d has no use", place);
}

static inline int check_absent(const checker *c, int first) {
    for (int place = first; place < AF_SCRATCH; place++)
        if (check_unused(c, place)) return -1;
    return 0;
}

static inline int check_scratch(const checker *c, int64_t bytes) {
    const af_operand *scratch = &c->step->operands[AF_SCRATCH];
    if (bytes == 0) return 0;
    if (scratch->space != AF_ARENA || scratch->offset % 64) return refuse(c, "its scratch memory is not in the arena");
    if (scratch->bytes / c->context->threads / 64 * 64 < bytes)
        return refuse(c, "its scratch memory has %lld bytes, too few for %lld threads", (long long)scratch->bytes,
                      (long long)c->context->threads);
    return 0;
}

static inline int overlap(const af_operand *a, const af_operand *b) {
    if (a->space == AF_NONE || a->space != b->space || (a->space == AF_BINDING && a->slot != b->slot)) return 0;
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The bit of operand `place` where its rows of `columns` numbers and those of the result, of `y_columns`, lie beside each
   other in rows of `pitch` numbers: other channels of the same images. */
static inline int find_beside(const checker *c, int place, int64_t columns, int64_t pitch, int64_t y_columns,
                              int64_t y_pitch) {
    int64_t bytes = c->step->operands[place].offset - c->step->operands[AF_RESULT].offset;
    int64_t size = floating_size(c);
    if (pitch != y_pitch || pitch < 1 || bytes % size) return 0;
    int64_t first = bytes / size % pitch;
    if (first < 0) first += pitch;
    return (first >= y_columns && columns <= pitch - first) << place;
}

/* The same for elements that both are walked by `axes` axes, the innermost one last. */
static inline int find_beside_axes(const checker *c, int place, const int64_t *extents, const int64_t *strides,
                                   const int64_t *y_strides, int axes) {
    int64_t pitch = 0, columns = 1;
    for (int axis = axes - 1; axis >= 0; axis--) {
        if (extents[axis] <= 1) continue;
        if (strides[axis] != y_strides[axis]) return 0;
        int is_row = axis == axes - 1 && strides[axis] == 1;
        if (is_row) columns = extents[axis];
        for (int64_t a = strides[axis]; !is_row && a != 0;) {
            int64_t rest = pitch % a;
            pitch = a;
            a = rest;
        }
    }
    return find_beside(c, place, columns, pitch, columns, pitch);
}

/* Results and scratch memory share no bytes with anything else, but operands whose bit is set in `in_place` may lie
   exactly where the first result does, and those whose bit is set in `beside` between its rows. */
static inline int check_overlap_beside(const checker *c, int in_place, int beside) {
    const af_operand *operands = c->step->operands;
    for (int place = AF_X; place < AF_SCRATCH; place++) {
        int is_same = (in_place >> place & 1) && operands[place].offset == operands[AF_RESULT].offset;
        int is_apart = is_same || (beside >> place & 1);
        if (!is_apart && overlap(&operands[place], &operands[AF_RESULT]))
            return refuse(c, "operand %d overlaps the result", place);
        if (overlap(&operands[place], &operands[AF_SCRATCH]))
            return refuse(c, "operand %d overlaps scratch memory", place);
        for (int further = AF_FURTHER; further < AF_SCRATCH; further++)
            if (place != further && overlap(&operands[place], &operands[further]))
                return refuse(c, "operand %d overlaps result %d", place, further);
    }
    return overlap(&operands[AF_RESULT], &operands[AF_SCRATCH]) ? refuse(c, "the result overlaps scratch memory") : 0;
}

static inline int check_overlap(const checker *c, int in_place) { return check_overlap_beside(c, in_place, 0); }

/* Of a window: extents are sane, and an axis has as many results as windows fit into the padded image, or, in
   `ceil_mode`, one more that reaches past it. */
int af_check_window(const checker *c, const af_window *w, int ceil_mode);

int af_check_conv(const checker *c);
int af_check_pool(const checker *c, const af_pool *pool);

static inline int check_code(const checker *c, const char *what, int64_t code, int64_t count) {
    return code >= 0 && code < count ? 0 : refuse(c, "%s %lld is not known", what, (long long)code);
}

#endif
