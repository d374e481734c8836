/* Scaled dot-product attention: for every head and a tile of queries, scores, softmax and values without a pass over
   memory between them.  Long rows of keys are taken in blocks, with the maximum and the sum carried along
   (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). */
#include "attention.h"

/* What a share of the work keeps beside its scores: panels of a block, and sums of all its queries. */
typedef struct task {
    float *key_panels, *value_panels, *scores, *q, *sums, *bounds, *totals;
    const float **table;
} task;

static const float no_bias[AF_TILE_PANELS * AF_PANEL];

static int64_t count_keys(const af_attention *a) { return a->past + a->keys; }

/* Numbers that each part of the scratch memory holds, in its order. */
typedef struct extents {
    int64_t key_panels, value_panels, scores, q, sums, bounds;
} extents;

static extents measure(const af_attention *a) {
    int64_t block = count_panels(smaller(count_keys(a), AF_KEY_BLOCK)) * AF_PANEL;
    int64_t size = count_panels(a->size) * AF_PANEL, value_size = count_panels(a->value_size) * AF_PANEL;
    return (extents){
        .key_panels = block * size,
        .value_panels = block * value_size,
        .scores = AF_TILE_MOST * block,
        .q = AF_TILE_MOST * size,
        .sums = a->queries * value_size,
        .bounds = divide_up(a->queries, AF_PANEL) * AF_PANEL,
    };
}

int64_t af_attention_scratch(const af_attention *a) {
    extents e = measure(a);
    int64_t rows = count_panels(count_keys(a)) * AF_PANEL + e.q + e.sums + AF_PANEL;
    int64_t packed = e.key_panels + e.value_panels + e.scores + e.q + e.sums + 2 * e.bounds;
    return (packed > rows ? packed : rows) * (int64_t)sizeof(float) + AF_PANEL * (int64_t)sizeof(float *);
}

static task lay_out(const af_attention *a, char *scratch) {
    extents e = measure(a);
    task t = {.table = (const float **)scratch};
    t.key_panels = (float *)(scratch + AF_PANEL * sizeof(float *));
    t.value_panels = t.key_panels + e.key_panels;
    t.scores = t.value_panels + e.value_panels;
    t.q = t.scores + e.scores;
    t.sums = t.q + e.q;
    t.bounds = t.sums + e.sums;
    t.totals = t.bounds + e.bounds;
    return t;
}

static const float *find_head(const af_call *call, int place, const af_view *view, int64_t sample, int64_t head) {
    return call->operands[place] + view->offset + sample * view->strides[0] + head * view->strides[1];
}

static af_rows_of_head find_rows(const af_call *call, int place, const af_view *view, int64_t sample, int64_t head,
                                 int64_t width) {
    const af_attention *a = &call->step->attention;
    const float *past = call->operands[place + AF_PAST_KEY - AF_K];
    return (af_rows_of_head){
        .past_rows = past ? past + (sample * a->key_heads + head) * a->past * width : NULL,
        .rows = find_head(call, place, view, sample, head),
        .past = past ? a->past : 0,
        .width = width,
        .row_stride = view->strides[2],
        .step = view->strides[3],
    };
}

/* Rows of the tile as the micro-kernel reads them: in place where their numbers lie side by side. */
static void take_queries(const af_head *head, int64_t first, int64_t count, const task *t) {
    const af_attention *a = &head->call->step->attention;
    for (int64_t row = 0; row < count; row++) {
        const float *q = head->q + (first + row) * a->q.strides[2];
        t->table[row] = q;
        if (a->q.strides[3] == 1) continue;
        float *copy = t->q + row * a->size;
        for (int64_t i = 0; i < a->size; i++) copy[i] = q[i * a->q.strides[3]];
        t->table[row] = copy;
    }
}

/* y = factor * rows * panels, added to `added` where it is there, which has the pitch of y. */
static void multiply_panels(const task *t, int64_t rows, int64_t depth, const float *panels, int64_t panel_step,
                            int64_t panel_count, const af_epilogue *epilogue, float *y, int64_t pitch,
                            const float *added) {
    for (int64_t panel = 0; panel < panel_count; panel += AF_TILE_PANELS) {
        int64_t count = smaller(AF_TILE_PANELS, panel_count - panel);
        const float *packed = panels + panel * panel_step;
        af_tile tile = {
            .rows = t->table,
            .segments = 1,
            .length = depth,
            .panel = packed,
            .ahead = (const char *)packed,
            .ahead_step = sizeof(float) * AF_PANEL,
            .panel_step = panel_step,
            .y = y + panel * AF_PANEL,
            .y_pitch = pitch,
            .columns = count * AF_PANEL,
            .bias = no_bias,
            .residual = added ? added + panel * AF_PANEL : NULL,
            .epilogue = epilogue,
            .first = 1,
            .last = 1,
        };
        af_run_tile(&tile, rows, count == 1 ? AF_ONE_PANEL : AF_TWO_PANELS);
    }
}

static af_epilogue scale_by(float factor, int64_t pitch) {
    return (af_epilogue){.scale = factor, .low = -__builtin_inff(), .high = __builtin_inff(), .residual_pitch = pitch};
}

/* Turn the scores of a query into weights; its earlier sums shrink where its maximum grew. */
static void weigh(const af_head *head, const task *t, int64_t query, int64_t at, af_range keys, float *scores,
                  int is_first) {
    const af_attention *a = &head->call->step->attention;
    int64_t pitch = count_panels(a->value_size) * AF_PANEL, padded = count_panels(keys.last - keys.first) * AF_PANEL;
    float *sums = t->sums + at * pitch, *bound = &t->bounds[at], *total = &t->totals[at];
    float largest = af_mask_scores(head, query, keys, scores);
    if (is_first) {
        *bound = largest;
        *total = af_exponentiate(scores, padded, largest);
        return;
    }
    float lowest = -__builtin_inff();
    if (largest == lowest) {
        /* Nothing in this block counts; where nothing ever did, the row stays NaN. */
        memset(scores, 0, (size_t)padded * sizeof(float));
        return;
    }
    if (*bound == lowest) {
        memset(sums, 0, (size_t)pitch * sizeof(float));
        *total = 0;
        *bound = largest;
    } else if (!(largest <= *bound)) {
        float factor = __builtin_expf(*bound - largest);
        for (int64_t i = 0; i < pitch; i++) sums[i] *= factor;
        *total *= factor;
        *bound = largest;
    }
    *total += af_exponentiate(scores, padded, *bound);
}

/* Queries first..last-1 of a head against keys of one block. */
static void attend_block(const af_head *head, const task *t, af_range queries, af_range keys) {
    const af_attention *a = &head->call->step->attention;
    int64_t pitch = count_panels(a->value_size) * AF_PANEL, block = count_panels(keys.last - keys.first) * AF_PANEL;
    af_epilogue scaled = scale_by((float)head->call->step->scale, 0), plain = scale_by(1, pitch);
    int is_first = keys.first == 0;
    int64_t tiles = divide_up(queries.last - queries.first, AF_TILE_ROWS), query = queries.first;
    for (int64_t i = 0; i < tiles; i++) {
        int64_t count = (queries.last - query) / (tiles - i), at = query - queries.first;
        af_range seen = keys;
        if (a->causal && query + count + a->past < seen.last) seen.last = query + count + a->past;
        if (seen.last > seen.first) {
            int64_t depth = seen.last - seen.first;
            take_queries(head, query, count, t);
            multiply_panels(t, count, a->size, t->key_panels, a->size * AF_PANEL, count_panels(depth), &scaled,
                            t->scores, block, NULL);
            for (int64_t row = 0; row < count; row++) {
                weigh(head, t, query + row, at + row, seen, t->scores + row * block, is_first);
                t->table[row] = t->scores + row * block;
            }
            float *sums = t->sums + at * pitch;
            multiply_panels(t, count, depth, t->value_panels, (keys.last - keys.first) * AF_PANEL, pitch / AF_PANEL,
                            &plain, sums, pitch, is_first ? NULL : sums);
        }
        query += count;
    }
}

static void attend(const af_head *head, const task *t, af_range queries) {
    const af_attention *a = &head->call->step->attention;
    int64_t pitch = count_panels(a->value_size) * AF_PANEL;
    for (int64_t key = 0; key < head->key_count; key += AF_KEY_BLOCK) {
        af_range keys = {key, smaller(key + AF_KEY_BLOCK, head->key_count)};
        af_pack_keys(&head->keys, keys, t->key_panels);
        af_pack_values(&head->values, keys, t->value_panels);
        attend_block(head, t, queries, keys);
    }
    for (int64_t query = queries.first; query < queries.last; query++) {
        int64_t at = query - queries.first;
        if (head->key_count == 0) {
            /* A sum over no keys is 0. */
            memset(t->sums + at * pitch, 0, (size_t)pitch * sizeof(float));
            t->totals[at] = 1;
        }
        af_store_query(head, query, t->sums + at * pitch, t->totals[at]);
    }
}

/* Past and new rows of a key head, one after the other. */
static void store_present(const af_rows_of_head *rows, int64_t count, float *present) {
    if (!present) return;
    for (int64_t row = 0; row < count; row++) {
        int64_t step;
        const float *from = find_row_of_head(rows, row, &step);
        for (int64_t i = 0; i < rows->width; i++) present[row * rows->width + i] = from[i * step];
    }
}

static void store_presents(const af_call *call, af_range heads) {
    const af_attention *a = &call->step->attention;
    for (int64_t unit = heads.first; unit < heads.last; unit++) {
        int64_t sample = unit / a->key_heads, head = unit % a->key_heads;
        float *key = call->operands[AF_PRESENT_KEY], *value = call->operands[AF_PRESENT_VALUE];
        af_rows_of_head keys = find_rows(call, AF_K, &a->k, sample, head, a->size);
        af_rows_of_head values = find_rows(call, AF_V, &a->v, sample, head, a->value_size);
        store_present(&keys, count_keys(a), key ? key + unit * count_keys(a) * a->size : NULL);
        store_present(&values, count_keys(a), value ? value + unit * count_keys(a) * a->value_size : NULL);
    }
}

void af_run_attention(const af_call *call, int64_t part, int64_t parts) {
    const af_attention *a = &call->step->attention;
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    task t = lay_out(a, scratch);
    store_presents(call, share(a->batch * a->key_heads, 1, part, parts));
    af_range heads = {0, a->batch * a->heads}, queries = {0, a->queries};
    /* Heads are split where there are enough; else every share packs the keys of all for some of the queries. */
    if (heads.last >= parts)
        heads = share(heads.last, 1, part, parts);
    else
        queries = share(queries.last, 1, part, parts);
    for (int64_t unit = heads.first; unit < heads.last; unit++) {
        int64_t sample = unit / a->heads, number = unit % a->heads, group = number / (a->heads / a->key_heads);
        af_head head = {
            .call = call,
            .sample = sample,
            .head = number,
            .q = find_head(call, AF_Q, &a->q, sample, number),
            .y = (float *)find_head(call, AF_RESULT, &a->y, sample, number),
            .keys = find_rows(call, AF_K, &a->k, sample, group, a->size),
            .values = find_rows(call, AF_V, &a->v, sample, group, a->value_size),
            .key_count = count_keys(a),
        };
        if (queries.last - queries.first <= AF_FEW_QUERIES)
            af_attend_rows(&head, queries, (float *)(scratch + AF_PANEL * sizeof(float *)));
        else
            attend(&head, &t, queries);
    }
}
