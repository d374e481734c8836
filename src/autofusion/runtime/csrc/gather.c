/* Elements and blocks at places that indices name; indices outside of their axis are a fault, and nothing is read. */
#include <string.h>

#include "fault.h"
#include "walk.h"
#include "widen.h"

void af_run_gather(const af_call *call, int64_t part, int64_t parts) {
    const af_gather *g = &call->step->gather;
    const char *x = (const char *)call->operands[AF_X];
    char *y = (char *)call->operands[AF_RESULT];
    size_t bytes = (size_t)(g->inner * g->size);
    af_range own = share(bytes > 0 ? g->outer * g->count : 0, 1, part, parts);
    for (int64_t row = own.first; row < own.last; row++) {
        int64_t place = resolve_index(read_index(call->operands[AF_INDICES], g->index_size, row % g->count), g->extent);
        if (place < 0) {
            report_fault(call);
            return;
        }
        const char *from = x + (row / g->count * g->extent + place) * g->inner * g->size;
        if (g->widened)
            af_widen(g->widened, from, call->operands[AF_RESULT] + row * g->inner, g->inner);
        else
            copy_block(y + row * g->inner * g->size, from, bytes);
    }
}

void af_run_gather_elements(const af_call *call, int64_t part, int64_t parts) {
    const af_elements *e = &call->step->elements;
    int64_t size = element_size(e->type), columns = e->extents[AF_INNER];
    const char *x = (const char *)call->operands[AF_X];
    char *y = (char *)call->operands[AF_RESULT];
    af_range rows = share(count_rows(e->extents), 1, part, parts);
    af_walk walk = {.extents = e->extents, .strides = {e->strides}, .operands = 1};
    if (rows.first < rows.last) seek_row(&walk, rows.first);
    for (int64_t row = rows.first; row < rows.last; row++, next_row(&walk)) {
        for (int64_t column = 0; column < columns; column++) {
            int64_t at = row * columns + column;
            int64_t place = resolve_index(read_index(call->operands[AF_INDICES], e->index_size, at), e->axis_extent);
            if (place < 0) {
                report_fault(call);
                return;
            }
            int64_t from = walk.place[0] + column * e->strides[AF_INNER] + place * e->axis_stride;
            copy_block(y + at * size, x + from * size, (size_t)size);
        }
    }
}

void af_run_gather_blocks(const af_call *call, int64_t part, int64_t parts) {
    const af_blocks *b = &call->step->blocks;
    int64_t size = element_size(b->type), block = b->inner * size, batch_bytes = block;
    for (int64_t axis = 0; axis < b->depth; axis++) batch_bytes *= b->extents[axis];
    const char *x = (const char *)call->operands[AF_X];
    char *y = (char *)call->operands[AF_RESULT];
    af_range own = share(block > 0 ? b->batch * b->count : 0, 1, part, parts);
    for (int64_t at = own.first; at < own.last; at++) {
        int64_t place = find_block(call, b, at);
        if (place < 0) {
            report_fault(call);
            return;
        }
        copy_block(y + at * block, x + at / b->count * batch_bytes + place * block, (size_t)block);
    }
}
