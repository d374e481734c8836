/* Validation of records.  They come from files that nobody vouches for: after af_check no kernel reads or writes
   outside the operands of its record, and no operand lies outside its space. */
#include "check.h"

#include "data.h"

int af_check_window(const checker *c, const af_window *w, int ceil_mode) {
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

static int check_matmul(const checker *c) {
    const af_matmul *p = &c->step->matmul;
    if (!within(c->step->ints, 3 * AF_BATCH_AXES + 3, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    if (!within(&p->trans_a, 2, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (check_code(c, "activation", p->activation, AF_ACTIVATION_COUNT)) return -1;
    int64_t matrices = multiply_extents(p->batch, AF_BATCH_AXES), y = times(matrices, times(p->rows, p->columns));
    const int64_t shapes[][2] = {{p->rows, p->depth}, {p->depth, p->columns + AF_PANEL}, {p->rows, p->columns}};
    int64_t a = times(p->rows, p->depth), b = times(p->depth, p->columns);
    if (!is_countable(p->batch, AF_BATCH_AXES) || !is_countable(shapes[0], 2) || !is_countable(shapes[1], 2) ||
        !is_countable(shapes[2], 2))
        return refuse(c, "its matrices are too large");
    if (is_double(c) && p->depth > WINDOW_LIMIT) return refuse(c, "its matrices are too deep");
    int64_t scratch = is_double(c) ? af_matmul_double_scratch(p) : af_matmul_scratch(p);
    return check_operand(c, AF_RESULT, y) ||
           check_operand(c, AF_A, span_axes(p->batch, p->a_strides, AF_BATCH_AXES, a)) ||
           check_operand(c, AF_B, span_axes(p->batch, p->b_strides, AF_BATCH_AXES, b)) ||
           check_optional(c, AF_BIAS, p->columns) || check_optional(c, AF_RESIDUAL, y) ||
           check_absent(c, AF_RESIDUAL + 1) || check_scratch(c, scratch) || check_overlap(c, 0);
}

/* The extents of a pool are sane and fit each other. */
int af_check_pool(const checker *c, const af_pool *pool) {
    const af_window *w = &pool->window;
    const int64_t extents[] = {pool->batch, pool->channels, pool->x_pitch, pool->y_pitch};
    if (!within(extents, 4, 0, WINDOW_LIMIT)) return refuse(c, "an extent is out of range");
    if (pool->x_pitch < pool->channels || pool->y_pitch < pool->channels)
        return refuse(c, "a pitch is less than the number of channels");
    if (!within(&pool->include_pad, 1, 0, 1)) return refuse(c, "a flag is neither 0 nor 1");
    if (check_code(c, "kind of pooling", pool->kind, AF_POOL_KIND_COUNT) || af_check_window(c, w, 1)) return -1;
    if (!are_images_countable(pool->batch, w, pool->x_pitch, pool->y_pitch))
        return refuse(c, "its images are too large");
    return 0;
}

static int check_pool(const checker *c) {
    const af_pool *pool = &c->step->pool;
    const af_window *w = &pool->window;
    if (af_check_pool(c, pool)) return -1;
    return check_operand(c, AF_RESULT, span_images(pool->batch, w->y, pool->channels, pool->y_pitch)) ||
           check_operand(c, AF_X, span_images(pool->batch, w->x, pool->channels, pool->x_pitch)) ||
           check_absent(c, AF_X + 1) ||
           check_overlap_beside(c, 0, find_beside(c, AF_X, pool->channels, pool->x_pitch, pool->channels, pool->y_pitch));
}

static int check_rows(const checker *c, int is_affine) {
    const af_rows *r = &c->step->rows;
    if (!within(c->step->ints, 4, 0, ELEMENT_LIMIT)) return refuse(c, "an extent is out of range");
    const int64_t extents[] = {r->rows, r->columns};
    if (!is_countable(extents, 2)) return refuse(c, "it has too many elements");
    if (r->x_pitch < r->columns || r->y_pitch < r->columns)
        return refuse(c, "a pitch is less than the number of channels");
    int functions = is_double(c) ? AF_TO_FLOAT16 : AF_FUNCTION_COUNT;
    if (check_code(c, "function", r->function, is_affine ? AF_ACTIVATION_COUNT : functions)) return -1;
    if (check_operand(c, AF_RESULT, span_rows(r->rows, r->columns, r->y_pitch)) ||
        check_operand(c, AF_X, span_rows(r->rows, r->columns, r->x_pitch)) ||
        (is_affine && (check_operand(c, AF_SCALE, r->columns) || check_operand(c, AF_SHIFT, r->columns))))
        return -1;
    int beside = find_beside(c, AF_X, r->columns, r->x_pitch, r->columns, r->y_pitch);
    return check_absent(c, is_affine ? AF_SHIFT + 1 : AF_X + 1) ||
           check_overlap_beside(c, (r->x_pitch == r->y_pitch) << AF_X, beside);
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
    int beside = find_beside_axes(c, AF_A, b->extents, b->a_strides, b->y_strides, AF_AXES) |
                 find_beside_axes(c, AF_B, b->extents, b->b_strides, b->y_strides, AF_AXES);
    for (int axis = 0; axis < AF_AXES; axis++) {
        if (b->extents[axis] <= 1) continue;
        if (b->a_strides[axis] != b->y_strides[axis]) in_place &= ~(1 << AF_A);
        if (b->b_strides[axis] != b->y_strides[axis]) in_place &= ~(1 << AF_B);
    }
    return check_operand(c, AF_RESULT, span_axes(b->extents, b->y_strides, AF_AXES, 1)) ||
           check_operand(c, AF_A, span_axes(b->extents, b->a_strides, AF_AXES, 1)) ||
           check_operand(c, AF_B, span_axes(b->extents, b->b_strides, AF_AXES, 1)) || check_absent(c, AF_B + 1) ||
           check_overlap_beside(c, in_place, beside);
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
    int has_type = c->step->type == AF_FLOAT || (is_double(c) && af_find_double_kernel(c->step->kernel));
    if (!has_type) return refuse(c, "it does not compute with type %d", c->step->type);
    switch (c->step->kernel) {
    case AF_PASS: return 0;
    case AF_CONV: return af_check_conv(c);
    case AF_MATMUL: return check_matmul(c);
    case AF_POOL: return check_pool(c);
    case AF_AFFINE: return check_rows(c, 1);
    case AF_UNARY: return check_rows(c, 0);
    case AF_BINARY: return check_binary(c);
    case AF_RELAYOUT: return check_relayout(c);
    case AF_COPY: return check_copy(c);
    default: break;
    }
    const af_data_kernel *data = af_find_data_kernel(c->step->kernel);
    return data ? data->check(c) : refuse(c, "kernel %d is not known", c->step->kernel);
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
