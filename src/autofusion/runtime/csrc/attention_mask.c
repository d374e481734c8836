/* The scores of a query: masks, the exponential, and what becomes of the sum. */
#include "attention.h"
#include "vmath.h"

/* Where a term has the element of the first key, and how far it goes from key to key; null where it is absent. */
typedef struct term_row {
    const float *at;
    int64_t step;
} term_row;

AF_INLINE int64_t find_term(const af_head *head, const af_term *term, int64_t query, int64_t key) {
    return head->sample % term->period * term->strides[0] + head->head * term->strides[1] + query * term->strides[2] +
           key * term->strides[3];
}

static term_row find_added(const af_head *head, int place, const af_term *term, int64_t query, int64_t key) {
    const float *data = head->call->operands[place];
    return (term_row){data ? data + find_term(head, term, query, key) : NULL, term->strides[3]};
}

/* -1 in the lanes of the elements that are dropped. */
AF_INLINE vi find_dropped(const unsigned char *keep, int64_t step, int64_t count, int keep_drops) {
    vi lanes = {0};
    for (int64_t lane = 0; lane < count; lane++) lanes[lane] = -((keep[lane * step] != 0) == keep_drops);
    return lanes;
}

AF_INLINE vf take_term(const term_row *row, int64_t at, int64_t count) {
    if (row->step == 0) return splat(*row->at);
    return count < AF_WIDTH ? load_some(row->at + at, count) : load(row->at + at);
}

/* Lanes 0, 1, 2, ... */
AF_INLINE vi count_lanes(void) {
    vi lanes;
    for (int lane = 0; lane < AF_WIDTH; lane++) lanes[lane] = lane;
    return lanes;
}

float af_mask_scores(const af_head *head, int64_t query, af_range keys, float *scores) {
    const af_attention *a = &head->call->step->attention;
    const vf lowest = splat(-__builtin_inff()), fill = splat((float)head->call->step->alpha);
    const vi lanes = count_lanes();
    term_row bias = find_added(head, AF_ADDED, &a->bias, query, keys.first);
    term_row mask = find_added(head, AF_MASK, &a->mask, query, keys.first);
    const unsigned char *keep = (const unsigned char *)head->call->operands[AF_KEEP];
    if (keep) keep += find_term(head, &a->keep, query, keys.first);
    /* Keys from here on are dropped: later than the query, or none at all. */
    int64_t end = keys.last - keys.first;
    if (a->causal) end = smaller(end, query + a->past + 1 - keys.first);
    vf largest = lowest;
    int64_t padded = divide_up(keys.last - keys.first, AF_PANEL) * AF_PANEL;
    for (int64_t at = 0; at < padded; at += AF_WIDTH) {
        int64_t count = smaller(AF_WIDTH, keys.last - keys.first - at);
        vf x = load(scores + at);
        vi dropped = {0};
        if (keep && count > 0)
            dropped = find_dropped(keep + at * a->keep.strides[3], a->keep.strides[3], count, (int)a->keep_drops);
        if (a->keep_mode == AF_KEEP_FIRST) x = pick(dropped, fill, x);
        if (bias.at && count > 0) x += take_term(&bias, at, count);
        if (mask.at && count > 0) x += take_term(&mask, at, count);
        if (a->keep_mode == AF_KEEP_ADD) x += pick(dropped, fill, splat(0));
        if (a->keep_mode == AF_KEEP_LAST) x = pick(dropped, fill, x);
        if (at + AF_WIDTH > end) x = pick(lanes >= (int32_t)(end - at < 0 ? 0 : end - at), lowest, x);
        store(scores + at, x);
        largest = maximum(largest, x);
    }
    return find_largest_lane(largest);
}

float af_exponentiate(float *scores, int64_t count, float bound) {
    vf sum = {0};
    for (int64_t at = 0; at < count; at += AF_WIDTH) {
        vf x = vexp(load(scores + at) - bound);
        store(scores + at, x);
        sum += x;
    }
    return add_lanes(sum);
}

void af_store_query(const af_head *head, int64_t query, const float *v, float sum) {
    const af_attention *a = &head->call->step->attention;
    float *y = head->y + query * a->y.strides[2];
    if (a->guard && sum != sum) {
        for (int64_t i = 0; i < a->value_size; i++) y[i * a->y.strides[3]] = 0;
        return;
    }
    float factor = 1 / sum;
    int64_t i = 0;
    for (; a->y.strides[3] == 1 && i + AF_WIDTH <= a->value_size; i += AF_WIDTH) store(y + i, load(v + i) * factor);
    for (; i < a->value_size; i++) y[i * a->y.strides[3]] = v[i] * factor;
}
