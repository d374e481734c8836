/* Products of the rows of a with a constant matrix: rows may be normalized first, columns are dealt out to several
   results or make a gated one.

   A block of rows is packed for a part of the depth, then meets panel after panel of that part, so that a is read once
   and b once for every block.  Between parts of the depth y holds the sums. */
#include "element.h"
#include "product.h"
#include "row_norm.h"

enum { GAMMA = 5, BETA = 6 };

typedef struct task {
    const af_call *call;
    const af_epilogue *epilogue, *plain;
    float *packed;       /* PACKED_MOST numbers */
    af_moments *moments; /* of the rows of the block, or null */
    float *right;        /* the second half of a gated product: [ROWS_MOST][columns] */
} task;

/* Rows of a block, columns of a part of the depth, and both together: what is packed stays in the second cache.
   Longer parts need fewer sums between them; processors with wide vectors have larger caches. */
enum { ROWS_MOST = 240, DEPTH_MOST = AF_WIDTH == 16 ? 768 : 256, PACKED_MOST = ROWS_MOST * 768 };

/* Rows that wait for b whatever they do: they read it from front to back, one panel after the other. */
enum { WAITING_ROWS = 4 };

/* Rows of each share that are worth reading all of b for: with narrow vectors b does not wait for so few. */
enum { SHARED_ROWS = AF_WIDTH == 16 ? 80 : ROWS_MOST };

/* Columns of a part of the depth for a single tile of rows; more of them would add up too many numbers in a row. */
enum { SINGLE_DEPTH_MOST = 4096 };

enum { PACKED_BYTES = sizeof(float) * PACKED_MOST, MOMENTS_BYTES = sizeof(af_moments) * ROWS_MOST };

int64_t af_product_scratch(const af_product *p) {
    return PACKED_BYTES + MOMENTS_BYTES + (p->gated ? (int64_t)sizeof(float) * ROWS_MOST * p->widths[1] : 0);
}

static float *find_result(const af_call *call, int part) {
    return call->operands[part == 0 ? AF_RESULT : AF_FURTHER + part - 1];
}

/* Panels and columns ahead of each part of b. */
static int64_t count_panels(int64_t columns) { return divide_up(columns, AF_PANEL); }

/* The rows from `row` of the block on, and the columns from `column` of a part on, `count` of them. */
static void aim(const task *t, af_product_tile *tile, int part, int64_t column, int64_t count, int64_t first_row,
                int64_t row) {
    const af_product *p = &t->call->step->product;
    const float *bias = t->call->operands[AF_BIAS], *residual = t->call->operands[AF_RESIDUAL];
    int64_t width = p->widths[part], at = first_row + row, before = 0;
    for (int earlier = 0; earlier < part; earlier++) before += p->widths[earlier];
    int is_right = p->gated && part == 1;
    tile->y = is_right ? t->right + row * width + column : find_result(t->call, part) + at * width + column;
    tile->y_pitch = width;
    tile->columns = smaller(count, width - column);
    tile->bias = bias ? bias + before + column : NULL;
    tile->residual = residual ? residual + at * width + column : NULL;
    tile->residual_pitch = width;
}

/* One or two panels of a part times all packed rows. */
static void run_panels(const task *t, int part, int64_t panel, int64_t panels, af_range rows, af_range depth) {
    const af_product *p = &t->call->step->product;
    int64_t ahead = 0, length = depth.last - depth.first;
    for (int earlier = 0; earlier < part; earlier++) ahead += count_panels(p->widths[earlier]);
    /* Bytes of a row of a panel, and of a panel. */
    int64_t row_bytes = AF_PANEL * element_size(p->type), panel_bytes = p->depth * row_bytes;
    const char *b = (const char *)t->call->operands[AF_B] + (ahead + panel) * panel_bytes + depth.first * row_bytes;
    af_product_tile tile = {
        .panels = {b, b + panel_bytes},
        .depth = length,
        .epilogue = p->gated && part == 1 ? t->plain : t->epilogue,
        .first = depth.first == 0,
        .last = depth.last == p->depth,
    };
    int64_t count = rows.last - rows.first, tiles = divide_up(count, AF_PRODUCT_ROWS);
    const float *packed = t->packed;
    const char *next = b + panels * panel_bytes;
    for (int64_t i = 0, row = 0; i < tiles; i++) {
        int64_t height = (count - row) / (tiles - i);
        af_range fetched = share(length, 1, i, tiles);
        for (int place = 0; place < 2; place++)
            tile.ahead[place] = next + place * panel_bytes + fetched.first * row_bytes;
        tile.ahead_lines = fetched.last - fetched.first;
        aim(t, &tile, part, panel * AF_PANEL, panels * AF_PANEL, rows.first, row);
        tile.a = packed;
        af_run_product_tile(&tile, p->type, height, panels);
        packed += height * length;
        row += height;
    }
}

static void pack_block(const task *t, af_range rows, af_range depth) {
    const af_product *p = &t->call->step->product;
    int64_t count = rows.last - rows.first, tiles = divide_up(count, AF_PRODUCT_ROWS);
    float *packed = t->packed;
    for (int64_t i = 0, row = 0; i < tiles; i++) {
        int64_t height = (count - row) / (tiles - i);
        const float *a = t->call->operands[AF_A] + (rows.first + row) * p->depth;
        af_pack_rows(a, p->depth, height, depth, t->moments ? t->moments + row : NULL, t->call->operands[GAMMA],
                     t->call->operands[BETA], packed);
        packed += height * (depth.last - depth.first);
        row += height;
    }
}

/* y = left * right for the columns of `panels`. */
static void gate(const task *t, af_range rows, af_range panels) {
    const af_product *p = &t->call->step->product;
    int64_t width = p->widths[0], first = panels.first * AF_PANEL, last = smaller(panels.last * AF_PANEL, width);
    for (int64_t row = rows.first; row < rows.last; row++) {
        float *y = t->call->operands[AF_RESULT] + row * width;
        const float *right = t->right + (row - rows.first) * width;
        int64_t i = first;
        for (; i + AF_WIDTH <= last; i += AF_WIDTH) store(y + i, load(y + i) * load(right + i));
        for (; i < last; i++) y[i] *= right[i];
    }
}

/* Panels of a part that belong to this share. */
static af_range share_panels(const af_product *p, int part, int64_t number, int64_t shares) {
    return share(count_panels(p->widths[part]), AF_PRODUCT_PANELS, number, shares);
}

static void run_block(const task *t, af_range rows, int64_t number, int64_t shares) {
    const af_product *p = &t->call->step->product;
    if (t->moments)
        for (int64_t row = rows.first; row < rows.last; row++)
            t->moments[row - rows.first] = measure_row(t->call->operands[AF_A] + row * p->depth, p->depth, p->norm,
                                                       (float)t->call->step->further);
    /* One tile of rows leaves b alone in the caches: the longer the run of a panel, the better. */
    int64_t count = rows.last - rows.first, width = count <= WAITING_ROWS ? 1 : AF_PRODUCT_PANELS;
    int64_t most = SINGLE_DEPTH_MOST;
    if (count > AF_PRODUCT_ROWS) most = smaller(DEPTH_MOST, PACKED_MOST / count);
    int64_t pieces = p->depth > most ? divide_up(p->depth, most) : 1;
    for (int64_t piece = 0; piece < pieces; piece++) {
        af_range depth = share(p->depth, 1, piece, pieces);
        pack_block(t, rows, depth);
        for (int part = 0; part < p->parts; part++) {
            af_range panels = share_panels(p, part, number, shares);
            for (int64_t panel = panels.first; panel < panels.last; panel += width)
                run_panels(t, part, panel, smaller(width, panels.last - panel), rows, depth);
        }
    }
    if (p->gated) gate(t, rows, share_panels(p, 0, number, shares));
}

void af_run_product(const af_call *call, int64_t part, int64_t parts) {
    const af_product *p = &call->step->product;
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    af_epilogue epilogue = make_epilogue(call->step, p->activation, NULL, NULL, 0), plain = epilogue;
    plain.low = -__builtin_inff();
    plain.high = __builtin_inff();
    plain.late.function = AF_IDENTITY;
    task t = {.call = call, .epilogue = &epilogue, .plain = &plain, .packed = (float *)scratch};
    if (p->norm != AF_NORM_NONE) t.moments = (af_moments *)(scratch + PACKED_BYTES);
    t.right = (float *)(scratch + PACKED_BYTES + MOMENTS_BYTES);
    af_range rows = {0, p->rows};
    int64_t number = part, shares = parts;
    /* With many rows each share takes some of them, and packs only those; with few, some of the panels, so that b is
       read once. */
    if (p->rows >= SHARED_ROWS * parts) {
        rows = share(p->rows, 1, part, parts);
        number = 0;
        shares = 1;
    }
    int64_t blocks = divide_up(rows.last - rows.first, ROWS_MOST);
    for (int64_t i = 0, row = rows.first; i < blocks; i++) {
        int64_t count = divide_up(rows.last - row, blocks - i);
        run_block(&t, (af_range){row, row + count}, number, shares);
        row += count;
    }
}
