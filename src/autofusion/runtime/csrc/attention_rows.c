/* Attention of a few queries, whose time goes into reading keys and values once. */
#include "attention.h"

AF_INLINE float multiply_rows(const float *a, const float *b, int64_t b_step, int64_t count) {
    vf sums[2] = {{0}, {0}};
    int64_t i = 0;
    for (; b_step == 1 && i + 2 * AF_WIDTH <= count; i += 2 * AF_WIDTH) {
        sums[0] += load(a + i) * load(b + i);
        sums[1] += load(a + i + AF_WIDTH) * load(b + i + AF_WIDTH);
    }
    float sum = add_lanes(sums[0] + sums[1]);
    for (; i < count; i++) sum += a[i] * b[i * b_step];
    return sum;
}

AF_INLINE void add_multiple(float *y, const float *row, int64_t step, float factor, int64_t count) {
    int64_t i = 0;
    for (; step == 1 && i + AF_WIDTH <= count; i += AF_WIDTH) store(y + i, load(y + i) + load(row + i) * factor);
    for (; i < count; i++) y[i] += row[i * step] * factor;
}

void af_attend_rows(const af_head *head, af_range queries, float *scratch) {
    const af_attention *a = &head->call->step->attention;
    int64_t padded = count_panels(head->key_count) * AF_PANEL;
    float *scores = scratch, *q = scores + padded, *v = q + count_panels(a->size) * AF_PANEL;
    for (int64_t query = queries.first; query < queries.last; query++) {
        for (int64_t i = 0; i < a->size; i++) q[i] = head->q[query * a->q.strides[2] + i * a->q.strides[3]];
        for (int64_t key = 0; key < head->key_count; key++) {
            int64_t step;
            const float *row = find_row_of_head(&head->keys, key, &step);
            scores[key] = multiply_rows(q, row, step, a->size) * (float)head->call->step->scale;
        }
        for (int64_t key = head->key_count; key < padded; key++) scores[key] = 0;
        float bound = af_mask_scores(head, query, (af_range){0, head->key_count}, scores);
        float sum = head->key_count ? af_exponentiate(scores, padded, bound) : 1;
        for (int64_t i = 0; i < a->value_size; i++) v[i] = 0;
        for (int64_t key = 0; key < head->key_count; key++) {
            int64_t step;
            const float *row = find_row_of_head(&head->values, key, &step);
            add_multiple(v, row, step, scores[key], a->value_size);
        }
        af_store_query(head, query, v, sum);
    }
}
