/* The elements of x in the order of y, each of both found by an offset and one stride an axis. */
#include <string.h>

#include "element.h"
#include "walk.h"

/* Rows and columns of a square that fits into the first-level cache on both sides. */
enum { SQUARE = 32 };

/* Lines of elements: `count` of them, `step` elements apart, in x and y. */
typedef struct lines {
    int64_t count, x_step, y_step;
} lines;

#define COPY_LINES(type)                                                                                        \
    static void copy_##type(const void *x, void *y, lines rows, lines columns) {                                \
        const af_##type *from = x;                                                                              \
        af_##type *to = y;                                                                                      \
        for (int64_t row = 0; row < rows.count; row++) {                                                        \
            const af_##type *source = from + row * rows.x_step;                                                 \
            af_##type *target = to + row * rows.y_step;                                                         \
            if (columns.y_step == 1 && columns.x_step == 0)                                                     \
                for (int64_t i = 0; i < columns.count; i++) target[i] = source[0];                              \
            else if (columns.y_step == 1)                                                                       \
                for (int64_t i = 0; i < columns.count; i++) target[i] = source[i * columns.x_step];             \
            else if (columns.x_step == 1)                                                                       \
                for (int64_t i = 0; i < columns.count; i++) target[i * columns.y_step] = source[i];             \
            else                                                                                                \
                for (int64_t i = 0; i < columns.count; i++)                                                     \
                    target[i * columns.y_step] = source[i * columns.x_step];                                    \
        }                                                                                                       \
    }

COPY_LINES(uint8)
COPY_LINES(uint16)
COPY_LINES(uint32)
COPY_LINES(uint64)

static void copy_lines(int64_t size, const char *x, char *y, lines rows, lines columns) {
    if (columns.x_step == 1 && columns.y_step == 1) {
        for (int64_t row = 0; row < rows.count; row++)
            memcpy(y + row * rows.y_step * size, x + row * rows.x_step * size, (size_t)(columns.count * size));
        return;
    }
    switch (size) {
    case 1: copy_uint8(x, y, rows, columns); break;
    case 2: copy_uint16(x, y, rows, columns); break;
    case 4: copy_uint32(x, y, rows, columns); break;
    default: copy_uint64(x, y, rows, columns); break;
    }
}

/* Squares of which one side is near in x and the other in y. */
static void copy_squares(int64_t size, const char *x, char *y, lines rows, lines columns) {
    for (int64_t row = 0; row < rows.count; row += SQUARE)
        for (int64_t column = 0; column < columns.count; column += SQUARE) {
            lines some_rows = {smaller(rows.count - row, SQUARE), rows.x_step, rows.y_step};
            lines some_columns = {smaller(columns.count - column, SQUARE), columns.x_step, columns.y_step};
            const char *source = x + (row * rows.x_step + column * columns.x_step) * size;
            char *target = y + (row * rows.y_step + column * columns.y_step) * size;
            copy_lines(size, source, target, some_rows, some_columns);
        }
}

/* The axis that is walked together with the innermost one: the one along which x is contiguous, else the next. */
static int find_partner(const af_strided *s) {
    int inner_is_near = s->x_strides[AF_INNER] == 1 || s->extents[AF_INNER] == 1;
    for (int axis = AF_INNER - 1; axis >= 0 && !inner_is_near; axis--)
        if (s->x_strides[axis] == 1 && s->extents[axis] > 1) return axis;
    return AF_INNER - 1;
}

void af_run_strided(const af_call *call, int64_t part, int64_t parts) {
    af_strided s = call->step->strided;
    int partner = find_partner(&s);
    lines rows = {s.extents[partner], s.x_strides[partner], s.y_strides[partner]};
    lines columns = {s.extents[AF_INNER], s.x_strides[AF_INNER], s.y_strides[AF_INNER]};
    s.extents[partner] = 1;
    const char *x = (const char *)call->operands[AF_X] + s.x_offset * s.size;
    char *y = (char *)call->operands[AF_RESULT] + s.y_offset * s.size;
    af_range blocks = {0, rows.count > 0 ? count_rows(s.extents) : 0}, own_rows = {0, rows.count};
    if (blocks.last >= parts)
        blocks = share(blocks.last, 1, part, parts);
    else
        own_rows = share(rows.count, 1, part, parts);
    rows.count = own_rows.last - own_rows.first;
    x += own_rows.first * rows.x_step * s.size;
    y += own_rows.first * rows.y_step * s.size;
    int squared = columns.x_step > 1 && rows.x_step == 1;
    af_walk walk = {.extents = s.extents, .strides = {s.x_strides, s.y_strides}, .operands = 2};
    if (blocks.first < blocks.last) seek_row(&walk, blocks.first);
    for (int64_t block = blocks.first; block < blocks.last; block++, next_row(&walk)) {
        const char *source = x + walk.place[0] * s.size;
        char *target = y + walk.place[1] * s.size;
        (squared ? copy_squares : copy_lines)(s.size, source, target, rows, columns);
    }
}
