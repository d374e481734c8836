#include "windows.h"

#include "vector.h"
#include "window.h"

static int64_t count_taps(const af_window *w) { return w->kernel[0] * w->kernel[1] * w->kernel[2]; }

/* Windows of few channels are too scattered to be multiplied tap by tap. */
static int joins_taps(const af_conv *conv) {
    return conv->channels / conv->group < AF_GATHER_CHANNELS && count_taps(&conv->window) > 1;
}

/* Whether the taps of one line lie side by side in memory. */
static int lies_in_lines(const af_conv *conv) {
    return conv->group == 1 && conv->x_pitch == conv->channels && conv->window.dilations[2] == 1;
}

static int64_t table_bytes(const af_conv *conv) {
    return round_to_line((int64_t)sizeof(float *) * AF_ROW_BLOCK * count_taps(&conv->window));
}

static int64_t reaches_bytes(void) { return round_to_line((int64_t)sizeof(af_range) * AF_ROW_BLOCK); }

static int64_t zeros_bytes(const af_conv *conv) { return round_to_line((int64_t)sizeof(float) * conv->channels); }

int64_t af_windows_bytes(const af_conv *conv) {
    int64_t row = count_taps(&conv->window) * (conv->channels / conv->group);
    int64_t copies = joins_taps(conv) ? round_to_line((int64_t)sizeof(float) * AF_ROW_BLOCK * row) : 0;
    return table_bytes(conv) + reaches_bytes() + zeros_bytes(conv) + copies;
}

af_windows af_open_windows(const af_conv *conv, const float *x, char *memory) {
    const int64_t *kernel = conv->window.kernel;
    int64_t depth = conv->channels / conv->group;
    af_windows windows = {
        .conv = conv,
        .x = x,
        .runs = count_taps(&conv->window),
        .length = depth,
        .table = (const float **)memory,
        .reaches = (af_range *)(memory + table_bytes(conv)),
        .zeros = (float *)(memory + table_bytes(conv) + reaches_bytes()),
    };
    memset(windows.zeros, 0, sizeof(float) * (size_t)conv->channels);
    if (joins_taps(conv)) {
        windows.runs = kernel[0] * kernel[1];
        windows.length = kernel[2] * depth;
        windows.copies = (float *)((char *)windows.zeros + zeros_bytes(conv));
    }
    return windows;
}

/* Windows side by side: the first begins at `start` of image x, each of the `count` others one stride further on along
   the last axis; they have the columns from `column` on of the table. */
typedef struct strip {
    const af_windows *windows;
    const float *x;
    int64_t start[3], column, count, group;
} strip;

/* Number of leading windows whose tap at `place` of the first one lies before `bound` of the last axis. */
static int64_t count_before(const strip *s, int64_t place, int64_t bound) {
    int64_t count = place < bound ? divide_up(bound - place, s->windows->conv->window.strides[2]) : 0;
    return smaller(count, s->count);
}

/* One tap of every window; `line` is null outside the image. */
static void point_to_tap(const strip *s, const float *line, int64_t place, const float **entry) {
    const af_conv *conv = s->windows->conv;
    if (!line) {
        for (int64_t i = 0; i < s->count; i++) entry[i] = s->windows->zeros;
        return;
    }
    int64_t step = conv->window.strides[2] * conv->x_pitch;
    int64_t low = count_before(s, place, 0), high = count_before(s, place, conv->window.x[2]);
    const float *first = line + place * conv->x_pitch;
    for (int64_t i = 0; i < low; i++) entry[i] = s->windows->zeros;
    for (int64_t i = low; i < high; i++) entry[i] = first + i * step;
    for (int64_t i = high; i < s->count; i++) entry[i] = s->windows->zeros;
}

/* The pixels under one line of taps that begins at `place`, with zeros for those outside the image. */
static void copy_taps(const strip *s, const float *line, int64_t place, float *to) {
    const af_conv *conv = s->windows->conv;
    const af_window *w = &conv->window;
    int64_t depth = conv->channels / conv->group;
    for (int64_t tap = 0; tap < w->kernel[2]; tap++, place += w->dilations[2], to += depth) {
        int inside = line && place >= 0 && place < w->x[2];
        copy_floats(to, inside ? line + place * conv->x_pitch + s->group * depth : s->windows->zeros, depth);
    }
}

/* One line of taps of window `i` as a copy. */
static void copy_line(const strip *s, const float *line, int64_t i, int64_t run, const float **entry) {
    const af_windows *windows = s->windows;
    float *copy = windows->copies + ((s->column + i) * windows->runs + run) * windows->length;
    copy_taps(s, line, s->start[2] + i * windows->conv->window.strides[2], copy);
    entry[i] = copy;
}

/* One line of taps of every window, in place where it lies in memory as it is. */
static void point_to_line(const strip *s, const float *line, int64_t run, const float **entry) {
    const af_conv *conv = s->windows->conv;
    const af_window *w = &conv->window;
    int64_t low = s->count, high = s->count;
    if (line && lies_in_lines(conv)) {
        high = count_before(s, s->start[2], w->x[2] - w->kernel[2] + 1);
        low = smaller(count_before(s, s->start[2], 0), high);
    }
    for (int64_t i = 0; i < low; i++) copy_line(s, line, i, run, entry);
    for (int64_t i = low; i < high; i++) entry[i] = line + (s->start[2] + i * w->strides[2]) * conv->x_pitch;
    for (int64_t i = high; i < s->count; i++) copy_line(s, line, i, run, entry);
}

/* Runs from the first to the last one in lines of the image, of the windows in line `row` of plane `plane`. */
static af_range find_reach(const af_windows *windows, int64_t plane, int64_t row) {
    const af_window *w = &windows->conv->window;
    af_reach planes = clip_window(w, 0, plane, 0, w->x[0]), rows = clip_window(w, 1, row, 0, w->x[1]);
    if (planes.first >= planes.last || rows.first >= rows.last) return (af_range){0, 0};
    int64_t runs = windows->copies ? 1 : w->kernel[2]; /* of a line */
    return (af_range){(planes.first * w->kernel[1] + rows.first) * runs,
                      ((planes.last - 1) * w->kernel[1] + rows.last) * runs};
}

static void point_strip(const strip *s) {
    const af_windows *windows = s->windows;
    const af_window *w = &windows->conv->window;
    const float **entry = windows->table + s->column;
    for (int64_t i = 0, z = s->start[0], run = 0; i < w->kernel[0]; i++, z += w->dilations[0]) {
        for (int64_t j = 0, row = s->start[1]; j < w->kernel[1]; j++, row += w->dilations[1], run++) {
            int inside = z >= 0 && z < w->x[0] && row >= 0 && row < w->x[1];
            const float *line = inside ? s->x + (z * w->x[1] + row) * w->x[2] * windows->conv->x_pitch : NULL;
            if (windows->copies) {
                point_to_line(s, line, run, entry);
                entry += AF_ROW_BLOCK;
                continue;
            }
            for (int64_t k = 0, place = s->start[2]; k < w->kernel[2]; k++, place += w->dilations[2]) {
                point_to_tap(s, line, place, entry);
                entry += AF_ROW_BLOCK;
            }
        }
    }
}

void af_point_to_windows(const af_windows *windows, int64_t first, int64_t count, int64_t group) {
    const af_window *w = &windows->conv->window;
    int64_t image = w->x[0] * w->x[1] * w->x[2] * windows->conv->x_pitch;
    for (int64_t column = 0, pixel = first; column < count;) {
        int64_t at[3], rest = pixel;
        strip s = {.windows = windows, .column = column, .group = group};
        for (int axis = 2; axis >= 0; axis--) {
            at[axis] = rest % w->y[axis];
            rest /= w->y[axis];
            s.start[axis] = at[axis] * w->strides[axis] - w->begins[axis];
        }
        s.x = windows->x + rest * image;
        s.count = smaller(w->y[2] - at[2], count - column);
        point_strip(&s);
        af_range reach = find_reach(windows, at[0], at[1]);
        for (int64_t i = 0; i < s.count; i++) windows->reaches[column + i] = reach;
        column += s.count;
        pixel += s.count;
    }
}
