/* Rotary position embedding: pairs of numbers turned by an angle. */
#include "data.h"
#include "vector.h"

enum { COS = 2, SIN = 3 };

/* One head of one row: where its numbers and its angles lie, and how far apart they are. */
typedef struct turn {
    const float *x, *cos, *sin;
    float *y;
    int64_t x_step, y_step, cos_step, sin_step;
} turn;

/* Numbers `i` and `j` are a pair, whose angles stand at `a` and `b`. */
static inline void turn_pair(const turn *t, int64_t i, int64_t j, int64_t a, int64_t b) {
    float first = t->x[i * t->x_step], second = t->x[j * t->x_step];
    t->y[i * t->y_step] = first * t->cos[a * t->cos_step] - second * t->sin[a * t->sin_step];
    t->y[j * t->y_step] = second * t->cos[b * t->cos_step] + first * t->sin[b * t->sin_step];
}

static void turn_halves(const af_rotary *r, const turn *t) {
    int64_t half = r->width / 2, upper = r->is_half ? 0 : half, i = 0;
    int is_dense = t->x_step == 1 && t->y_step == 1 && t->cos_step == 1 && t->sin_step == 1;
    for (; is_dense && i + AF_WIDTH <= half; i += AF_WIDTH) {
        vf first = load(t->x + i), second = load(t->x + half + i);
        store(t->y + i, first * load(t->cos + i) - second * load(t->sin + i));
        store(t->y + half + i, second * load(t->cos + upper + i) + first * load(t->sin + upper + i));
    }
    for (; i < half; i++) turn_pair(t, i, half + i, i, upper + i);
}

static void turn_neighbours(const af_rotary *r, const turn *t) {
    for (int64_t pair = 0; pair < r->width / 2; pair++) {
        int64_t i = 2 * pair;
        turn_pair(t, i, i + 1, r->is_half ? pair : i, r->is_half ? pair : i + 1);
    }
}

static inline int64_t find_place(const int64_t at[3], const int64_t strides[4]) {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
}

void af_run_rotary(const af_call *call, int64_t part, int64_t parts) {
    const af_rotary *r = &call->step->rotary;
    af_range units = share(r->batch * r->heads * r->rows, 1, part, parts);
    for (int64_t unit = units.first; unit < units.last; unit++) {
        const int64_t at[3] = {unit / r->rows / r->heads, unit / r->rows % r->heads, unit % r->rows};
        turn t = {
            .x = call->operands[AF_X] + r->x.offset + find_place(at, r->x.strides),
            .y = call->operands[AF_RESULT] + r->y.offset + find_place(at, r->y.strides),
            .cos = call->operands[COS] + find_place(at, r->cos_strides),
            .sin = call->operands[SIN] + find_place(at, r->sin_strides),
            .x_step = r->x.strides[3],
            .y_step = r->y.strides[3],
            .cos_step = r->cos_strides[3],
            .sin_step = r->sin_strides[3],
        };
        if (r->interleaved)
            turn_neighbours(r, &t);
        else
            turn_halves(r, &t);
        for (int64_t i = r->width; i < r->size; i++) t.y[i * t.y_step] = t.x[i * t.x_step];
    }
}
