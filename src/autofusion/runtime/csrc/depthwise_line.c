/* Several output pixels of a line at a time for every vector of channels. */
#include "depthwise_line.h"

#include "vmath.h"
#include "window.h"

/* So many sums fit into registers beside the weights of a line of taps. */
enum { CHUNK = AF_CHUNK };

typedef af_depthwise_line line;

#define UNROLL _Pragma("GCC unroll 32")

AF_INLINE vf take(const float *from, int64_t count) {
    return count == AF_WIDTH ? load(from) : load_some(from, count);
}

AF_INLINE void put(float *to, vf x, int64_t count) {
    if (count == AF_WIDTH)
        store(to, x);
    else
        store_some(to, x, count);
}

/* How channels of the result have channels of the image: the same one, one that several have, each one of a group in
   the same vector, or each one of a group that fills vectors. */
enum grouping { ALONE, SPREAD, IN_VECTOR, IN_VECTORS };

/* `count` channels of the result from `channel` on, and the `needed` channels of the image from `source` on that they
   are sums of: lane i reads number lanes[i] of those where they are not the same ones; of a group, its first one. */
typedef struct vector {
    int64_t channel, count, source, needed;
    vi lanes;
} vector;

AF_INLINE vi find_firsts(int64_t size) {
    vi lanes;
    for (int lane = 0; lane < AF_WIDTH; lane++) lanes[lane] = (int32_t)(lane & -size);
    return lanes;
}

AF_INLINE vector find_vector(const line *l, int64_t channel, int64_t count, const enum grouping grouping) {
    vector v = {.channel = channel, .count = count, .source = channel, .needed = count};
    if (grouping == IN_VECTOR) v.lanes = find_firsts(l->size);
    if (grouping == IN_VECTORS) v.source = channel & -l->size;
    if (grouping != SPREAD) return v;
    v.source = channel / l->multiplier;
    int64_t lane = 0, number = 0;
    for (int64_t next = (v.source + 1) * l->multiplier - channel; lane < count; number++, next += l->multiplier)
        for (; lane < count && lane < next; lane++) v.lanes[lane] = (int32_t)number;
    v.needed = number;
    return v;
}

AF_INLINE int64_t count_members(const line *l, const enum grouping grouping) {
    return grouping == IN_VECTOR || grouping == IN_VECTORS ? l->size : 1;
}

/* The vector whose channels read member `number` of their groups. */
AF_INLINE vector find_member(const vector *v, int64_t number, const enum grouping grouping) {
    vector member = *v;
    if (grouping == IN_VECTOR) member.lanes += (int32_t)number;
    if (grouping == IN_VECTORS) member.source += number;
    return member;
}

AF_INLINE vf take_pixel(const float *from, const vector *v, const enum grouping grouping) {
    if (grouping == ALONE) return take(from, v->count);
    if (grouping == IN_VECTORS) return splat(*from);
    return choose_lanes(grouping == SPREAD ? load_some(from, v->needed) : take(from, v->count), v->lanes);
}

/* The weights of `channel` under the first tap of line `index` of taps, for the first channel of its group. */
AF_INLINE const float *find_weights(const line *l, int64_t index, int64_t channel, const enum grouping grouping) {
    const af_window *w = l->window;
    int64_t tap = (channel / AF_PANEL * count_tap_lines(w) + index) * w->kernel[2];
    return l->weights + tap * count_members(l, grouping) * AF_PANEL + channel % AF_PANEL;
}

/* Finish and store the sums of `columns` pixels side by side; gives the total of all from pixel `fresh` of them on.
   What all share is read before the first store, after which the compiler would have to read it again. */
AF_INLINE vf put_pixels(const line *l, int64_t column, const int64_t columns, int64_t fresh, const vector *v, vf *sums) {
    const int64_t channel = v->channel, count = v->count;
    const af_epilogue *epilogue = l->epilogue;
    vf scale = splat(epilogue->scale), low = splat(epilogue->low), high = splat(epilogue->high);
    vf bias = epilogue->bias ? take(epilogue->bias + channel, count) : (vf){0};
    int64_t pitch = l->y_pitch, residual_pitch = epilogue->residual_pitch;
    float *y = l->y + column * pitch + channel;
    UNROLL for (int i = 0; i < CHUNK; i++) sums[i] = sums[i] * scale + bias;
    if (l->residual) {
        const float *residual = l->residual + column * residual_pitch + channel;
        UNROLL for (int i = 0; i < CHUNK; i++)
            if (i < columns) sums[i] += take(residual + i * residual_pitch, count);
    }
    if (epilogue->late.function == AF_SILU) {
        vf alpha = splat(epilogue->late.alpha);
        UNROLL for (int i = 0; i < CHUNK; i++) sums[i] *= vsigmoid(alpha * sums[i]);
    } else if (epilogue->late.function != AF_IDENTITY) {
        float copy[CHUNK * AF_WIDTH];
        UNROLL for (int i = 0; i < CHUNK; i++) store(copy + i * AF_WIDTH, sums[i]);
        af_apply(&epilogue->late, copy, AF_WIDTH, copy, AF_WIDTH, columns, AF_WIDTH);
        UNROLL for (int i = 0; i < CHUNK; i++) sums[i] = load(copy + i * AF_WIDTH);
    }
    vf total = {0};
    UNROLL for (int i = 0; i < CHUNK; i++) {
        if (i >= columns) break;
        vf pixel = at_most(at_least(sums[i], low), high);
        put(y + i * pitch, pixel, count);
        if (i >= fresh) total += pixel;
    }
    return total;
}

AF_INLINE void add_total(const line *l, int64_t channel, int64_t count, vf total) {
    if (l->totals) put(l->totals + channel, take(l->totals + channel, count) + total, count);
}

/* CHUNK output pixels from `column` on for a vector of channels, under `taps` taps side by side, and their total from
   pixel `fresh` on.  Every pixel of the image is loaded once for all the windows that it lies in; `at_border` says that
   some lie outside. */
AF_INLINE vf run_chunk(const line *l, int64_t column, int64_t fresh, const vector *v, const enum grouping grouping,
                       const int taps, const int stride, const int at_border) {
    const af_window *w = l->window;
    int64_t first = column * stride - w->begins[2], pitch = l->x_pitch;
    const int64_t size = count_members(l, grouping);
    vf sums[CHUNK];
    UNROLL for (int i = 0; i < CHUNK; i++) sums[i] = (vf){0};
    for (int64_t i = 0; i < count_tap_lines(w); i++) {
        if (!l->lines[i]) continue;
        const float *weights = find_weights(l, i, v->channel, grouping);
        for (int64_t number = 0; number < size; number++, weights += AF_PANEL) {
            const vector member = find_member(v, number, grouping);
            const float *x = l->lines[i] + first * pitch + member.source;
            vf weight[7];
            UNROLL for (int tap = 0; tap < taps; tap++) weight[tap] = load(weights + tap * size * AF_PANEL);
            UNROLL for (int place = 0; place < (CHUNK - 1) * stride + taps; place++) {
                if (at_border && (first + place < 0 || first + place >= w->x[2])) continue;
                vf pixel = keep(take_pixel(x + place * pitch, &member, grouping));
                UNROLL for (int tap = 0; tap < taps; tap++) {
                    int window = (place - tap) / stride;
                    if (place >= tap && (place - tap) % stride == 0 && window < CHUNK)
                        sums[window] += pixel * weight[tap];
                }
            }
        }
    }
    return put_pixels(l, column, CHUNK, fresh, v, sums);
}

/* Taps first..last-1 of one line and of all members of a group, whose first one is at pixel `place` of the first
   window, for `columns` windows of which no tap lies outside the image unless `at_border`. */
AF_INLINE void add_taps(const line *l, const float *x, const float *weights, int64_t place, af_range taps,
                        const int64_t columns, const vector *v, const enum grouping grouping, const int at_border,
                        vf *sums) {
    const af_window *w = l->window;
    int64_t stride = w->strides[2], step = stride * l->x_pitch;
    const int64_t size = count_members(l, grouping);
    for (int64_t tap = taps.first; tap < taps.last; tap++) {
        int64_t at = place + tap * w->dilations[2];
        for (int64_t number = 0; number < size; number++) {
            const vector member = find_member(v, number, grouping);
            const float *pixel = x + at * l->x_pitch + member.source;
            vf weight = load(weights + (tap * size + number) * AF_PANEL);
            UNROLL for (int i = 0; i < CHUNK; i++) {
                if (i >= columns || (at_border && (at + i * stride < 0 || at + i * stride >= w->x[2]))) continue;
                sums[i] += take_pixel(pixel + i * step, &member, grouping) * weight;
            }
        }
    }
}

/* Up to CHUNK output pixels as in run_chunk, whatever the window. */
AF_INLINE vf run_any_chunk(const line *l, int64_t column, int64_t fresh, const int64_t columns, const vector *v,
                           const enum grouping grouping) {
    const af_window *w = l->window;
    int64_t taps = w->kernel[2], place = column * w->strides[2] - w->begins[2];
    af_reach inner = clip_window(w, 2, column, 0, w->x[2] - (columns - 1) * w->strides[2]);
    if (inner.last < inner.first) inner.first = inner.last = taps;
    vf sums[CHUNK];
    UNROLL for (int i = 0; i < CHUNK; i++) sums[i] = (vf){0};
    for (int64_t i = 0; i < count_tap_lines(w); i++) {
        if (!l->lines[i]) continue;
        const float *x = l->lines[i], *weights = find_weights(l, i, v->channel, grouping);
        add_taps(l, x, weights, place, (af_range){0, inner.first}, columns, v, grouping, 1, sums);
        add_taps(l, x, weights, place, (af_range){inner.first, inner.last}, columns, v, grouping, 0, sums);
        add_taps(l, x, weights, place, (af_range){inner.last, taps}, columns, v, grouping, 1, sums);
    }
    return put_pixels(l, column, columns, fresh, v, sums);
}

/* All chunks of the line, of which the last one may overlap the one before.  No taps: whatever the window, even of
   fewer columns than a chunk has. */
AF_INLINE void run_vector(const line *l, const vector *v, const enum grouping grouping, const int taps,
                          const int stride) {
    const af_window *w = l->window;
    vf total = {0};
    for (int64_t at = l->columns.first; at < l->columns.last; at += CHUNK) {
        int64_t column = smaller(at, w->y[2] - CHUNK), first = column * stride - w->begins[2];
        if (!taps && column < 0)
            total += run_any_chunk(l, 0, 0, w->y[2], v, grouping);
        else if (!taps)
            total += run_any_chunk(l, column, at - column, CHUNK, v, grouping);
        else if (first >= 0 && first + (CHUNK - 1) * stride + taps <= w->x[2])
            total += run_chunk(l, column, at - column, v, grouping, taps, stride, 0);
        else
            total += run_chunk(l, column, at - column, v, grouping, taps, stride, 1);
    }
    add_total(l, v->channel, v->count, total);
}

AF_INLINE void run_line(const line *l, const enum grouping grouping, const int taps, const int stride) {
    int64_t channel = l->channels.first, last = l->channels.last;
    for (; channel + AF_WIDTH <= last; channel += AF_WIDTH) {
        vector v = find_vector(l, channel, AF_WIDTH, grouping);
        run_vector(l, &v, grouping, taps, stride);
    }
    if (channel == last) return;
    vector v = find_vector(l, channel, last - channel, grouping);
    run_vector(l, &v, grouping, taps, stride);
}

#define MAKE(taps, stride)                                                              \
    static void run_##taps##_##stride(const line *l) { run_line(l, ALONE, taps, stride); } \
    static void spread_##taps##_##stride(const line *l) { run_line(l, SPREAD, taps, stride); }
#define MAKE_GROUPS(taps, stride)                        \
    static void group_##taps##_##stride(const line *l) { \
        if (l->size < AF_WIDTH)                          \
            run_line(l, IN_VECTOR, taps, stride);        \
        else                                             \
            run_line(l, IN_VECTORS, taps, stride);       \
    }
#define NAMES(taps, stride) {run_##taps##_##stride, spread_##taps##_##stride}

MAKE(3, 1)
MAKE(3, 2)
MAKE(5, 1)
MAKE(5, 2)
MAKE(7, 1)
MAKE(7, 2)
MAKE(0, 0)
MAKE_GROUPS(3, 1)
MAKE_GROUPS(3, 2)
MAKE_GROUPS(0, 0)

af_depthwise_function *af_find_depthwise(const af_window *w, int64_t multiplier, int64_t size) {
    static af_depthwise_function *const any[] = NAMES(0, 0), *const known[][2][2] = {
        {NAMES(3, 1), NAMES(3, 2)}, {NAMES(5, 1), NAMES(5, 2)}, {NAMES(7, 1), NAMES(7, 2)}};
    static af_depthwise_function *const groups[] = {group_3_1, group_3_2};
    int64_t taps = w->kernel[2], stride = w->strides[2];
    int is_near = w->y[2] >= CHUNK && (stride == 1 || stride == 2) && w->dilations[2] == 1;
    if (size > 1) return is_near && taps == 3 ? groups[stride - 1] : group_0_0;
    int is_known = is_near && (taps == 3 || taps == 5 || taps == 7);
    return is_known ? known[(taps - 3) / 2][stride - 1][multiplier > 1] : any[multiplier > 1];
}
