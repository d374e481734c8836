/* Element types of operands, and memory of any type that is aligned as bindings are. */
#ifndef AF_ELEMENT_H
#define AF_ELEMENT_H

#include <stdint.h>

/* The order is that of ELEMENT_TYPES in `runtime/records.py`. */
enum af_type {
    AF_FLOAT,
    AF_DOUBLE,
    AF_INT8,
    AF_INT16,
    AF_INT32,
    AF_INT64,
    AF_UINT8,
    AF_UINT16,
    AF_UINT32,
    AF_UINT64,
    AF_BOOL,
    AF_FLOAT16,
    AF_BFLOAT16,
    AF_TYPE_COUNT
};

typedef float af_float __attribute__((may_alias));
typedef double af_double __attribute__((aligned(4), may_alias));
typedef int8_t af_int8 __attribute__((may_alias));
typedef int16_t af_int16 __attribute__((may_alias));
typedef int32_t af_int32 __attribute__((may_alias));
typedef int64_t af_int64 __attribute__((aligned(4), may_alias));
typedef uint8_t af_uint8 __attribute__((may_alias));
typedef uint16_t af_uint16 __attribute__((may_alias));
typedef uint32_t af_uint32 __attribute__((may_alias));
typedef uint64_t af_uint64 __attribute__((aligned(4), may_alias));

/* X(code, memory type) for every type that arithmetic knows; truth values are bytes 0 and 1. */
#define AF_INTEGER_TYPES(X) \
    X(AF_INT8, int8)        \
    X(AF_INT16, int16)      \
    X(AF_INT32, int32)      \
    X(AF_INT64, int64)      \
    X(AF_UINT8, uint8)      \
    X(AF_UINT16, uint16)    \
    X(AF_UINT32, uint32)    \
    X(AF_UINT64, uint64)

/* Bytes of one element; 0 for a type that is not known. */
static inline int64_t element_size(int64_t type) {
    switch (type) {
    case AF_INT8:
    case AF_UINT8:
    case AF_BOOL: return 1;
    case AF_INT16:
    case AF_UINT16:
    case AF_FLOAT16:
    case AF_BFLOAT16: return 2;
    case AF_FLOAT:
    case AF_INT32:
    case AF_UINT32: return 4;
    case AF_DOUBLE:
    case AF_INT64:
    case AF_UINT64: return 8;
    default: return 0;
    }
}

/* Whether a number of a signed type is below 0; of an unsigned one never asked. */
static inline int is_negative(int64_t number) { return number < 0; }

/* The index at place `at` of a tensor of int64 or int32 elements. */
static inline int64_t read_index(const void *indices, int64_t size, int64_t at) {
    return size == 8 ? ((const af_int64 *)indices)[at] : ((const af_int32 *)indices)[at];
}

#endif
