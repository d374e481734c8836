/* One output line of a convolution with narrow groups. */
#ifndef AF_DEPTHWISE_LINE_H
#define AF_DEPTHWISE_LINE_H

#include "call.h"
#include "epilogue.h"

/* Output pixels side by side that are computed together. */
enum { AF_CHUNK = 7 };

/* `lines` has the image's line, from its first pixel on, under every line of taps of the window, in row-major order;
   null outside the image.  Pixels have `x_pitch` floats; channels are counted from the first one in them, in y, residual
   and the epilogue's bias.  Each channel of the image has `multiplier` channels of the result, or groups have `size`
   channels of both, 2, 4 or 8; the other one is 1.
   Computed are some columns and channels, both from a multiple of AF_CHUNK and AF_PANEL on; where the last columns are
   fewer than that, so are others beside them, to the same numbers.
   What the line gives is added to `totals`, one number for every channel, or null.
   Weights: for every AF_PANEL channels (the last panel padded with zeros), for every tap, for every channel of a group:
   AF_PANEL floats. */
typedef struct af_depthwise_line {
    const af_window *window;
    const af_epilogue *epilogue;
    af_range columns, channels;
    int64_t multiplier, size, x_pitch, y_pitch;
    const float *const *lines;
    const float *weights, *residual;
    float *y, *totals;
} af_depthwise_line;

typedef void af_depthwise_function(const af_depthwise_line *line);

/* What computes the lines of a window, with so many channels of the result for each of the image, or of a group. */
af_depthwise_function *af_find_depthwise(const af_window *window, int64_t multiplier, int64_t size);

/* Fill in the lines of an image under the window of line `row` of plane `plane`. */
void af_point_to_lines(const af_conv *conv, const float *image, int64_t plane, int64_t row, const float **lines);

/* Lines of taps of a window. */
static inline int64_t count_tap_lines(const af_window *window) { return window->kernel[0] * window->kernel[1]; }

#endif
