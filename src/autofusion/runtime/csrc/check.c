/* Validation of records.  They come from files that nobody vouches for: after af_check no kernel reads or writes
   outside the operands of its record, and no operand lies outside its space. */
#include <stdarg.h>
#include <stdio.h>

#include "call.h"

/* Extents of windows are below this, so that no place in an image overflows. */
#define WINDOW_LIMIT ((int64_t)1 << 31)

/* Any count of elements is below this, so that no offset in bytes overflows. */
#define ELEMENT_LIMIT ((int64_t)1 << 60)

typedef struct checker {
    const af_context *context;
    const af_step *step;
    int64_t index;
    char *message;
    size_t size;
} checker;

static int refuse(const checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const checker *c, const char *format, ...) {
    char reason[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    snprintf(c->message, c->size, "step %lld: %s", (long long)c->index, reason);
    return -1;
}

/* Sums and products of numbers that are not negative, ELEMENT_LIMIT where they would be more. */
static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > ELEMENT_LIMIT ? ELEMENT_LIMIT : product;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > ELEMENT_LIMIT ? ELEMENT_LIMIT : sum;
}

/* True where all `count` numbers are in low..high. */
static int within(const int64_t *numbers, int count, int64_t low, int64_t high) {
    for (int i = 0; i < count; i++)
        if (numbers[i] < low || numbers[i] > high) return 0;
    return 1;
}

/* Elements from the first to the last of `rows` rows of `columns`. */
static int64_t span_rows(int64_t rows, int64_t columns, int64_t pitch) {
    if (rows == 0 || columns == 0) return 0;
    return plus(times(rows - 1, pitch), columns);
}

/* Elements from the first to the last that `axes` axes reach. */
static int64_t span_axes(const int64_t *extents, const int64_t *strides, int axes, int64_t innermost) {
    int64_t span = innermost;
    for (int axis = 0; axis < axes; axis++) {
        if (extents[axis] == 0) return 0;
        span = plus(span, times(extents[axis] - 1, strides[axis]));
    }
    return span;
}

static int64_t multiply_extents(const int64_t *extents, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; i++) product = times(product, extents[i]);
    return product;
}

/* True where the kernels can count the elements: even those that are left where an extent of 0 counts as 1. */
static int is_countable(const int64_t *extents, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; i++) product = times(product, extents[i] ? extents[i] : 1);
    return product < ELEMENT_LIMIT;
}

/* Whether two elements of a result share a place; strides say nothing where there are no elements. */
static int repeats_places(const int64_t *extents, const int64_t *strides, int count) {
    int repeats = 0;
    for (int i = 0; i < count; i++) {
        if (extents[i] == 0) return 0;
        repeats |= extents[i] > 1 && strides[i] == 0;
    }
    return repeats;
}

/* Elements that `pixels` pixels of up to three axes span in every image. */
static int64_t span_images(int64_t batch, const int64_t pixels[3], int64_t channels, int64_t pitch) {
    return span_rows(times(batch, multiply_extents(pixels, 3)), channels, pitch);
}

static int are_images_countable(int64_t batch, const af_window *w, int64_t x_pitch, int64_t y_pitch) {
    const int64_t x[] = {batch, w->x[0], w->x[1], w->x[2], x_pitch};
    const int64_t y[] = {batch, w->y[0], w->y[1], w->y[2], y_pitch};
    return is_countable(x, 5) && is_countable(y, 5);
}

static int check_space(const checker *c, int place) {
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
    if (place != AF_RESULT && place != AF_SCRATCH) return 0;
    int writable = operand->space == AF_ARENA ||
                   (operand->space == AF_BINDING && context->bindings[operand->slot].writable);
    return writable ? 0 : refuse(c, "operand %d is written but lies in memory that is only read", place);
}

/* Operand `place` exists and holds `elements` floats at an address that is a multiple of theirs. */
static int check_operand(const checker *c, int place, int64_t elements) {
    const af_operand *operand = &c->step->operands[place];
    if (operand->space == AF_NONE) return refuse(c, "operand %d is absent", place);
    if (operand->offset % (int64_t)sizeof(float)) return refuse(c, "operand %d is not aligned", place);
    if (elements > operand->bytes / (int64_t)sizeof(float))
        return refuse(c, "operand %d has %lld bytes, too few for %lld elements", place, (long long)operand->bytes,
                      (long long)elements);
    return 0;
}

static int check_optional(const checker *c, int place, int64_t elements) {
    return c->step->operands[place].space == AF_NONE ? 0 : check_operand(c, place, elements);
}

static int check_absent(const checker *c, int first) {
    for (int place = first; place < AF_SCRATCH; place++)
        if (c->step->operands[place].space != AF_NONE) return refuse(c, "operand %d has no use", place);
    return 0;
}

static int check_scratch(const checker *c, int64_t bytes) {
    const af_operand *scratch = &c->step->operands[AF_SCRATCH];
    if (bytes == 0) return 0;
    if (scratch->space != AF_ARENA || scratch->offset % 64) return refuse(c, "its scratch memory is not in the arena");
    if (scratch->bytes / c->context->threads / 64 * 64 < bytes)
        return refuse(c, "its scratch memory has %lld bytes, too few for %lld threads", (long long)scratch->bytes,
                      (long long)c->context->threads);
    return 0;
}

static int overlap(const af_operand *a, const af_operand *b) {
    if (a->space == AF_NONE || a->space != b->space || (a->space == AF_BINDING && a->slot != b->slot)) return 0;
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Results and scratch memory share no bytes with anything else, but operands whose bit is set in `in_place` may lie
   exactly where the result does. */
static int check_overlap(const checker *c, int in_place) {
    const af_operand *operands = c->step->operands;
    for (int place = AF_X; place < AF_SCRATCH; place++) {
        int is_same = (in_place >> place & 1) && operands[place].offset == operands[AF_RESULT].offset;
        if (!is_same && overlap(&operands[place], &operands[AF_RESULT]))
            return refuse(c, "operand %d overlaps the result", place);
        if (overlap(&operands[place], &operands[AF_SCRATCH]))
            return refuse(c, "operand %d overlaps scratch memory", place);
    }
    return overlap(&operands[AF_RESULT], &operands[AF_SCRATCH]) ? refuse(c, "the result overlaps scratch memory") : 0;
}

static int check_code(const checker *c, const char *what, int64_t code, int64_t count) {
    return code >= 0 && code < count ? 0 : refuse(c, "%s %lld is not known", what, (long long)code);
}

/* Extents are sane, and an axis has as many results as windows fit into the padded image, or, in `ceil_mode`, one
   more that reaches past it. */
static int check_window(const checker *c, const af_window *w, int ceil_mode) {
    if (!within(w->x, 3, 0, WINDOW_LIMIT) || !within(w->y, 3, 0, WINDOW_LIMIT) ||
        !within(w->kernel, 3, 1, WINDOW_LIMIT) || !within(w->strides, 3, 1, WINDOW_LIMIT) ||
        !within(w->dilations, 3, 1, WINDOW_LIMIT) || !within(w->begins, 3, 0, WINDOW_LIMIT) ||
        !within(w->ends, 3, 0, WINDOW_LIMIT))
        return refuse(c, "an extent of its window is out of range");
    for (int axis = 0; axis < 3; axis++) {
        int64_t stride = w->strides[axis], result = w->y[axis];
        int64_t reach = (w->kernel[axis] - 1) * w->dilations[axis] + 1;
        int64_t room = w->x[axis] + w->begins[axis] + w->ends[axis] - reach;
        int64_t least = room < 0 ? 0 : room / stride + 1;
        int64_t most = ceil_mode && room + stride > 0 ? divide_up(room, stride) + 1 : least;
        if (result < least || result > most)
            return refuse(c, "axis %d of its window has %lld results, not %lld", axis, (long long)result,
                          (long long)least);
    }
    return 0;
}

static int check_conv(const checker *c) {
    const af_conv *conv = &c->step->conv;
    const af_window *w = &conv->window;
    const int64_t extents[] = {conv->batch,   conv->channels, conv->filters,
                               conv->x_pitch, conv->y_pitch,  conv->residual_pitch};
    if (!within(extents, 6, 0, WINDOW_LIMIT) || !within(&conv->group, 1, 1, WINDOW_LIMIT))
        return refuse(c, "an extent is out of range");
    if (conv->channels % conv->group || conv->filters % conv->group)
        return refuse(c, "%lld groups do not divide %lld channels and %lld filters", (long long)conv->group,
                      (long long)conv->channels, (long long)conv->filters);
    int has_residual = c->step->operands[AF_RESIDUAL].space != AF_NONE;
    if (conv->x_pitch < conv->channels || conv->y_pitch < conv->filters ||
        (has_residual && conv->residual_pitch < conv->filters))
        return refuse(c, "a pitch is less than the number of channels");
    if (check_code(c, "activation", conv->activation, AF_ACTIVATION_COUNT) || check_window(c, w, 0)) return -1;
    if (!are_images_countable(conv->batch, w, conv->x_pitch, conv->y_pitch))
        return refuse(c, "its images are too large");
    int64_t taps = multiply_extents(w->kernel, 3), depth = conv->channels / conv->group;
    int64_t panels = is_depthwise(conv) ? divide_up(conv->channels, AF_PANEL)
                                        : times(conv->group, divide_up(conv->filters / conv->group, AF_PANEL));
    /* Also bounds the scratch memory, whose size is computed without care for overflow. */
    if (times(times(taps, depth + 1), AF_ROW_BLOCK * (int64_t)sizeof(float *)) >= ELEMENT_LIMIT)
        return refuse(c, "its window is too large");
    return check_operand(c, AF_RESULT, span_images(conv->batch, w->y, conv->filters, conv->y_pitch)) ||
           check_operand(c, AF_X, span_images(conv->batch, w->x, conv->channels, conv->x_pitch)) ||
           check_operand(c, AF_WEIGHT, times(times(panels, taps), depth * AF_PANEL)) ||
           check_optional(c, AF_BIAS, conv->filters) ||
           check_optional(c, AF_RESIDUAL, span_images(conv->batch, w->y, conv->filters, conv->residual_pitch)) ||
           check_scratch(c, af_conv_scratch(conv)) || check_overlap(c, 0);
}

static int check_matmul(const checker *c) {
    const af_matmul *p = &c->step->matmul;
    if (!within(c->step->ints, 3 * AF_BATCH_AXES + 3, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (!within(&p->trans_a, 3, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (check_code(c, "activation", p->activation, AF_ACTIVATION_COUNT)) return -1;
    int64_t matrices = multiply_extents(p->batch, AF_BATCH_AXES), y = times(matrices, times(p->rows, p->columns));
    const int64_t shapes[][2] = {{p->rows, p->depth}, {p->depth, p->columns + AF_PANEL}, {p->rows, p->columns}};
    int64_t a = times(p->rows, p->depth), b = times(p->depth, p->columns);
    if (p->packed) b = times(times(divide_up(p->columns, AF_PANEL), AF_PANEL), p->depth);
    if (!is_countable(p->batch, AF_BATCH_AXES) || !is_countable(shapes[0], 2) || !is_countable(shapes[1], 2) ||
        !is_countable(shapes[2], 2))
        return refuse(c, "its matrices are too large");
    if (p->packed && !within(p->b_strides, AF_BATCH_AXES, 0, 0)) return refuse(c, "packed panels have batch axes");
    return check_operand(c, AF_RESULT, y) ||
           check_operand(c, AF_A, span_axes(p->batch, p->a_strides, AF_BATCH_AXES, a)) ||
           check_operand(c, AF_B, span_axes(p->batch, p->b_strides, AF_BATCH_AXES, b)) ||
           check_optional(c, AF_BIAS, p->columns) || check_optional(c, AF_RESIDUAL, y) ||
           check_scratch(c, af_matmul_scratch(p)) || check_overlap(c, 0);
}

static int check_pool(const checker *c) {
    const af_pool *pool = &c->step->pool;
    const af_window *w = &pool->window;
    const int64_t extents[] = {pool->batch, pool->channels, pool->x_pitch, pool->y_pitch};
    if (!within(extents, 4, 0, WINDOW_LIMIT)) return refuse(c, "an extent is out of range");
    if (pool->x_pitch < pool->channels || pool->y_pitch < pool->channels)
        return refuse(c, "a pitch is less than the number of channels");
    if (!within(&pool->include_pad, 1, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (check_code(c, "kind of pooling", pool->kind, AF_POOL_KIND_COUNT) || check_window(c, w, 1)) return -1;
    if (!are_images_countable(pool->batch, w, pool->x_pitch, pool->y_pitch))
        return refuse(c, "its images are too large");
    return check_operand(c, AF_RESULT, span_images(pool->batch, w->y, pool->channels, pool->y_pitch)) ||
           check_operand(c, AF_X, span_images(pool->batch, w->x, pool->channels, pool->x_pitch)) ||
           check_absent(c, AF_X + 1) || check_overlap(c, 0);
}

static int check_rows(const checker *c, int is_affine) {
    const af_rows *r = &c->step->rows;
    if (!within(c->step->ints, 4, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    const int64_t extents[] = {r->rows, r->columns};
    if (!is_countable(extents, 2)) return refuse(c, "it has too many elements");
    if (r->x_pitch < r->columns || r->y_pitch < r->columns)
        return refuse(c, "a pitch is less than the number of channels");
    if (check_code(c, "function", r->function, is_affine ? AF_ACTIVATION_COUNT : AF_FUNCTION_COUNT)) return -1;
    if (check_operand(c, AF_RESULT, span_rows(r->rows, r->columns, r->y_pitch)) ||
        check_operand(c, AF_X, span_rows(r->rows, r->columns, r->x_pitch)) ||
        (is_affine && (check_operand(c, AF_SCALE, r->columns) || check_operand(c, AF_SHIFT, r->columns))))
        return -1;
    return check_absent(c, is_affine ? AF_SHIFT + 1 : AF_X + 1) || check_overlap(c, (r->x_pitch == r->y_pitch) << AF_X);
}

static int check_binary(const checker *c) {
    const af_binary *b = &c->step->binary;
    if (!within(c->step->ints, 4 * AF_AXES, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (check_code(c, "operator", b->operator, AF_OPERATOR_COUNT) ||
        check_code(c, "activation", b->activation, AF_ACTIVATION_COUNT))
        return -1;
    if (!is_countable(b->extents, AF_AXES)) return refuse(c, "it has too many elements");
    if (repeats_places(b->extents, b->y_strides, AF_AXES)) return refuse(c, "its result is written more than once");
    int in_place = 1 << AF_A | 1 << AF_B;
    for (int axis = 0; axis < AF_AXES; axis++) {
        if (b->extents[axis] <= 1) continue;
        if (b->a_strides[axis] != b->y_strides[axis]) in_place &= ~(1 << AF_A);
        if (b->b_strides[axis] != b->y_strides[axis]) in_place &= ~(1 << AF_B);
    }
    return check_operand(c, AF_RESULT, span_axes(b->extents, b->y_strides, AF_AXES, 1)) ||
           check_operand(c, AF_A, span_axes(b->extents, b->a_strides, AF_AXES, 1)) ||
           check_operand(c, AF_B, span_axes(b->extents, b->b_strides, AF_AXES, 1)) || check_absent(c, AF_B + 1) ||
           check_overlap(c, in_place);
}

static int check_relayout(const checker *c) {
    const af_relayout *r = &c->step->relayout;
    if (!within(c->step->ints, 3 * AF_RELAYOUT_AXES, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (!is_countable(r->extents, AF_RELAYOUT_AXES)) return refuse(c, "it has too many elements");
    if (repeats_places(r->extents, r->y_strides, AF_RELAYOUT_AXES))
        return refuse(c, "its result is written more than once");
    return check_operand(c, AF_RESULT, span_axes(r->extents, r->y_strides, AF_RELAYOUT_AXES, 1)) ||
           check_operand(c, AF_X, span_axes(r->extents, r->x_strides, AF_RELAYOUT_AXES, 1)) ||
           check_absent(c, AF_X + 1) || check_overlap(c, 0);
}

static int check_copy(const checker *c) {
    const af_operand *x = &c->step->operands[AF_X], *y = &c->step->operands[AF_RESULT];
    if (x->space == AF_NONE || y->space == AF_NONE || x->bytes != y->bytes)
        return refuse(c, "it copies %lld bytes to %lld", (long long)x->bytes, (long long)y->bytes);
    return check_absent(c, AF_X + 1) || check_overlap(c, 0);
}

static int check_step(const checker *c) {
    for (int place = 0; place < AF_OPERANDS; place++)
        if (check_space(c, place)) return -1;
    switch (c->step->kernel) {
    case AF_PASS: return 0;
    case AF_CONV: return check_conv(c);
    case AF_MATMUL: return check_matmul(c);
    case AF_POOL: return check_pool(c);
    case AF_AFFINE: return check_rows(c, 1);
    case AF_UNARY: return check_rows(c, 0);
    case AF_BINARY: return check_binary(c);
    case AF_RELAYOUT: return check_relayout(c);
    case AF_COPY: return check_copy(c);
    default: return refuse(c, "kernel %d is not known", c->step->kernel);
    }
}

int32_t af_check(const af_context *context, char *message, size_t size) {
    if (context->threads < 1) return snprintf(message, size, "%lld threads", (long long)context->threads), -1;
    if ((context->arena_bytes && (uintptr_t)context->arena % 64) ||
        (context->weights_bytes && (uintptr_t)context->weights % 64))
        return snprintf(message, size, "the arena or the weights are not aligned to 64 bytes"), -1;
    for (int64_t slot = 0; slot < context->binding_count; slot++)
        if ((uintptr_t)context->bindings[slot].data % sizeof(float))
            return snprintf(message, size, "binding %lld is not aligned", (long long)slot), -1;
    checker c = {.context = context, .message = message, .size = size};
    for (; c.index < context->step_count; c.index++) {
        c.step = &context->steps[c.index];
        if (check_step(&c)) return -1;
    }
    return 0;
}
