/* The same elements in the layout of another buffer: channels innermost or pixels innermost. */
#include "call.h"

/* Pixels and channels of a square that fits into the first-level cache on both sides. */
enum { SQUARE = 32 };

static void move_square(const af_relayout *r, const float *x, float *y, af_range pixels, af_range channels) {
    if (r->y_channel == 1) {
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel++)
            for (int64_t channel = channels.first; channel < channels.last; channel++)
                y[pixel * r->y_pixel + channel] = x[pixel * r->x_pixel + channel * r->x_channel];
        return;
    }
    for (int64_t channel = channels.first; channel < channels.last; channel++)
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel++)
            y[pixel * r->y_pixel + channel * r->y_channel] = x[pixel * r->x_pixel + channel * r->x_channel];
}

void af_run_relayout(const af_call *call, int64_t part, int64_t parts) {
    const af_relayout *r = &call->step->relayout;
    af_range pixels = share(r->pixels, SQUARE, part, parts);
    for (int64_t image = 0; image < r->batch; image++) {
        const float *x = call->operands[AF_X] + image * r->x_batch;
        float *y = call->operands[AF_RESULT] + image * r->y_batch;
        for (int64_t pixel = pixels.first; pixel < pixels.last; pixel += SQUARE) {
            for (int64_t channel = 0; channel < r->channels; channel += SQUARE) {
                af_range square_pixels = {pixel, smaller(pixel + SQUARE, pixels.last)};
                af_range square_channels = {channel, smaller(channel + SQUARE, r->channels)};
                move_square(r, x, y, square_pixels, square_channels);
            }
        }
    }
}
