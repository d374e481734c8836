/* The same elements in the layout of another buffer: channels innermost or pixels innermost. */
#include "call.h"

/* Pixels and channels of a square that fits into the first-level cache on both sides. */
enum { SQUARE = 32 };

static void move_square(const af_relayout *r, const float *x, float *y, af_range pixels, af_range channels) {
    int64_t x_channel = r->x_strides[AF_CHANNEL], x_pixel = r->x_strides[AF_PIXEL];
    int64_t y_channel = r->y_strides[AF_CHANNEL], y_pixel = r->y_strides[AF_PIXEL];
    if (y_channel == 1) {
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel++)
            for (int64_t channel = channels.first; channel < channels.last; channel++)
                y[pixel * y_pixel + channel] = x[pixel * x_pixel + channel * x_channel];
        return;
    }
    for (int64_t channel = channels.first; channel < channels.last; channel++)
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel++)
            y[pixel * y_pixel + channel * y_channel] = x[pixel * x_pixel + channel * x_channel];
}

/* Lines of three channels into pixels side by side, as most models begin: the compiler turns three streams into one. */
static void join_three(const float *x, int64_t x_channel, float *y, int64_t pixel_count) {
    const float *restrict a = x, *restrict b = x + x_channel, *restrict c = x + 2 * x_channel;
    float *restrict to = y;
    for (int64_t pixel = 0; pixel < pixel_count; pixel++) {
        to[3 * pixel] = a[pixel];
        to[3 * pixel + 1] = b[pixel];
        to[3 * pixel + 2] = c[pixel];
    }
}

void af_run_relayout(const af_call *call, int64_t part, int64_t parts) {
    const af_relayout *r = &call->step->relayout;
    int64_t channel_count = r->extents[AF_CHANNEL];
    af_range pixels = share(r->extents[AF_PIXEL], SQUARE, part, parts);
    for (int64_t image = 0; image < r->extents[AF_IMAGE]; image++) {
        const float *x = call->operands[AF_X] + image * r->x_strides[AF_IMAGE];
        float *y = call->operands[AF_RESULT] + image * r->y_strides[AF_IMAGE];
        if (channel_count == 3 && r->x_strides[AF_PIXEL] == 1 && r->y_strides[AF_PIXEL] == 3 &&
            r->y_strides[AF_CHANNEL] == 1) {
            join_three(x + pixels.first, r->x_strides[AF_CHANNEL], y + 3 * pixels.first, pixels.last - pixels.first);
            continue;
        }
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel += SQUARE) {
            for (int64_t channel = 0; channel < channel_count; channel += SQUARE) {
                af_range square_pixels = {pixel, smaller(pixel + SQUARE, pixels.last)};
                af_range square_channels = {channel, smaller(channel + SQUARE, channel_count)};
                move_square(r, x, y, square_pixels, square_channels);
            }
        }
    }
}
