/* Validation of the steps of transformers. */
#include "check.h"
#include "data.h"

enum { AF_KEEP_PLACE = 6, AF_PAST_KEY_PLACE = 7 };

/* Elements that a view reaches from the beginning of its buffer. */
static int64_t span_view(const af_view *view, const int64_t extents[4]) {
    int64_t span = span_axes(extents, view->strides, 4, 1);
    return span == 0 ? 0 : plus(view->offset, span);
}

static int is_view(const af_view *view) { return within(&view->offset, 5, 0, ELEMENT_LIMIT); }

/* A term of the scores that may be absent, of elements of `size` bytes. */
static int check_term(const checker *c, int place, const af_term *term, const int64_t scores[4], int64_t size) {
    if (c->step->operands[place].space == AF_NONE) return 0;
    if (!within(&term->period, 1, 1, ELEMENT_LIMIT) || !within(term->strides, 4, 0, ELEMENT_LIMIT))
        return refuse(c, "operand %d repeats after %lld samples", place, (long long)term->period);
    const int64_t extents[] = {smaller(term->period, scores[0]), scores[1], scores[2], scores[3]};
    return check_sized(c, place, span_axes(extents, term->strides, 4, 1), size);
}

int af_check_attention(const checker *c) {
    const af_attention *a = &c->step->attention;
    if (!within(&a->batch, 8, 0, WINDOW_LIMIT) || !within(&a->heads, 2, 1, WINDOW_LIMIT))
        return refuse(c, "an extent is out of range");
    if (a->heads % a->key_heads)
        return refuse(c, "%lld key heads do not divide %lld heads", (long long)a->key_heads, (long long)a->heads);
    if (!is_view(&a->q) || !is_view(&a->k) || !is_view(&a->v) || !is_view(&a->y))
        return refuse(c, "a view is out of range");
    if (check_code(c, "mode", a->keep_mode, AF_KEEP_MODE_COUNT) || !within(&a->keep_drops, 3, 0, 1))
        return refuse(c, "a flag is neither 0 nor 1");
    if ((c->step->operands[AF_KEEP_PLACE].space == AF_NONE) != (a->keep_mode == AF_KEEP_NONE))
        return refuse(c, "what it keeps and how do not fit");
    int64_t all_keys = a->past + a->keys;
    const int64_t scores[] = {a->batch, a->heads, a->queries, all_keys};
    const int64_t q[] = {a->batch, a->heads, a->queries, a->size};
    const int64_t k[] = {a->batch, a->key_heads, a->keys, a->size};
    const int64_t v[] = {a->batch, a->key_heads, a->keys, a->value_size};
    const int64_t y[] = {a->batch, a->heads, a->queries, a->value_size};
    const int64_t most[] = {a->batch, a->heads, plus(a->queries, 16), plus(all_keys, 16),
                            plus(plus(a->size, a->value_size), 32)};
    if (!is_countable(most, 5)) return refuse(c, "its heads are too large");
    if (repeats_places(y, a->y.strides, 4)) return refuse(c, "its result is written more than once");
    int64_t samples = times(a->batch, a->key_heads), past = times(samples, a->past), present = times(samples, all_keys);
    int has_past = c->step->operands[AF_PAST_KEY_PLACE].space != AF_NONE;
    if (has_past != (c->step->operands[AF_PAST_KEY_PLACE + 1].space != AF_NONE) || (!has_past && a->past > 0))
        return refuse(c, "past keys and past values do not fit");
    return check_operand(c, AF_RESULT, span_view(&a->y, y)) || check_operand(c, AF_X, span_view(&a->q, q)) ||
           check_operand(c, AF_X + 1, span_view(&a->k, k)) || check_operand(c, AF_X + 2, span_view(&a->v, v)) ||
           check_term(c, AF_X + 3, &a->bias, scores, floating_size(c)) ||
           check_term(c, AF_X + 4, &a->mask, scores, floating_size(c)) ||
           check_term(c, AF_KEEP_PLACE, &a->keep, scores, 1) ||
           check_optional(c, AF_PAST_KEY_PLACE, times(past, a->size)) ||
           check_optional(c, AF_PAST_KEY_PLACE + 1, times(past, a->value_size)) ||
           check_optional(c, AF_FURTHER, times(present, a->size)) ||
           check_optional(c, AF_FURTHER + 1, times(present, a->value_size)) ||
           check_scratch(c, is_double(c) ? af_attention_double_scratch(a) : af_attention_scratch(a)) || check_overlap(c, 0);
}

int af_check_norm(const checker *c) {
    const af_norm *n = &c->step->norm;
    const int64_t extents[] = {n->rows, n->columns};
    if (!within(extents, 2, 0, ELEMENT_LIMIT) || !is_countable(extents, 2))
        return refuse(c, "it has too many elements");
    if (check_code(c, "normalization", n->kind, AF_NORM_KIND_COUNT)) return -1;
    int64_t elements = times(n->rows, n->columns);
    return check_operand(c, AF_RESULT, elements) || check_operand(c, AF_X, elements) ||
           check_optional(c, AF_X + 1, n->columns) || check_optional(c, AF_X + 2, n->columns) ||
           check_optional(c, AF_X + 3, elements) || check_optional(c, AF_FURTHER, elements) || check_overlap(c, 0);
}

int af_check_group_norm(const checker *c) {
    const af_group_norm *n = &c->step->group_norm;
    if (!within(c->step->ints, 10, 0, ELEMENT_LIMIT) || !is_countable(&n->batch, 4))
        return refuse(c, "an extent is out of range");
    const int64_t extents[] = {n->batch, times(n->groups, n->channels), n->pixels};
    if (repeats_places(extents, n->y_strides, 3)) return refuse(c, "its result is written more than once");
    if ((n->x_strides[1] != 1 || n->y_strides[1] != 1) && (n->x_strides[2] != 1 || n->y_strides[2] != 1))
        return refuse(c, "neither its channels nor its pixels lie side by side");
    return check_operand(c, AF_RESULT, span_axes(extents, n->y_strides, 3, 1)) ||
           check_operand(c, AF_X, span_axes(extents, n->x_strides, 3, 1)) || check_operand(c, AF_X + 1, extents[1]) ||
           check_operand(c, AF_X + 2, extents[1]) || check_absent(c, AF_X + 3) || check_overlap(c, 0);
}

int af_check_rotary(const checker *c) {
    const af_rotary *r = &c->step->rotary;
    const int64_t extents[] = {r->batch, r->heads, r->rows, r->size};
    const int64_t angles[] = {r->batch, r->heads, r->rows, r->is_half ? r->width / 2 : r->width};
    if (!within(extents, 4, 0, WINDOW_LIMIT) || !is_countable(extents, 4) || !within(&r->width, 1, 0, r->size) ||
        r->width % 2 || !within(&r->interleaved, 2, 0, 1))
        return refuse(c, "an extent is out of range");
    if (!is_view(&r->x) || !is_view(&r->y) || !within(r->cos_strides, 8, 0, ELEMENT_LIMIT))
        return refuse(c, "a view is out of range");
    if (repeats_places(extents, r->y.strides, 4)) return refuse(c, "its result is written more than once");
    return check_operand(c, AF_RESULT, span_view(&r->y, extents)) ||
           check_operand(c, AF_X, span_view(&r->x, extents)) ||
           check_operand(c, AF_X + 1, span_axes(angles, r->cos_strides, 4, 1)) ||
           check_operand(c, AF_X + 2, span_axes(angles, r->sin_strides, 4, 1)) || check_absent(c, AF_X + 3) ||
           check_overlap(c, 0);
}

static int check_table(const checker *c, int number) {
    const af_embedding *e = &c->step->embedding;
    const af_table *table = &e->tables[number];
    int place = AF_X + 2 * number;
    if (c->step->operands[place].space == AF_NONE)
        return number == 0 ? refuse(c, "operand %d is absent", place) : 0;
    if (!within(&table->count, 1, 0, WINDOW_LIMIT) || !within(table->strides, AF_LEADING, 0, ELEMENT_LIMIT) ||
        !within(&table->step, 1, 0, 1) || !is_readable(c, table->type) ||
        (table->id_size == 0 && table->type != c->step->type))
        return refuse(c, "table %d is out of range", number);
    int64_t innermost = table->id_size == 0 && table->step ? e->columns : 1;
    int64_t reach = span_axes(e->extents, table->strides, AF_LEADING, innermost);
    if (table->id_size == 0)
        return check_operand(c, place, reach) ||
               (c->step->operands[place + 1].space != AF_NONE ? refuse(c, "operand %d has no use", place + 1) : 0);
    if (table->id_size != 4 && table->id_size != 8)
        return refuse(c, "its ids have %lld bytes", (long long)table->id_size);
    return check_sized(c, place, times(table->count, e->columns), element_size(table->type)) ||
           check_sized(c, place + 1, reach, table->id_size);
}

int af_check_embedding(const checker *c) {
    const af_embedding *e = &c->step->embedding;
    const int64_t extents[] = {e->extents[0], e->extents[1], e->extents[2], e->extents[3], e->columns};
    if (!within(extents, 5, 0, WINDOW_LIMIT) || !is_countable(extents, 5))
        return refuse(c, "it has too many elements");
    if (check_code(c, "normalization", e->kind, AF_NORM_KIND_COUNT)) return -1;
    for (int number = 0; number < AF_TABLES; number++)
        if (check_table(c, number)) return -1;
    int64_t elements = times(multiply_extents(e->extents, AF_LEADING), e->columns);
    return check_operand(c, AF_RESULT, elements) || check_optional(c, AF_FURTHER, elements) ||
           check_optional(c, AF_X + 6, e->columns) || check_optional(c, AF_X + 7, e->columns) || check_overlap(c, 0);
}

/* Results of a product, of which a gated one has one for two halves. */
static int check_parts(const checker *c) {
    const af_product *p = &c->step->product;
    int results = p->gated ? 1 : (int)p->parts;
    for (int part = 1; part < AF_RESULTS; part++) {
        int place = AF_FURTHER + part - 1;
        if (part < results && check_operand(c, place, times(p->rows, p->widths[part]))) return -1;
        if (part >= results && c->step->operands[place].space != AF_NONE)
            return refuse(c, "operand %d has no use", place);
    }
    return check_operand(c, AF_RESULT, times(p->rows, p->widths[0]));
}

int af_check_product(const checker *c) {
    const af_product *p = &c->step->product;
    if (!within(&p->rows, 2, 0, ELEMENT_LIMIT) || !within(&p->parts, 1, 1, AF_RESULTS) ||
        !within(p->widths, AF_RESULTS, 0, WINDOW_LIMIT))
        return refuse(c, "an extent is out of range");
    if (check_code(c, "activation", p->activation, AF_ACTIVATION_COUNT) ||
        check_code(c, "normalization", p->norm, AF_NORM_KIND_COUNT))
        return -1;
    if (!is_readable(c, p->type)) return refuse(c, "its matrix is of type %lld", (long long)p->type);
    if (!within(&p->gated, 1, 0, 1) || (p->gated && (p->parts != 2 || p->widths[0] != p->widths[1])))
        return refuse(c, "its halves do not fit");
    int64_t columns = 0, panels = 0;
    for (int part = 0; part < p->parts; part++) {
        columns += p->widths[part];
        panels += divide_up(p->widths[part], AF_PANEL);
    }
    const int64_t shapes[][2] = {{p->rows, p->depth}, {p->depth, times(panels, AF_PANEL)}, {p->rows, columns}};
    if (!is_countable(shapes[0], 2) || !is_countable(shapes[1], 2) || !is_countable(shapes[2], 2))
        return refuse(c, "its matrices are too large");
    if (is_double(c) && p->depth > WINDOW_LIMIT) return refuse(c, "its matrices are too deep");
    int64_t scratch = is_double(c) ? af_product_double_scratch(p) : af_product_scratch(p);
    int has_residual = c->step->operands[AF_RESIDUAL].space != AF_NONE;
    if (has_residual && p->parts > 1) return refuse(c, "a residual has no place in several parts");
    return check_parts(c) || check_operand(c, AF_A, times(p->rows, p->depth)) ||
           check_sized(c, AF_B, times(times(panels, AF_PANEL), p->depth), element_size(p->type)) ||
           check_optional(c, AF_BIAS, columns) ||
           check_optional(c, AF_RESIDUAL, times(p->rows, p->widths[0])) || check_optional(c, 5, p->depth) ||
           check_optional(c, 6, p->depth) || check_scratch(c, scratch) || check_overlap(c, 0);
}
