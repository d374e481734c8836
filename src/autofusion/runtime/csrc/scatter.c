/* A copy of a tensor with updates at places that indices name, put there or combined with what is there. */
#include "element.h"
#include "fault.h"
#include "walk.h"

#define COMBINE(type, wide)                                                                              \
    static void combine_##type(int64_t reduction, af_##type *y, af_##type e) {                           \
        switch (reduction) {                                                                             \
        case AF_PUT_SUM: *y = (af_##type)((wide)*y + (wide)e); break;                                    \
        case AF_PUT_PROD: *y = (af_##type)((wide)*y * (wide)e); break;                                   \
        case AF_PUT_MAX: *y = e > *y || e != e ? e : *y; break;                                          \
        default: *y = e < *y || e != e ? e : *y; break;                                                  \
        }                                                                                                \
    }

/* Integers wrap. */
COMBINE(float, float)
COMBINE(double, double)
COMBINE(int32, uint32_t)
COMBINE(int64, uint64_t)

static void put(int64_t type, int64_t reduction, char *y, const char *e, int64_t count) {
    int64_t size = element_size(type);
    if (reduction == AF_PUT) {
        copy_block(y, e, (size_t)(count * size));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        void *to = y + i * size;
        const void *from = e + i * size;
        switch (type) {
        case AF_FLOAT: combine_float(reduction, to, *(const af_float *)from); break;
        case AF_DOUBLE: combine_double(reduction, to, *(const af_double *)from); break;
        case AF_INT32: combine_int32(reduction, to, *(const af_int32 *)from); break;
        default: combine_int64(reduction, to, *(const af_int64 *)from); break;
        }
    }
}

static void copy_base(const af_call *call) {
    memcpy(call->operands[AF_RESULT], call->operands[AF_X], (size_t)call->step->operands[AF_RESULT].bytes);
}

/* Updates may name one place several times and keep their order: one thread does all. */
void af_run_scatter_elements(const af_call *call, int64_t part, int64_t parts) {
    const af_elements *e = &call->step->elements;
    int64_t size = element_size(e->type), columns = e->extents[AF_INNER], rows = count_rows(e->extents);
    const char *updates = (const char *)call->operands[AF_UPDATES];
    char *y = (char *)call->operands[AF_RESULT];
    if (part != parts - 1) return;
    copy_base(call);
    af_walk walk = {.extents = e->extents, .strides = {e->strides}, .operands = 1};
    if (rows > 0) seek_row(&walk, 0);
    for (int64_t row = 0; row < rows; row++, next_row(&walk)) {
        for (int64_t column = 0; column < columns; column++) {
            int64_t at = row * columns + column;
            int64_t place = resolve_index(read_index(call->operands[AF_INDICES], e->index_size, at), e->axis_extent);
            if (place < 0) {
                report_fault(call);
                return;
            }
            int64_t to = walk.place[0] + column * e->strides[AF_INNER] + place * e->axis_stride;
            put(e->type, e->reduction, y + to * size, updates + at * size, 1);
        }
    }
}

void af_run_scatter_blocks(const af_call *call, int64_t part, int64_t parts) {
    const af_blocks *b = &call->step->blocks;
    int64_t block = b->inner * element_size(b->type);
    const char *updates = (const char *)call->operands[AF_UPDATES];
    char *y = (char *)call->operands[AF_RESULT];
    if (part != parts - 1) return;
    copy_base(call);
    for (int64_t at = 0; at < b->count && block > 0; at++) {
        int64_t place = find_block(call, b, at);
        if (place < 0) {
            report_fault(call);
            return;
        }
        put(b->type, b->reduction, y + place * block, updates + at * block, b->inner);
    }
}
