/* Steps that work element by element: affine, unary, binary, copy. */
#include "activation.h"
#include "call.h"
#include "combine.h"
#include "vector.h"

/* Elements of a row that are worked on before the next operation passes over them. */
enum { CHUNK = 1024 };

/* Rows without gaps between them are one long row. */
static af_rows join_rows(const af_rows *rows) {
    af_rows joined = *rows;
    if (rows->x_pitch != rows->columns || rows->y_pitch != rows->columns) return joined;
    joined.columns = joined.x_pitch = joined.y_pitch = rows->rows * rows->columns;
    joined.rows = 1;
    return joined;
}

void af_run_unary(const af_call *call, int64_t part, int64_t parts) {
    af_rows shape = join_rows(&call->step->rows);
    af_activation activation = {shape.function, (float)call->step->alpha, (float)call->step->beta};
    af_range rows = {0, shape.rows}, columns = {0, shape.columns};
    if (shape.rows == 1)
        columns = share(shape.columns, AF_PANEL, part, parts);
    else
        rows = share(shape.rows, 1, part, parts);
    const float *x = call->operands[AF_X] + rows.first * shape.x_pitch + columns.first;
    float *y = call->operands[AF_RESULT] + rows.first * shape.y_pitch + columns.first;
    af_apply(&activation, x, shape.x_pitch, y, shape.y_pitch, rows.last - rows.first, columns.last - columns.first);
}

void af_run_affine(const af_call *call, int64_t part, int64_t parts) {
    const af_rows *shape = &call->step->rows;
    const float *scale = call->operands[AF_SCALE], *shift = call->operands[AF_SHIFT];
    af_activation activation = {shape->function, (float)call->step->alpha, (float)call->step->beta};
    af_range rows = share(shape->rows, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        const float *x = call->operands[AF_X] + row * shape->x_pitch;
        float *y = call->operands[AF_RESULT] + row * shape->y_pitch;
        int64_t i = 0;
        for (; i + AF_WIDTH <= shape->columns; i += AF_WIDTH)
            store(y + i, load(x + i) * load(scale + i) + load(shift + i));
        for (; i < shape->columns; i++) y[i] = x[i] * scale[i] + shift[i];
        af_apply(&activation, y, shape->y_pitch, y, shape->y_pitch, 1, shape->columns);
    }
}

/* A run of elements of a binary step, each operand's by a step of its own; `further` rows of them follow. */
typedef struct run {
    const float *a, *b;
    float *y;
    int64_t count, a_step, b_step, y_step, further;
} run;

/* Elements that are not side by side pass through buffers that are. */
static void combine_strided(int64_t operator, const run *r) {
    float a[AF_PANEL], b[AF_PANEL], y[AF_PANEL];
    for (int64_t first = 0; first < r->count; first += AF_PANEL) {
        af_pair_row piece = {a, b, y, smaller(r->count - first, AF_PANEL), 1, 1, 0, 0, 0, 0};
        for (int64_t i = 0; i < piece.count; i++) {
            a[i] = r->a[(first + i) * r->a_step];
            b[i] = r->b[(first + i) * r->b_step];
        }
        af_combine(operator, &piece);
        for (int64_t i = 0; i < piece.count; i++) r->y[(first + i) * r->y_step] = y[i];
    }
}

/* Whether results, and what each operand has for them, lie side by side. */
static int is_near(const run *r) { return r->y_step == 1 && (r->a_step | r->b_step | 1) == 1; }

enum { INNER = AF_AXES - 1 };

static void run_chunk(const af_call *call, const run *r) {
    const af_binary *binary = &call->step->binary;
    af_activation activation = {binary->activation, (float)call->step->alpha, (float)call->step->beta};
    int64_t y_pitch = binary->y_strides[INNER - 1];
    const af_pair_row rows = {r->a, r->b, r->y, r->count, r->a_step, r->b_step, r->further,
                              binary->a_strides[INNER - 1], binary->b_strides[INNER - 1], y_pitch};
    if (is_near(r))
        af_combine(binary->operator, &rows);
    else
        combine_strided(binary->operator, r);
    if (r->y_step == 1)
        af_apply(&activation, r->y, y_pitch, r->y, y_pitch, r->further + 1, r->count);
    else
        af_apply(&activation, r->y, r->y_step, r->y, r->y_step, r->count, 1);
}

/* A row of a binary step: its index along the outer axes, and where it begins in each operand. */
typedef struct place {
    int64_t at[INNER], a, b, y;
} place;

static place find_row(const af_binary *binary, int64_t row) {
    place p = {.a = 0};
    for (int axis = INNER - 1; axis >= 0; axis--) {
        p.at[axis] = row % binary->extents[axis];
        p.a += p.at[axis] * binary->a_strides[axis];
        p.b += p.at[axis] * binary->b_strides[axis];
        p.y += p.at[axis] * binary->y_strides[axis];
        row /= binary->extents[axis];
    }
    return p;
}

/* Go on by `rows` rows, which are there before the axis ends. */
static void skip(const af_binary *binary, place *p, int64_t rows) {
    p->at[INNER - 1] += rows;
    p->a += rows * binary->a_strides[INNER - 1];
    p->b += rows * binary->b_strides[INNER - 1];
    p->y += rows * binary->y_strides[INNER - 1];
}

static void advance(const af_binary *binary, place *p) {
    for (int axis = INNER - 1; axis >= 0; axis--) {
        int is_end = ++p->at[axis] == binary->extents[axis];
        int64_t steps = is_end ? 1 - binary->extents[axis] : 1;
        p->a += steps * binary->a_strides[axis];
        p->b += steps * binary->b_strides[axis];
        p->y += steps * binary->y_strides[axis];
        if (!is_end) return;
        p->at[axis] = 0;
    }
}

void af_run_binary(const af_call *call, int64_t part, int64_t parts) {
    const af_binary *binary = &call->step->binary;
    int64_t row_count = 1;
    for (int axis = 0; axis < INNER; axis++) row_count *= binary->extents[axis];
    af_range rows = {0, row_count}, columns = {0, binary->extents[INNER]};
    if (row_count >= parts)
        rows = share(row_count, 1, part, parts);
    else
        columns = share(columns.last, AF_PANEL, part, parts);
    if (rows.first == rows.last) return;
    place p = find_row(binary, rows.first);
    run chunk = {.a_step = binary->a_strides[INNER], .b_step = binary->b_strides[INNER],
                 .y_step = binary->y_strides[INNER]};
    int64_t most = is_near(&chunk) ? CHUNK / (columns.last - columns.first + 1) : 0;
    for (int64_t row = rows.first; row < rows.last; row++, advance(binary, &p)) {
        /* Short rows are worked on together. */
        int64_t left = smaller(rows.last - row, binary->extents[INNER - 1] - p.at[INNER - 1]);
        chunk.further = most > 1 ? smaller(left, most) - 1 : 0;
        for (int64_t column = columns.first; column < columns.last; column += CHUNK) {
            chunk.a = call->operands[AF_A] + p.a + column * chunk.a_step;
            chunk.b = call->operands[AF_B] + p.b + column * chunk.b_step;
            chunk.y = call->operands[AF_RESULT] + p.y + column * chunk.y_step;
            chunk.count = smaller(columns.last - column, CHUNK);
            run_chunk(call, &chunk);
        }
        skip(binary, &p, chunk.further);
        row += chunk.further;
    }
}

void af_run_copy(const af_call *call, int64_t part, int64_t parts) {
    af_range bytes = share(call->step->operands[AF_RESULT].bytes, 4096, part, parts);
    const char *x = (const char *)call->operands[AF_X] + bytes.first;
    memcpy((char *)call->operands[AF_RESULT] + bytes.first, x, (size_t)(bytes.last - bytes.first));
}
