#include "gate.h"

#include "half.h"

enum { VECTORS = AF_PANEL / AF_WIDTH };

int64_t af_gate_bytes(const af_conv *conv) {
    int64_t columns = scales_weights(conv) ? divide_up(conv->filters, AF_PANEL) * AF_PANEL : AF_ROW_BLOCK;
    return round_to_line((int64_t)sizeof(float) * columns * conv->channels);
}

AF_INLINE void scale_panels(const int type, const af_conv *conv, const void *weights, const float *gate,
                            af_range panels, float *to) {
    for (int64_t panel = panels.first; panel < panels.last; panel++) {
        int64_t start = panel * conv->channels * AF_PANEL;
        for (int64_t channel = 0; channel < conv->channels; channel++, start += AF_PANEL) {
            vf factor = splat(gate[channel]);
            for (int v = 0; v < VECTORS; v++)
                store(to + start + v * AF_WIDTH, load_as(type, weights, start + v * AF_WIDTH) * factor);
        }
    }
}

void af_scale_panels(const af_conv *conv, const void *weights, const float *gate, af_range panels, float *to) {
    switch (conv->type) {
    case AF_FLOAT16: scale_panels(AF_FLOAT16, conv, weights, gate, panels, to); return;
    case AF_BFLOAT16: scale_panels(AF_BFLOAT16, conv, weights, gate, panels, to); return;
    default: scale_panels(AF_FLOAT, conv, weights, gate, panels, to);
    }
}

void af_scale_pixels(const af_conv *conv, const float *x, const float *gate, int64_t first, int64_t count, float *to,
                     const float **rows) {
    const int64_t *extents = conv->window.y;
    int64_t pixels = extents[0] * extents[1] * extents[2], channels = conv->channels;
    for (int64_t i = 0; i < count; i++, to += channels) {
        const float *pixel = x + (first + i) * conv->x_pitch, *factors = gate + (first + i) / pixels * channels;
        int64_t channel = 0;
        for (; channel + AF_WIDTH <= channels; channel += AF_WIDTH)
            store(to + channel, load(pixel + channel) * load(factors + channel));
        if (channel < channels) {
            int64_t rest = channels - channel;
            store_some(to + channel, load_some(pixel + channel, rest) * load_some(factors + channel, rest), rest);
        }
        rows[i] = to;
    }
}
