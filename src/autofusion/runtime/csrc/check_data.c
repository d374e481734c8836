/* Validation of the steps that move, choose, compare and make elements. */
#include "check.h"
#include "data.h"
#include "half.h"

static int is_size(int64_t size) { return size == 1 || size == 2 || size == 4 || size == 8; }

/* The span of `axes` axes that may be walked backward lies in 0..elements-1, from `offset` on. */
static int check_signed(const checker *c, int place, const int64_t *extents, const int64_t *strides, int64_t offset,
                        int64_t size) {
    int64_t forward = 0, backward = 0;
    for (int axis = 0; axis < AF_AXES; axis++) {
        if (extents[axis] == 0) return check_sized(c, place, 0, size);
        if (strides[axis] < 0)
            backward = plus(backward, times(extents[axis] - 1, -strides[axis]));
        else
            forward = plus(forward, times(extents[axis] - 1, strides[axis]));
    }
    if (backward > offset) return refuse(c, "operand %d is read before its beginning", place);
    return check_sized(c, place, plus(plus(offset, forward), 1), size);
}

int af_check_strided(const checker *c) {
    const af_strided *s = &c->step->strided;
    if (!within(s->extents, AF_AXES, 0, ELEMENT_LIMIT) ||
        !within(s->x_strides, AF_AXES, -ELEMENT_LIMIT, ELEMENT_LIMIT) ||
        !within(s->y_strides, AF_AXES, 0, ELEMENT_LIMIT) || !within(&s->x_offset, 2, 0, ELEMENT_LIMIT))
        return refuse(c, "an extent is out of range");
    if (!is_size(s->size)) return refuse(c, "its elements have %lld bytes", (long long)s->size);
    if (!is_countable(s->extents, AF_AXES)) return refuse(c, "it has too many elements");
    if (repeats_places(s->extents, s->y_strides, AF_AXES)) return refuse(c, "its result is written more than once");
    int is_alike = s->size == sizeof(float) && s->x_offset == s->y_offset &&
                   within(s->x_strides, AF_AXES, 0, ELEMENT_LIMIT);
    int beside = is_alike ? find_beside_axes(c, AF_X, s->extents, s->x_strides, s->y_strides, AF_AXES) : 0;
    return check_signed(c, AF_RESULT, s->extents, s->y_strides, s->y_offset, s->size) ||
           check_signed(c, AF_X, s->extents, s->x_strides, s->x_offset, s->size) || check_absent(c, AF_X + 1) ||
           check_overlap_beside(c, 0, beside);
}

int af_check_concat(const checker *c) {
    const af_concat *p = &c->step->concat;
    if (!within(&p->rows, 1, 0, ELEMENT_LIMIT) || !within(&p->parts, 1, 1, AF_PARTS) ||
        !within(&p->y_pitch, 1 + 2 * AF_PARTS, 0, ELEMENT_LIMIT))
        return refuse(c, "an extent is out of range");
    if (!is_size(p->size)) return refuse(c, "its elements have %lld bytes", (long long)p->size);
    int64_t width = 0;
    for (int64_t i = 0; i < p->parts; i++) width = plus(width, p->widths[i]);
    const int64_t extents[] = {p->rows, p->y_pitch};
    if (p->rows > 1 && width > p->y_pitch) return refuse(c, "its rows overlap");
    if (!is_countable(extents, 2)) return refuse(c, "it has too many elements");
    for (int i = 0; i < p->parts; i++)
        if (check_sized(c, AF_X + i, span_rows(p->rows, p->widths[i], p->pitches[i]), p->size)) return -1;
    return check_sized(c, AF_RESULT, span_rows(p->rows, width, p->y_pitch), p->size) ||
           check_absent(c, AF_X + (int)p->parts) || check_overlap(c, 0);
}

/* A step on `count` broadcast operands of the types given. */
static int check_pointwise(const checker *c, int count, const int64_t types[3]) {
    const af_pointwise *p = &c->step->pointwise;
    if (!within(c->step->ints, 5 * AF_AXES, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (!is_countable(p->extents, AF_AXES)) return refuse(c, "it has too many elements");
    if (repeats_places(p->extents, p->y_strides, AF_AXES)) return refuse(c, "its result is written more than once");
    if (check_code(c, "type", p->type, AF_TYPE_COUNT) || check_code(c, "type", p->y_type, AF_TYPE_COUNT)) return -1;
    for (int i = 0; i < count; i++) {
        int64_t size = element_size(types[i]), span = span_axes(p->extents, p->strides[i], AF_AXES, 1);
        if (check_sized(c, AF_X + i, span, size)) return -1;
    }
    return check_sized(c, AF_RESULT, span_axes(p->extents, p->y_strides, AF_AXES, 1), element_size(p->y_type)) ||
           check_absent(c, AF_X + count) || check_overlap(c, 0);
}

int af_check_select(const checker *c) {
    const af_pointwise *p = &c->step->pointwise;
    const int64_t types[] = {AF_BOOL, p->type, p->type};
    if (p->type != p->y_type) return refuse(c, "its result is of another type than its operands");
    return check_pointwise(c, 3, types);
}

int af_check_compare(const checker *c) {
    const af_pointwise *p = &c->step->pointwise;
    const int64_t types[] = {p->type, p->type, p->type};
    if (check_code(c, "comparison", p->operator, AF_COMPARISON_COUNT)) return -1;
    if (p->y_type != AF_BOOL || p->type == AF_FLOAT16 || p->type == AF_BFLOAT16)
        return refuse(c, "it does not compare such elements");
    return check_pointwise(c, 2, types);
}

int af_check_arithmetic(const checker *c) {
    const af_pointwise *p = &c->step->pointwise;
    const int64_t types[] = {p->type, p->type, p->type};
    if (check_code(c, "operator", p->operator, AF_ARITHMETIC_COUNT) || check_code(c, "type", p->type, AF_TYPE_COUNT))
        return -1;
    if (p->type != p->y_type || !af_knows_arithmetic(p)) return refuse(c, "it does not compute with such elements");
    return check_pointwise(c, 2, types);
}

int af_check_convert(const checker *c) {
    const int64_t types[] = {c->step->pointwise.type, 0, 0};
    return check_pointwise(c, 1, types);
}

int af_check_pad(const checker *c) {
    const af_pad *p = &c->step->pad;
    if (!within(c->step->ints, 4 * AF_AXES, 0, ELEMENT_LIMIT) ||
        !within(p->begins, AF_AXES, -WINDOW_LIMIT, WINDOW_LIMIT) || !within(p->extents, AF_AXES, 0, WINDOW_LIMIT) ||
        !within(p->sources, AF_AXES, 0, WINDOW_LIMIT))
        return refuse(c, "an extent is out of range");
    if (check_code(c, "mode", p->mode, AF_PAD_MODE_COUNT)) return -1;
    if (!is_size(p->size)) return refuse(c, "its elements have %lld bytes", (long long)p->size);
    if (!is_countable(p->extents, AF_AXES)) return refuse(c, "it has too many elements");
    if (repeats_places(p->extents, p->y_strides, AF_AXES)) return refuse(c, "its result is written more than once");
    if (c->step->operands[AF_B].space != AF_NONE && check_sized(c, AF_B, 1, p->size)) return -1;
    return check_sized(c, AF_RESULT, span_axes(p->extents, p->y_strides, AF_AXES, 1), p->size) ||
           check_sized(c, AF_X, span_axes(p->sources, p->x_strides, AF_AXES, 1), p->size) ||
           check_absent(c, AF_B + 1) || check_overlap(c, 0);
}

int af_check_resize(const checker *c) {
    const af_resize *r = &c->step->resize;
    if (!within(&r->images, 4, 0, WINDOW_LIMIT) || !within(r->x, 3, 1, WINDOW_LIMIT) ||
        !within(r->y, 3, 0, WINDOW_LIMIT) || !within(&r->exclude_outside, 1, 0, 1))
        return refuse(c, "an extent is out of range");
    if (r->x_pitch < r->channels || r->y_pitch < r->channels)
        return refuse(c, "a pitch is less than the number of channels");
    if (check_code(c, "mode", r->mode, AF_INTERPOLATION_COUNT) ||
        check_code(c, "transformation", r->coordinates, AF_COORDINATES_COUNT) ||
        check_code(c, "rounding", r->rounding, AF_ROUNDING_COUNT))
        return -1;
    const int64_t x[] = {r->images, r->x[0], r->x[1], r->x[2], r->x_pitch};
    const int64_t y[] = {r->images, r->y[0], r->y[1], r->y[2], r->y_pitch};
    if (!is_countable(x, 5) || !is_countable(y, 5)) return refuse(c, "its images are too large");
    return check_operand(c, AF_RESULT, span_images(r->images, r->y, r->channels, r->y_pitch)) ||
           check_operand(c, AF_X, span_images(r->images, r->x, r->channels, r->x_pitch)) ||
           check_absent(c, AF_X + 1) || check_overlap(c, 0);
}

int af_check_progression(const checker *c) {
    const af_progression *p = &c->step->progression;
    if (!within(&p->count, 1, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    int is_known = p->type == AF_FLOAT || p->type == AF_DOUBLE || p->type == AF_INT16 || p->type == AF_INT32 ||
                   p->type == AF_INT64;
    if (!is_known) return refuse(c, "it does not count in type %lld", (long long)p->type);
    int64_t size = element_size(p->type);
    return check_sized(c, AF_A, 1, size) || check_sized(c, AF_B, 1, size) ||
           check_sized(c, AF_RESULT, p->count, size) || check_absent(c, AF_B + 1) || check_overlap(c, 0);
}

int af_check_triangle(const checker *c) {
    const af_triangle *t = &c->step->triangle;
    if (!within(&t->matrices, 3, 0, ELEMENT_LIMIT) || !within(&t->upper, 1, 0, 1) ||
        !within(&t->diagonal, 1, -ELEMENT_LIMIT, ELEMENT_LIMIT))
        return refuse(c, "an extent is out of range");
    if (!is_size(t->size)) return refuse(c, "its elements have %lld bytes", (long long)t->size);
    if (!is_countable(&t->matrices, 3)) return refuse(c, "it has too many elements");
    int64_t count = multiply_extents(&t->matrices, 3);
    return check_sized(c, AF_X, count, t->size) || check_sized(c, AF_RESULT, count, t->size) ||
           check_absent(c, AF_X + 1) || check_overlap(c, 0);
}

int af_check_excite(const checker *c) {
    const af_excite *e = &c->step->excite;
    if (!within(&e->rows, 4, 0, WINDOW_LIMIT)) return refuse(c, "an extent is out of range");
    if (check_code(c, "activation", e->activation, AF_ACTIVATION_COUNT) ||
        check_code(c, "activation", e->gate, AF_ACTIVATION_COUNT))
        return -1;
    if (!is_widened(e->types[0]) || !is_widened(e->types[1])) return refuse(c, "its matrices are of other types");
    int64_t sizes[] = {element_size(e->types[0]), element_size(e->types[1])};
    return check_operand(c, AF_RESULT, times(e->rows, e->columns)) ||
           check_operand(c, AF_X, times(e->rows, e->channels)) ||
           check_sized(c, AF_X + 1, times(e->hidden, e->channels), sizes[0]) || check_optional(c, AF_X + 2, e->hidden) ||
           check_sized(c, AF_X + 3, times(e->hidden, e->columns), sizes[1]) || check_optional(c, AF_X + 4, e->columns) ||
           check_absent(c, AF_X + 5) || check_scratch(c, af_excite_scratch(e)) || check_overlap(c, 0);
}

int af_check_filter(const checker *c) {
    const af_filter *f = &c->step->filter;
    if (!within(&f->filters, 2, 0, WINDOW_LIMIT)) return refuse(c, "an extent is out of range");
    if (f->tile != 2 && f->tile != 4) return refuse(c, "it makes tiles of %lld results", (long long)f->tile);
    if (!is_widened(f->type)) return refuse(c, "its filters are of type %lld", (long long)f->type);
    int64_t rows = times(divide_up(f->filters, AF_PANEL), f->channels * AF_PANEL);
    return check_sized(c, AF_X, times(rows, 9), element_size(f->type)) ||
           check_operand(c, AF_RESULT, times(rows, (f->tile + 2) * (f->tile + 2))) || check_absent(c, AF_X + 1) ||
           check_overlap(c, 0);
}
