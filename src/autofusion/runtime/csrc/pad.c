/* A tensor with a border of one value, or of its own elements, or cropped. */
#include <string.h>

#include "element.h"
#include "walk.h"

/* The element of the source axis that stands at `at`, which may lie outside; -1 where none does. */
static int64_t find_source(int64_t mode, int64_t at, int64_t extent) {
    if (at >= 0 && at < extent) return at;
    if (mode == AF_PAD_CONSTANT || extent == 0) return -1;
    if (mode == AF_PAD_EDGE) return at < 0 ? 0 : extent - 1;
    int64_t period = mode == AF_PAD_WRAP || extent == 1 ? extent : 2 * (extent - 1), place = at % period;
    if (place < 0) place += period;
    return place < extent ? place : period - place;
}

static void put_element(char *y, const char *e, int64_t size) {
    switch (size) {
    case 1: memcpy(y, e, 1); break;
    case 2: memcpy(y, e, 2); break;
    case 4: memcpy(y, e, 4); break;
    default: memcpy(y, e, 8); break;
    }
}

/* Columns first..last-1 of a row one by one; a null `x` is a row outside of the source. */
static void fill_columns(const af_pad *p, const char *x, char *y, const char *value, af_range columns) {
    int64_t y_step = p->y_strides[AF_INNER] * p->size, x_step = p->x_strides[AF_INNER] * p->size;
    for (int64_t column = columns.first; column < columns.last; column++) {
        int64_t source = x ? find_source(p->mode, column - p->begins[AF_INNER], p->sources[AF_INNER]) : -1;
        put_element(y + column * y_step, source < 0 ? value : x + source * x_step, p->size);
    }
}

static void pad_row(const af_pad *p, const char *x, char *y, const char *value) {
    int64_t columns = p->extents[AF_INNER], begin = p->begins[AF_INNER];
    int64_t first = smaller(begin > 0 ? begin : 0, columns), last = smaller(begin + p->sources[AF_INNER], columns);
    int is_near = p->x_strides[AF_INNER] == 1 && p->y_strides[AF_INNER] == 1;
    if (!x || !is_near || last <= first) {
        fill_columns(p, x, y, value, (af_range){0, columns});
        return;
    }
    fill_columns(p, x, y, value, (af_range){0, first});
    memcpy(y + first * p->size, x + (first - begin) * p->size, (size_t)((last - first) * p->size));
    fill_columns(p, x, y, value, (af_range){last, columns});
}

void af_run_pad(const af_call *call, int64_t part, int64_t parts) {
    const af_pad *p = &call->step->pad;
    static const char zeros[8];
    const char *value = call->operands[AF_B] ? (const char *)call->operands[AF_B] : zeros;
    af_range rows = share(count_rows(p->extents), 1, part, parts);
    af_walk walk = {.extents = p->extents, .strides = {p->y_strides}, .operands = 1};
    if (rows.first < rows.last) seek_row(&walk, rows.first);
    for (int64_t row = rows.first; row < rows.last; row++, next_row(&walk)) {
        const char *x = (const char *)call->operands[AF_X];
        for (int axis = 0; axis < AF_INNER && x; axis++) {
            int64_t source = find_source(p->mode, walk.at[axis] - p->begins[axis], p->sources[axis]);
            x = source < 0 ? NULL : x + source * p->x_strides[axis] * p->size;
        }
        pad_row(p, x, (char *)call->operands[AF_RESULT] + walk.place[0] * p->size, value);
    }
}
