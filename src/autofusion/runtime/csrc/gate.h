/* A factor for every channel of every image of a 1x1 convolution: it goes into the weights, or into the pixels. */
#ifndef AF_GATE_H
#define AF_GATE_H

#include "call.h"

/* Whether an image has so many pixels that it takes less to scale the weights for it. */
static inline int scales_weights(const af_conv *conv) {
    const int64_t *pixels = conv->window.y;
    return conv->filters <= pixels[0] * pixels[1] * pixels[2];
}

/* Bytes of what is scaled: all weights, or AF_ROW_BLOCK pixels. */
int64_t af_gate_bytes(const af_conv *conv);

/* Panels first..last-1 of the weights, numbers of conv->type, times the factors of one image, in the same places of `to`. */
void af_scale_panels(const af_conv *conv, const void *weights, const float *gate, af_range panels, float *to);

/* `count` pixels of x from `first` on, counted over all images, times the factors of theirs, [count][channels]; `rows`
   then point to them. */
void af_scale_pixels(const af_conv *conv, const float *x, const float *gate, int64_t first, int64_t count, float *to,
                     const float **rows);

#endif
