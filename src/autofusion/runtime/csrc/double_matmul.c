/* Products of matrices of doubles with broadcast batch axes: b is packed panel by panel, and the rows of a transposed a
   block by block, into scratch memory. */
#include "double.h"
#include "double_tile.h"

typedef struct task {
    const af_call *call;
    const af_matmul *product;
    const af_double **table; /* the rows of the block */
    af_double *panel;        /* [depth][AF_PANEL] */
    af_double *turned;       /* the rows of a transposed a */
    const af_double *a, *b;  /* one matrix each */
    int64_t matrix;
} task;

static int64_t count_panel_bytes(const af_matmul *p) { return p->depth * AF_PANEL * (int64_t)sizeof(double); }

int64_t af_matmul_double_scratch(const af_matmul *p) {
    return count_table_bytes() + count_panel_bytes(p) + (p->trans_a ? count_block_bytes(p->depth) : 0);
}

/* Copy AF_PANEL columns of b from `column` on; columns that are not there are 0. */
static void pack_panel(const task *t, int64_t column) {
    const af_matmul *p = t->product;
    int64_t row_step = p->trans_b ? 1 : p->columns, column_step = p->trans_b ? p->depth : 1;
    int64_t count = smaller(p->columns - column, AF_PANEL);
    const af_double *from = t->b + column * column_step;
    af_double *to = t->panel;
    for (int64_t k = 0; k < p->depth; k++, from += row_step, to += AF_PANEL)
        for (int64_t i = 0; i < AF_PANEL; i++) to[i] = i < count ? from[i * column_step] : 0;
}

static void take_rows(const task *t, af_range rows) {
    const af_matmul *p = t->product;
    for (int64_t row = rows.first; row < rows.last; row++) {
        af_double *turned = t->turned + (row - rows.first) * p->depth;
        t->table[row - rows.first] = p->trans_a ? turned : t->a + row * p->depth;
        if (!p->trans_a) continue;
        for (int64_t k = 0; k < p->depth; k++) turned[k] = t->a[k * p->rows + row];
    }
}

static void run_block(const task *t, af_range rows, af_range panels) {
    const af_matmul *p = t->product;
    const af_double_epilogue epilogue = make_double_epilogue(t->call->step, p->activation);
    const af_double *bias = find_doubles(t->call, AF_BIAS), *residual = find_doubles(t->call, AF_RESIDUAL);
    take_rows(t, rows);
    for (int64_t panel = panels.first; panel < panels.last; panel++) {
        int64_t column = panel * AF_PANEL, at = (t->matrix * p->rows + rows.first) * p->columns + column;
        double sums[AF_DOUBLE_BLOCK * AF_PANEL];
        pack_panel(t, column);
        af_multiply_doubles(t->table, rows.last - rows.first, p->depth, t->panel, sums);
        const af_double_results results = {
            .bias = bias ? bias + column : NULL,
            .residual = residual ? residual + at : NULL,
            .residual_pitch = p->columns,
            .y = find_doubles(t->call, AF_RESULT) + at,
            .y_pitch = p->columns,
            .rows = rows.last - rows.first,
            .columns = smaller(p->columns - column, AF_PANEL),
        };
        af_finish_doubles(&epilogue, sums, &results);
    }
}

void af_run_matmul_double(const af_call *call, int64_t part, int64_t parts) {
    const af_matmul *p = &call->step->matmul;
    char *scratch = find_scratch(call, part);
    task t = {.call = call, .product = p, .table = (const af_double **)scratch};
    t.panel = (af_double *)(scratch + count_table_bytes());
    t.turned = t.panel + p->depth * AF_PANEL;
    int64_t matrix_count = 1;
    for (int axis = 0; axis < AF_BATCH_AXES; axis++) matrix_count *= p->batch[axis];
    af_range matrices = {0, matrix_count}, rows = {0, p->rows}, panels = {0, divide_up(p->columns, AF_PANEL)};
    /* Whole matrices to each share if there are enough; else the larger operand is read by one share only. */
    if (matrix_count >= parts)
        matrices = share(matrix_count, 1, part, parts);
    else if (p->rows >= AF_DOUBLE_BLOCK * parts)
        rows = share(p->rows, 1, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    for (t.matrix = matrices.first; t.matrix < matrices.last; t.matrix++) {
        int64_t a = 0, b = 0;
        for (int64_t axis = AF_BATCH_AXES - 1, rest = t.matrix; axis >= 0; axis--) {
            a += rest % p->batch[axis] * p->a_strides[axis];
            b += rest % p->batch[axis] * p->b_strides[axis];
            rest /= p->batch[axis];
        }
        t.a = find_doubles(call, AF_A) + a;
        t.b = find_doubles(call, AF_B) + b;
        for (int64_t row = rows.first; row < rows.last; row += AF_DOUBLE_BLOCK)
            run_block(&t, (af_range){row, smaller(row + AF_DOUBLE_BLOCK, rows.last)}, panels);
    }
}
