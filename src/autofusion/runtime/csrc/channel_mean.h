/* The mean of every channel of an image, gathered by shares that each compute a part of its pixels. */
#ifndef AF_CHANNEL_MEAN_H
#define AF_CHANNEL_MEAN_H

#include "call.h"

/* Each share keeps totals [batch][channels] at `offset` bytes of its scratch memory. */
typedef struct af_channel_mean {
    int64_t batch, channels, pixels, offset;
} af_channel_mean;

static inline int64_t af_totals_bytes(int64_t batch, int64_t channels) {
    return round_to_line((int64_t)sizeof(float) * batch * channels);
}

/* The totals of share `part`, all of them 0. */
float *af_open_totals(const af_call *call, const af_channel_mean *mean, int64_t part);

/* To be called by every share when its totals are complete: the last one to come adds up those of all shares, in their
   order, and writes the means [batch][channels] to `y`. */
void af_finish_mean(const af_call *call, const af_channel_mean *mean, int64_t parts, float *y);

#endif
