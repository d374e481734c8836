/* Validation of the steps that reduce, order and look up elements. */
#include "check.h"
#include "data.h"
#include "half.h"

/* Types that have arithmetic along lines. */
static int check_number(const checker *c, int64_t type) {
    int is_known = type == AF_FLOAT || type == AF_DOUBLE || type == AF_INT8 || type == AF_INT32 || type == AF_INT64 ||
                   type == AF_UINT8 || type == AF_BOOL;
    return is_known ? 0 : refuse(c, "it does not compute with type %lld", (long long)type);
}

/* Lines of x, and of y, which has `extent` elements in each. */
static int check_lines(const checker *c, const af_lines *l, int64_t extent, int64_t size, int64_t y_size) {
    if (!within(&l->outer, 7, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    const int64_t x[] = {l->outer, l->extent, l->inner}, y[] = {l->outer, extent, l->inner};
    const int64_t x_strides[] = {l->x_outer, l->x_stride, 1}, y_strides[] = {l->y_outer, l->y_stride, 1};
    if (!is_countable(x, 3) || !is_countable(y, 3)) return refuse(c, "it has too many elements");
    if (repeats_places(y, y_strides, 3)) return refuse(c, "its result is written more than once");
    return check_sized(c, AF_X, span_axes(x, x_strides, 3, 1), size) ||
           check_sized(c, AF_RESULT, span_axes(y, y_strides, 3, 1), y_size) || check_absent(c, AF_X + 1) ||
           check_overlap(c, 0);
}

int af_check_softmax(const checker *c) {
    const af_softmax *s = &c->step->softmax;
    if (!within(&s->is_log, 1, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    return check_lines(c, &s->lines, s->lines.extent, floating_size(c), floating_size(c));
}

int af_check_argument(const checker *c) {
    const af_argument *a = &c->step->argument;
    if (check_number(c, a->type)) return -1;
    if (!within(&a->is_min, 2, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (a->lines.extent < 1) return refuse(c, "its lines have no elements");
    return check_lines(c, &a->lines, 1, element_size(a->type), sizeof(int64_t));
}

int af_check_cumulate(const checker *c) {
    const af_cumulate *a = &c->step->cumulate;
    if (check_number(c, a->type)) return -1;
    if (!within(&a->exclusive, 2, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    return check_lines(c, &a->lines, a->lines.extent, element_size(a->type), element_size(a->type));
}

int af_check_rank(const checker *c) {
    const af_rank *r = &c->step->rank;
    if (check_number(c, r->type)) return -1;
    if (!within(&r->largest, 1, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (r->count < 0 || r->count > r->lines.extent)
        return refuse(c, "it takes %lld of %lld elements", (long long)r->count, (long long)r->lines.extent);
    return check_lines(c, &r->lines, r->count, element_size(r->type), sizeof(int64_t));
}

int af_check_reduce(const checker *c) {
    const af_reduce *r = &c->step->reduce;
    if (!within(c->step->ints, 5 * AF_AXES, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (check_code(c, "kind of reduction", r->kind, AF_REDUCTION_COUNT) || check_number(c, r->type)) return -1;
    if (!is_countable(r->kept, AF_AXES) || !is_countable(r->reduced, AF_AXES))
        return refuse(c, "it has too many elements");
    if (repeats_places(r->kept, r->y_strides, AF_AXES)) return refuse(c, "its result is written more than once");
    /* Elements are read once each: reductions end. */
    int64_t most = c->step->operands[AF_X].bytes / element_size(r->type);
    if (times(multiply_extents(r->kept, AF_AXES), multiply_extents(r->reduced, AF_AXES)) > most)
        return refuse(c, "operand 1 has %lld bytes, too few for what is reduced",
                      (long long)c->step->operands[AF_X].bytes);
    int64_t size = element_size(r->type), span = span_axes(r->kept, r->x_strides, AF_AXES, 1);
    int64_t further = span_axes(r->reduced, r->strides, AF_AXES, 0), reduced = multiply_extents(r->reduced, AF_AXES);
    return check_sized(c, AF_X, span == 0 || reduced == 0 ? 0 : plus(span, further), size) ||
           check_sized(c, AF_RESULT, span_axes(r->kept, r->y_strides, AF_AXES, 1), size) ||
           check_absent(c, AF_X + 1) || check_overlap(c, 0);
}

static int check_index_size(const checker *c, int64_t size) {
    return size == 4 || size == 8 ? 0 : refuse(c, "its indices have %lld bytes", (long long)size);
}

enum { INDICES = 2, UPDATES = 3 };

int af_check_gather(const checker *c) {
    const af_gather *g = &c->step->gather;
    if (!within(&g->outer, 4, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (check_index_size(c, g->index_size)) return -1;
    if (g->size != 1 && g->size != 2 && g->size != 4 && g->size != 8)
        return refuse(c, "its elements have %lld bytes", (long long)g->size);
    if (!is_widened(g->widened) || (g->widened && g->size != 2))
        return refuse(c, "it widens type %lld", (long long)g->widened);
    int64_t y_size = g->widened ? (int64_t)sizeof(float) : g->size;
    const int64_t x[] = {g->outer, g->extent, g->inner}, y[] = {g->outer, g->count, g->inner};
    if (!is_countable(x, 3) || !is_countable(y, 3)) return refuse(c, "it has too many elements");
    return check_sized(c, AF_X, multiply_extents(x, 3), g->size) ||
           check_sized(c, INDICES, g->count, g->index_size) ||
           check_sized(c, AF_RESULT, multiply_extents(y, 3), y_size) || check_absent(c, INDICES + 1) ||
           check_overlap(c, 0);
}

/* Places along an axis of operand `place`; `other` has an element for every index. */
static int check_elements(const checker *c, int place, int other) {
    const af_elements *e = &c->step->elements;
    if (!within(c->step->ints, 2 * AF_AXES + 2, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (check_index_size(c, e->index_size) || check_code(c, "type", e->type, AF_TYPE_COUNT) ||
        check_code(c, "reduction", e->reduction, AF_PUT_COUNT))
        return -1;
    if (!is_countable(e->extents, AF_AXES)) return refuse(c, "it has too many elements");
    int64_t size = element_size(e->type), count = multiply_extents(e->extents, AF_AXES), span = 0;
    if (count && e->axis_extent)
        span = plus(span_axes(e->extents, e->strides, AF_AXES, 1), times(e->axis_extent - 1, e->axis_stride));
    return check_sized(c, place, span, size) || check_sized(c, INDICES, count, e->index_size) ||
           check_sized(c, other, count, size);
}

/* Blocks of operand `place`; `other` has one for every index. */
static int check_blocks(const checker *c, int place, int other) {
    const af_blocks *b = &c->step->blocks;
    if (!within(&b->batch, 3 + AF_AXES + 1, 0, ELEMENT_LIMIT) || !within(&b->depth, 1, 0, AF_AXES))
        return refuse(c, "an extent is out of range");
    if (check_index_size(c, b->index_size) || check_code(c, "type", b->type, AF_TYPE_COUNT) ||
        check_code(c, "reduction", b->reduction, AF_PUT_COUNT))
        return -1;
    int64_t size = element_size(b->type), axes[AF_AXES] = {0};
    for (int axis = 0; axis < AF_AXES; axis++) axes[axis] = axis < b->depth ? b->extents[axis] : 1;
    const int64_t counts[] = {b->batch, b->count, b->inner, b->depth};
    int64_t whole = times(times(b->batch, multiply_extents(axes, AF_AXES)), b->inner);
    if (!is_countable(counts, 4) || !is_countable(axes, AF_AXES) || whole >= ELEMENT_LIMIT)
        return refuse(c, "it has too many elements");
    int64_t named = times(b->batch, b->count);
    return check_sized(c, place, whole, size) || check_sized(c, INDICES, times(named, b->depth), b->index_size) ||
           check_sized(c, other, times(named, b->inner), size);
}

int af_check_gather_elements(const checker *c) {
    return check_elements(c, AF_X, AF_RESULT) || check_absent(c, INDICES + 1) || check_overlap(c, 0);
}

int af_check_gather_blocks(const checker *c) {
    return check_blocks(c, AF_X, AF_RESULT) || check_absent(c, INDICES + 1) || check_overlap(c, 0);
}

/* What is there before the updates fills the result. */
static int check_base(const checker *c, int64_t type, int64_t reduction) {
    const af_operand *x = &c->step->operands[AF_X], *y = &c->step->operands[AF_RESULT];
    if (x->space == AF_NONE || x->bytes != y->bytes)
        return refuse(c, "it copies %lld bytes to %lld", (long long)x->bytes, (long long)y->bytes);
    int adds = type == AF_FLOAT || type == AF_DOUBLE || type == AF_INT32 || type == AF_INT64;
    if (reduction != AF_PUT && !adds) return refuse(c, "it does not compute with type %lld", (long long)type);
    return check_absent(c, UPDATES + 1) || check_overlap(c, 0);
}

int af_check_scatter_elements(const checker *c) {
    const af_elements *e = &c->step->elements;
    return check_elements(c, AF_RESULT, UPDATES) || check_base(c, e->type, e->reduction);
}

int af_check_scatter_blocks(const checker *c) {
    const af_blocks *b = &c->step->blocks;
    if (b->batch != 1) return refuse(c, "it has %lld batches", (long long)b->batch);
    return check_blocks(c, AF_RESULT, UPDATES) || check_base(c, b->type, b->reduction);
}
