/* Indices that come from data: resolved, and reported where they are outside of their axis. */
#ifndef AF_FAULT_H
#define AF_FAULT_H

#include <string.h>

#include "call.h"
#include "element.h"

enum { AF_INDICES = 2, AF_UPDATES = 3 };

/* The place that an index names, which counts from the end where it is negative; -1 outside of the axis. */
static inline int64_t resolve_index(int64_t index, int64_t extent) {
    int64_t place = index < 0 ? index + extent : index;
    return place >= 0 && place < extent ? place : -1;
}

/* The place, in blocks, that the indices at `at` name within their batch; -1 outside. */
static inline int64_t find_block(const af_call *call, const af_blocks *b, int64_t at) {
    int64_t place = 0;
    for (int64_t axis = 0; axis < b->depth; axis++) {
        int64_t index = read_index(call->operands[AF_INDICES], b->index_size, at * b->depth + axis);
        int64_t along = resolve_index(index, b->extents[axis]);
        if (along < 0) return -1;
        place = place * b->extents[axis] + along;
    }
    return place;
}

/* Say that the step cannot be computed; its result is then of no use. */
static inline void report_fault(const af_call *call) { __atomic_store_n(call->fault, 1, __ATOMIC_RELAXED); }

/* Blocks are mostly single elements, which need no call. */
static inline void copy_block(char *to, const char *from, size_t bytes) {
    switch (bytes) {
    case 1: memcpy(to, from, 1); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, bytes); break;
    }
}

#endif
