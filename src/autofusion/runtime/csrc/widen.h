/* Weights of two bytes each that are widened before they are used, as they are used more than once. */
#ifndef AF_WIDEN_H
#define AF_WIDEN_H

#include "call.h"
#include "element.h"

/* `count` numbers of `type`, AF_FLOAT16 or AF_BFLOAT16, as float32. */
void af_widen(int64_t type, const void *from, float *to, int64_t count);

/* The number of `type` that lies `count` numbers further on. */
static inline const void *skip_numbers(const void *from, int64_t type, int64_t count) {
    return (const char *)from + count * element_size(type);
}

/* Bytes of memory in which to widen `count` numbers of `type`: none for float32. */
static inline int64_t widened_bytes(int64_t type, int64_t count) {
    return type == AF_FLOAT ? 0 : round_to_line((int64_t)sizeof(float) * count);
}

/* Weights in panels of `size` numbers as float32, of which `panels` will be read: as they are, or in `memory`. */
static inline const float *widen_panels(int64_t type, const void *weights, int64_t size, af_range panels,
                                        float *memory) {
    if (type == AF_FLOAT) return weights;
    int64_t first = panels.first * size;
    af_widen(type, skip_numbers(weights, type, first), memory + first, (panels.last - panels.first) * size);
    return memory;
}

#endif
