#include "channel_mean.h"

#include <string.h>

static float *find_totals(const af_call *call, const af_channel_mean *mean, int64_t part) {
    return (float *)((char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes + mean->offset);
}

float *af_open_totals(const af_call *call, const af_channel_mean *mean, int64_t part) {
    float *totals = find_totals(call, mean, part);
    memset(totals, 0, sizeof(float) * (size_t)(mean->batch * mean->channels));
    return totals;
}

void af_finish_mean(const af_call *call, const af_channel_mean *mean, int64_t parts, float *y) {
    if (!is_last_share(call, parts)) return;
    int64_t count = mean->batch * mean->channels;
    const float *first = find_totals(call, mean, 0);
    for (int64_t i = 0; i < count; i++) y[i] = first[i];
    for (int64_t part = 1; part < parts; part++) {
        const float *totals = find_totals(call, mean, part);
        for (int64_t i = 0; i < count; i++) y[i] += totals[i];
    }
    for (int64_t i = 0; i < count; i++) y[i] /= (float)mean->pixels;
}
