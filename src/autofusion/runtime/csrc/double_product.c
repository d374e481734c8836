/* Products of rows of doubles with a constant matrix: rows may be normalized first, columns are dealt out to several
   results or make a gated one.  A block of rows meets panel after panel, each over the whole depth. */
#include "double.h"
#include "double_row_norm.h"
#include "double_tile.h"

enum { GAMMA = 5, BETA = 6 };

typedef struct task {
    const af_call *call;
    const af_product *product;
    const af_double **table; /* the rows of the block */
    af_double *rows;         /* the same normalized */
} task;

/* Panel `panel` of part `part`, and where its columns begin among all. */
typedef struct place {
    int part;
    int64_t panel, columns_ahead, panels_ahead;
} place;

int64_t af_product_double_scratch(const af_product *p) {
    return count_table_bytes() + (p->norm != AF_NORM_NONE ? count_block_bytes(p->depth) : 0);
}

static void take_rows(const task *t, af_range rows) {
    const af_product *p = t->product;
    const af_call *call = t->call;
    for (int64_t row = rows.first; row < rows.last; row++) {
        const af_double *a = find_doubles(call, AF_A) + row * p->depth;
        t->table[row - rows.first] = a;
        if (p->norm == AF_NORM_NONE) continue;
        af_double *normal = t->rows + (row - rows.first) * p->depth;
        af_double_moments moments = measure_doubles(a, p->depth, p->norm, call->step->further);
        normalize_doubles(a, normal, p->depth, moments, find_doubles(call, GAMMA), find_doubles(call, BETA));
        t->table[row - rows.first] = normal;
    }
}

/* The rows of the block times one panel, stored at y. */
static void run_panel(const task *t, af_range rows, const place *at, const af_double_epilogue *epilogue, af_double *y,
                      int64_t y_pitch) {
    const af_product *p = t->product;
    int64_t column = at->panel * AF_PANEL, width = p->widths[at->part];
    const af_double *bias = find_doubles(t->call, AF_BIAS), *residual = find_doubles(t->call, AF_RESIDUAL);
    double sums[AF_DOUBLE_BLOCK * AF_PANEL];
    af_multiply_doubles(t->table, rows.last - rows.first, p->depth,
                        find_doubles(t->call, AF_B) + (at->panels_ahead + at->panel) * p->depth * AF_PANEL, sums);
    const af_double_results results = {
        .bias = bias ? bias + at->columns_ahead + column : NULL,
        .residual = residual ? residual + rows.first * width + column : NULL,
        .residual_pitch = width,
        .y = y,
        .y_pitch = y_pitch,
        .rows = rows.last - rows.first,
        .columns = smaller(width - column, AF_PANEL),
    };
    af_finish_doubles(epilogue, sums, &results);
}

static void run_part(const task *t, af_range rows, const place *at) {
    const af_product *p = t->product;
    const af_double_epilogue epilogue = make_double_epilogue(t->call->step, p->activation);
    int64_t column = at->panel * AF_PANEL, width = p->widths[at->part];
    af_double *y = find_doubles(t->call, at->part == 0 ? AF_RESULT : AF_FURTHER + at->part - 1);
    y += rows.first * width + column;
    run_panel(t, rows, at, &epilogue, y, width);
    if (!p->gated) return;
    const af_double_epilogue plain = {t->call->step->scale, {AF_IDENTITY, 0, 0}};
    const place right = {1, at->panel, p->widths[0], divide_up(p->widths[0], AF_PANEL)};
    double factors[AF_DOUBLE_BLOCK * AF_PANEL];
    run_panel(t, rows, &right, &plain, factors, AF_PANEL);
    int64_t columns = smaller(width - column, AF_PANEL);
    for (int64_t row = 0; row < rows.last - rows.first; row++)
        for (int64_t i = 0; i < columns; i++) y[row * width + i] *= factors[row * AF_PANEL + i];
}

/* Panels `panels` of all parts, or of the first half of a gated product. */
static void run_block(const task *t, af_range rows, af_range panels) {
    const af_product *p = t->product;
    take_rows(t, rows);
    place at = {0, 0, 0, 0};
    int parts = p->gated ? 1 : (int)p->parts;
    for (; at.part < parts; at.part++) {
        int64_t count = divide_up(p->widths[at.part], AF_PANEL);
        for (at.panel = 0; at.panel < count; at.panel++) {
            int64_t number = at.panels_ahead + at.panel;
            if (number >= panels.first && number < panels.last) run_part(t, rows, &at);
        }
        at.columns_ahead += p->widths[at.part];
        at.panels_ahead += count;
    }
}

void af_run_product_double(const af_call *call, int64_t part, int64_t parts) {
    const af_product *p = &call->step->product;
    char *scratch = find_scratch(call, part);
    task t = {.call = call, .product = p, .table = (const af_double **)scratch};
    t.rows = (af_double *)(scratch + count_table_bytes());
    af_range rows = {0, p->rows}, panels = {0, 0};
    for (int number = 0; number < (p->gated ? 1 : (int)p->parts); number++)
        panels.last += divide_up(p->widths[number], AF_PANEL);
    /* With many rows each share takes some of them; with few, some of the panels, so that b is read once. */
    if (p->rows >= AF_DOUBLE_BLOCK * parts)
        rows = share(p->rows, 1, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row += AF_DOUBLE_BLOCK)
        run_block(&t, (af_range){row, smaller(row + AF_DOUBLE_BLOCK, rows.last)}, panels);
}
