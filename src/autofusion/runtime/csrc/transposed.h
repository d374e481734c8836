/* Transposed convolution as convolutions.

   Along an axis `y[o] = sum over i of x[i] * w[k]` with `o + begin = i * stride + k * dilation`.  The results at places
   o + begin with one remainder by the stride form a phase, and are the convolution of x with those taps alone that meet
   pixels there.  A class is what is computed together: a phase, or, where filters are few or no windows overlap,
   neighbouring phases with equally many taps, which read the same windows and are filters side by side.

   Weights: for every class in row-major order, those of a convolution with its taps. */
#ifndef AF_TRANSPOSED_H
#define AF_TRANSPOSED_H

#include "call.h"

/* Filters that are few: of several phases they fill panels better. */
enum { AF_JOINED_FILTERS = 8 };

/* Phases that a transposed convolution may have. */
enum { AF_MOST_PHASES = 1 << 16 };

/* A class along one axis: the results of its window i are at first + i * stride and at the width - 1 places after it.
   `before` counts the taps of all classes before it, once for each phase of them. */
typedef struct af_axis_class {
    int64_t width, taps, dilation, begin, first, count, before;
} af_axis_class;

/* The classes of each axis. */
typedef struct af_classes {
    af_axis_class *axes[3];
    int64_t counts[3];
} af_classes;

/* Whether a class is several phases; an axis has two classes at most then. */
int af_joins_phases(const af_conv *conv);

int64_t af_classes_bytes(const af_conv *conv);

/* The classes of a transposed convolution in `memory` of that many bytes. */
af_classes af_find_classes(const af_conv *conv, void *memory);

/* Class `index` in row-major order. */
void af_point_to_class(const af_classes *classes, int64_t index, const af_axis_class *at[3]);

/* The convolution that class `at` of each axis is; its strides are 1. */
af_conv af_open_class(const af_conv *conv, const af_axis_class *const at[3]);

#endif
