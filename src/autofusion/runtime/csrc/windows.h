/* The rows of a convolution as a matrix product: where the window of each output pixel lies in memory. */
#ifndef AF_WINDOWS_H
#define AF_WINDOWS_H

#include "call.h"

/* A window is the concatenation of `runs` runs of `length` floats in every group, each at an address of its own: the
   channels under one tap, or, where the channels are few, those under one line of taps. */
typedef struct af_windows {
    const af_conv *conv;
    const float *x;
    int64_t runs, length;
    const float **table; /* [runs][AF_ROW_BLOCK]: run s of window r at s * AF_ROW_BLOCK + r */
    af_range *reaches;   /* [AF_ROW_BLOCK]: of each window the runs in front of and behind which all lie outside the image */
    float *zeros;        /* the pixel outside the image */
    float *copies;       /* [AF_ROW_BLOCK][runs * length]: runs that do not lie in memory as they are, or null */
} af_windows;

int64_t af_windows_bytes(const af_conv *conv);

/* Windows over x with their tables in `memory` of that many bytes. */
af_windows af_open_windows(const af_conv *conv, const float *x, char *memory);

/* Fill columns 0..count-1 of the table for the output pixels from `first` on, counted over all images.  Copied runs are
   those of `group`; all others start at channel 0 of the first group. */
void af_point_to_windows(const af_windows *windows, int64_t first, int64_t count, int64_t group);

#endif
