/* Scaled dot-product attention of doubles: for every head, keys and values as panels, then for a block of queries at a
   time scores, softmax and values. */
#include "attention.h"
#include "double.h"
#include "double_math.h"
#include "double_tile.h"

/* What a share keeps: pointers to the rows of a block, panels of a head, and the scores and queries of a block. */
typedef struct task {
    const af_double **table;
    af_double *key_panels, *value_panels, *scores, *q;
} task;

/* One head of one sample. */
typedef struct head {
    const af_call *call;
    const af_attention *attention;
    int64_t sample, number, group, keys;
} head;

/* Rows of keys or values of one head, of which the first `past` lie elsewhere. */
typedef struct row_source {
    const af_double *past_rows, *rows;
    int64_t past, width, row_stride, step;
} row_source;

static int64_t pad_keys(const af_attention *a) { return count_panels(a->past + a->keys) * AF_PANEL; }

int64_t af_attention_double_scratch(const af_attention *a) {
    int64_t panels = pad_keys(a) * (a->size + count_panels(a->value_size) * AF_PANEL);
    return count_table_bytes() + panels * (int64_t)sizeof(double) + count_block_bytes(pad_keys(a) + a->size);
}

static task lay_out(const af_attention *a, char *scratch) {
    task t = {.table = (const af_double **)scratch};
    t.key_panels = (af_double *)(scratch + count_table_bytes());
    t.value_panels = t.key_panels + pad_keys(a) * a->size;
    t.scores = t.value_panels + pad_keys(a) * count_panels(a->value_size) * AF_PANEL;
    t.q = t.scores + AF_DOUBLE_BLOCK * pad_keys(a);
    return t;
}

static row_source find_source(const head *h, int place, const af_view *view, int64_t width) {
    const af_attention *a = h->attention;
    const af_double *past = find_doubles(h->call, place + AF_PAST_KEY - AF_K);
    const af_double *rows = find_doubles(h->call, place) + view->offset + h->sample * view->strides[0];
    return (row_source){
        .past_rows = past ? past + (h->sample * a->key_heads + h->group) * a->past * width : NULL,
        .rows = rows + h->group * view->strides[1],
        .past = past ? a->past : 0,
        .width = width,
        .row_stride = view->strides[2],
        .step = view->strides[3],
    };
}

static const af_double *find_row(const row_source *source, int64_t row, int64_t *step) {
    *step = row < source->past ? 1 : source->step;
    if (row < source->past) return source->past_rows + row * source->width;
    return source->rows + (row - source->past) * source->row_stride;
}

/* Keys in panels: [panel][number][key], zeros where there is no key. */
static void pack_keys(const row_source *source, int64_t keys, af_double *panels) {
    memset(panels, 0, (size_t)(count_panels(keys) * AF_PANEL * source->width) * sizeof(double));
    for (int64_t key = 0; key < keys; key++) {
        int64_t step;
        const af_double *row = find_row(source, key, &step);
        af_double *to = panels + key / AF_PANEL * AF_PANEL * source->width + key % AF_PANEL;
        for (int64_t i = 0; i < source->width; i++) to[i * AF_PANEL] = row[i * step];
    }
}

/* Values in panels: [panel][value][number], zeros where there is no number. */
static void pack_values(const row_source *source, int64_t values, af_double *panels) {
    memset(panels, 0, (size_t)(count_panels(source->width) * AF_PANEL * values) * sizeof(double));
    for (int64_t value = 0; value < values; value++) {
        int64_t step;
        const af_double *row = find_row(source, value, &step);
        for (int64_t i = 0; i < source->width; i++)
            panels[(i / AF_PANEL * values + value) * AF_PANEL + i % AF_PANEL] = row[i * step];
    }
}

/* Where a term of the scores has the element of a query and key 0, in elements. */
static int64_t find_term(const head *h, const af_term *term, int64_t query) {
    return h->sample % term->period * term->strides[0] + h->number * term->strides[1] + query * term->strides[2];
}

static void add_term(const head *h, int place, const af_term *term, int64_t query, af_double *scores) {
    const af_double *data = find_doubles(h->call, place);
    if (!data) return;
    data += find_term(h, term, query);
    for (int64_t key = 0; key < h->keys; key++) scores[key] += data[key * term->strides[3]];
}

/* Put `fill` in the place of scores that are dropped, or add it to them. */
static void drop_scores(const head *h, int64_t query, int adds, af_double *scores) {
    const af_attention *a = h->attention;
    const unsigned char *keep = (const unsigned char *)h->call->operands[AF_KEEP];
    double fill = h->call->step->alpha;
    keep += find_term(h, &a->keep, query);
    for (int64_t key = 0; key < h->keys; key++)
        if ((keep[key * a->keep.strides[3]] != 0) == a->keep_drops) scores[key] = adds ? scores[key] + fill : fill;
}

/* Scores of a query, of which `padded` have memory, become exp(score - maximum); their sum. */
static double weigh(const head *h, int64_t query, int64_t padded, af_double *scores) {
    const af_attention *a = h->attention;
    if (a->keep_mode == AF_KEEP_FIRST) drop_scores(h, query, 0, scores);
    add_term(h, AF_ADDED, &a->bias, query, scores);
    add_term(h, AF_MASK, &a->mask, query, scores);
    if (a->keep_mode == AF_KEEP_ADD) drop_scores(h, query, 1, scores);
    if (a->keep_mode == AF_KEEP_LAST) drop_scores(h, query, 0, scores);
    int64_t end = a->causal ? smaller(h->keys, query + a->past + 1) : h->keys;
    double largest = -__builtin_inf(), sum = 0;
    for (int64_t key = 0; key < end; key++)
        largest = scores[key] > largest || scores[key] != scores[key] ? scores[key] : largest;
    for (int64_t key = 0; key < end; key += AF_LANES)
        store_doubles(scores + key, double_exp(load_doubles(scores + key) - largest));
    for (int64_t key = 0; key < end; key++) sum += scores[key];
    for (int64_t key = end; key < padded; key++) scores[key] = 0;
    return sum;
}

/* y = v / sum; with `guard` zeros where the sum is NaN. */
static void store_block(const head *h, af_range queries, const double *sums, af_double *values, int64_t column) {
    const af_attention *a = h->attention;
    int64_t columns = smaller(a->value_size - column, AF_PANEL);
    af_double *y = find_doubles(h->call, AF_RESULT) + a->y.offset + h->sample * a->y.strides[0];
    y += h->number * a->y.strides[1] + column * a->y.strides[3];
    for (int64_t query = queries.first; query < queries.last; query++, values += AF_PANEL) {
        double sum = sums[query - queries.first];
        int is_nothing = a->guard && sum != sum;
        for (int64_t i = 0; i < columns; i++)
            y[query * a->y.strides[2] + i * a->y.strides[3]] = is_nothing ? 0 : values[i] / sum;
    }
}

/* Point the table at queries, scaled. */
static void take_queries(const head *h, const task *t, af_range queries) {
    const af_attention *a = h->attention;
    const af_double *q = find_doubles(h->call, AF_Q) + a->q.offset + h->sample * a->q.strides[0];
    q += h->number * a->q.strides[1];
    for (int64_t query = queries.first; query < queries.last; query++) {
        af_double *copy = t->q + (query - queries.first) * a->size;
        for (int64_t i = 0; i < a->size; i++)
            copy[i] = q[query * a->q.strides[2] + i * a->q.strides[3]] * h->call->step->scale;
        t->table[query - queries.first] = copy;
    }
}

static void attend(const head *h, const task *t, af_range queries) {
    const af_attention *a = h->attention;
    int64_t count = queries.last - queries.first, padded = pad_keys(a);
    double sums[AF_DOUBLE_BLOCK], tile[AF_DOUBLE_BLOCK * AF_PANEL];
    take_queries(h, t, queries);
    for (int64_t key = 0; key < h->keys; key += AF_PANEL) {
        af_multiply_doubles(t->table, count, a->size, t->key_panels + key * a->size, tile);
        for (int64_t row = 0; row < count; row++)
            memcpy(t->scores + row * padded + key, tile + row * AF_PANEL, AF_PANEL * sizeof(double));
    }
    for (int64_t row = 0; row < count; row++) {
        af_double *scores = t->scores + row * padded;
        /* A sum over no keys is 0. */
        sums[row] = h->keys ? weigh(h, queries.first + row, padded, scores) : 1;
        t->table[row] = scores;
    }
    for (int64_t column = 0; column < a->value_size; column += AF_PANEL) {
        af_multiply_doubles(t->table, count, h->keys, t->value_panels + column * h->keys, tile);
        store_block(h, queries, sums, tile, column);
    }
}

/* Past and new rows of a key head, one after the other. */
static void store_present(const row_source *source, int64_t count, af_double *present) {
    for (int64_t row = 0; row < count; row++) {
        int64_t step;
        const af_double *from = find_row(source, row, &step);
        for (int64_t i = 0; i < source->width; i++) present[row * source->width + i] = from[i * step];
    }
}

static void store_presents(const head *h, int64_t unit) {
    const af_attention *a = h->attention;
    af_double *key = find_doubles(h->call, AF_PRESENT_KEY), *value = find_doubles(h->call, AF_PRESENT_VALUE);
    row_source keys = find_source(h, AF_K, &a->k, a->size), values = find_source(h, AF_V, &a->v, a->value_size);
    if (key) store_present(&keys, h->keys, key + unit * h->keys * a->size);
    if (value) store_present(&values, h->keys, value + unit * h->keys * a->value_size);
}

void af_run_attention_double(const af_call *call, int64_t part, int64_t parts) {
    const af_attention *a = &call->step->attention;
    const task t = lay_out(a, find_scratch(call, part));
    head h = {.call = call, .attention = a, .keys = a->past + a->keys};
    af_range key_heads = share(a->batch * a->key_heads, 1, part, parts);
    for (int64_t unit = key_heads.first; unit < key_heads.last; unit++) {
        h.sample = unit / a->key_heads;
        h.group = unit % a->key_heads;
        store_presents(&h, unit);
    }
    af_range heads = {0, a->batch * a->heads}, queries = {0, a->queries};
    /* Heads are split where there are enough; else every share packs the keys of all for some of the queries. */
    if (heads.last >= parts)
        heads = share(heads.last, 1, part, parts);
    else
        queries = share(queries.last, 1, part, parts);
    for (int64_t unit = heads.first; unit < heads.last; unit++) {
        h.sample = unit / a->heads;
        h.number = unit % a->heads;
        h.group = h.number / (a->heads / a->key_heads);
        row_source keys = find_source(&h, AF_K, &a->k, a->size), values = find_source(&h, AF_V, &a->v, a->value_size);
        pack_keys(&keys, h.keys, t.key_panels);
        pack_values(&values, h.keys, t.value_panels);
        for (int64_t query = queries.first; query < queries.last; query += AF_DOUBLE_BLOCK)
            attend(&h, &t, (af_range){query, smaller(query + AF_DOUBLE_BLOCK, queries.last)});
    }
}
