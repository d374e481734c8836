/* Steps on doubles that work element by element: affine, unary, binary, relayout. */
#include "double.h"
#include "double_activation.h"
#include "double_combine.h"
#include "double_vector.h"
#include "walk.h"

/* Elements of a row that are worked on before the activation passes over them. */
enum { CHUNK = 512 };

void af_run_unary_double(const af_call *call, int64_t part, int64_t parts) {
    const af_rows *shape = &call->step->rows;
    af_double_activation activation = {shape->function, call->step->alpha, call->step->beta};
    af_range rows = {0, shape->rows}, columns = {0, shape->columns};
    if (shape->rows >= parts)
        rows = share(shape->rows, 1, part, parts);
    else
        columns = share(shape->columns, AF_PANEL, part, parts);
    const af_double *x = find_doubles(call, AF_X) + rows.first * shape->x_pitch + columns.first;
    af_double *y = find_doubles(call, AF_RESULT) + rows.first * shape->y_pitch + columns.first;
    af_apply_double(&activation, x, shape->x_pitch, y, shape->y_pitch, rows.last - rows.first,
                    columns.last - columns.first);
}

void af_run_affine_double(const af_call *call, int64_t part, int64_t parts) {
    const af_rows *shape = &call->step->rows;
    const af_double *scale = find_doubles(call, AF_SCALE), *shift = find_doubles(call, AF_SHIFT);
    af_double_activation activation = {shape->function, call->step->alpha, call->step->beta};
    af_range rows = share(shape->rows, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        const af_double *x = find_doubles(call, AF_X) + row * shape->x_pitch;
        af_double *y = find_doubles(call, AF_RESULT) + row * shape->y_pitch;
        for (int64_t i = 0; i < shape->columns; i++) y[i] = x[i] * scale[i] + shift[i];
        af_apply_double(&activation, y, shape->y_pitch, y, shape->y_pitch, 1, shape->columns);
    }
}

/* A run of results that are `y_step` apart: those that are not side by side pass through buffers that are. */
static void run_chunk(const af_binary *binary, const af_double_activation *activation, const af_double *a,
                      const af_double *b, af_double *y, int64_t count) {
    int64_t a_step = binary->a_strides[AF_INNER], b_step = binary->b_strides[AF_INNER];
    int64_t y_step = binary->y_strides[AF_INNER];
    double left[CHUNK], right[CHUNK], results[CHUNK];
    af_double_pairs pairs = {a, b, y_step == 1 ? y : results, count, a_step, b_step};
    if (a_step > 1) {
        for (int64_t i = 0; i < count; i++) left[i] = a[i * a_step];
        pairs.a = left;
        pairs.a_step = 1;
    }
    if (b_step > 1) {
        for (int64_t i = 0; i < count; i++) right[i] = b[i * b_step];
        pairs.b = right;
        pairs.b_step = 1;
    }
    af_combine_doubles(binary->operator, &pairs);
    af_apply_double(activation, pairs.y, count, pairs.y, count, 1, count);
    for (int64_t i = 0; y_step != 1 && i < count; i++) y[i * y_step] = results[i];
}

void af_run_binary_double(const af_call *call, int64_t part, int64_t parts) {
    const af_binary *binary = &call->step->binary;
    const af_double_activation activation = {binary->activation, call->step->alpha, call->step->beta};
    af_range rows, columns;
    share_rows(binary->extents, part, parts, &rows, &columns);
    af_walk walk = {.extents = binary->extents,
                    .strides = {binary->a_strides, binary->b_strides, binary->y_strides},
                    .operands = 3};
    if (rows.first < rows.last) seek_row(&walk, rows.first);
    for (int64_t row = rows.first; row < rows.last; row++, next_row(&walk))
        for (int64_t column = columns.first; column < columns.last; column += CHUNK)
            run_chunk(binary, &activation,
                      find_doubles(call, AF_A) + walk.place[0] + column * binary->a_strides[AF_INNER],
                      find_doubles(call, AF_B) + walk.place[1] + column * binary->b_strides[AF_INNER],
                      find_doubles(call, AF_RESULT) + walk.place[2] + column * binary->y_strides[AF_INNER],
                      smaller(columns.last - column, CHUNK));
}

/* Pixels and channels of a square that fits into the first-level cache on both sides. */
enum { SQUARE = 16 };

void af_run_relayout_double(const af_call *call, int64_t part, int64_t parts) {
    const af_relayout *r = &call->step->relayout;
    af_range pixels = share(r->extents[AF_PIXEL], SQUARE, part, parts);
    for (int64_t image = 0; image < r->extents[AF_IMAGE]; image++) {
        const af_double *x = find_doubles(call, AF_X) + image * r->x_strides[AF_IMAGE];
        af_double *y = find_doubles(call, AF_RESULT) + image * r->y_strides[AF_IMAGE];
        for (int64_t first = pixels.first; first < pixels.last; first += SQUARE)
            for (int64_t channel = 0; channel < r->extents[AF_CHANNEL]; channel++)
                for (int64_t pixel = first; pixel < smaller(first + SQUARE, pixels.last); pixel++)
                    y[pixel * r->y_strides[AF_PIXEL] + channel * r->y_strides[AF_CHANNEL]] =
                        x[pixel * r->x_strides[AF_PIXEL] + channel * r->x_strides[AF_CHANNEL]];
    }
}
