/* Tensors that follow from a few numbers: arithmetic progressions, and matrices cut along a diagonal. */
#include <string.h>

#include "call.h"
#include "element.h"

#define PROGRESS(type, wide)                                                                         \
    static void progress_##type(const void *start, const void *delta, void *y, af_range own) {       \
        wide first = (wide) * (const af_##type *)start, step = (wide) * (const af_##type *)delta;    \
        for (int64_t i = own.first; i < own.last; i++) ((af_##type *)y)[i] = (af_##type)(first + (wide)i * step); \
    }

PROGRESS(float, float)
PROGRESS(double, double)
PROGRESS(int16, uint64_t)
PROGRESS(int32, uint64_t)
PROGRESS(int64, uint64_t)

void af_run_progression(const af_call *call, int64_t part, int64_t parts) {
    const af_progression *p = &call->step->progression;
    const void *start = call->operands[AF_A], *delta = call->operands[AF_B];
    void *y = call->operands[AF_RESULT];
    af_range own = share(p->count, 16, part, parts);
    switch (p->type) {
    case AF_FLOAT: progress_float(start, delta, y, own); break;
    case AF_DOUBLE: progress_double(start, delta, y, own); break;
    case AF_INT16: progress_int16(start, delta, y, own); break;
    case AF_INT32: progress_int32(start, delta, y, own); break;
    default: progress_int64(start, delta, y, own); break;
    }
}

/* Columns first..last-1 of a row are kept. */
static af_range keep_columns(const af_triangle *t, int64_t row) {
    int64_t border = row + t->diagonal;
    if (t->upper) return (af_range){smaller(border < 0 ? 0 : border, t->columns), t->columns};
    return (af_range){0, border < 0 ? 0 : smaller(border + 1, t->columns)};
}

void af_run_triangle(const af_call *call, int64_t part, int64_t parts) {
    const af_triangle *t = &call->step->triangle;
    int64_t bytes = t->columns * t->size;
    af_range rows = share(bytes > 0 ? t->matrices * t->rows : 0, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        af_range kept = keep_columns(t, row % t->rows);
        char *y = (char *)call->operands[AF_RESULT] + row * bytes;
        int64_t first = kept.first * t->size;
        memset(y, 0, (size_t)bytes);
        memcpy(y + first, (const char *)call->operands[AF_X] + row * bytes + first,
               (size_t)(kept.last * t->size - first));
    }
}
