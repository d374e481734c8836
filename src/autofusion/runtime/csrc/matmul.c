/* Matrix products with broadcast batch axes: b is packed panel by panel, and a transposed a block by block, into
   scratch memory.  `product.c` has those with a constant matrix. */
#include "call.h"
#include "gemm.h"

typedef struct task {
    const af_matmul *product;
    const af_epilogue *epilogue;
    const float **table;  /* [AF_ROW_BLOCK]: the rows of the block */
    float *panel;         /* [PACKED_PANELS][AF_DEPTH_BLOCK][AF_PANEL] */
    float *turned;        /* [AF_ROW_BLOCK][AF_DEPTH_BLOCK] */
    float *sums;          /* of af_block, or null */
    const float *a, *b;   /* one matrix each */
    float *y;
    const float *residual;
} task;

/* Panels that are packed at a time: AF_TILE_PANELS of every instruction set fit. */
enum { PACKED_PANELS = 2 };

enum {
    TABLE_BYTES = sizeof(float *) * AF_ROW_BLOCK,
    PANEL_BYTES = sizeof(float) * AF_DEPTH_BLOCK * AF_PANEL * PACKED_PANELS,
    TURNED_BYTES = sizeof(float) * AF_ROW_BLOCK * AF_DEPTH_BLOCK
};

_Static_assert(TABLE_BYTES % 64 == 0, "what follows the table is aligned");

int64_t af_matmul_scratch(const af_matmul *product) {
    return TABLE_BYTES + PANEL_BYTES + TURNED_BYTES + af_sums_bytes(product->depth);
}

/* Copy rows first..last-1 of b and AF_PANEL columns from `column` on. */
static void pack_panel(const task *task, af_range depth, int64_t column, float *to) {
    const af_matmul *p = task->product;
    int64_t row_step = p->trans_b ? 1 : p->columns, column_step = p->trans_b ? p->depth : 1;
    int64_t count = smaller(p->columns - column, AF_PANEL);
    for (int64_t k = depth.first; k < depth.last; k++, to += AF_PANEL) {
        const float *from = task->b + k * row_step + column * column_step;
        if (count == AF_PANEL && column_step == 1) {
            for (int64_t i = 0; i < AF_PANEL; i += AF_WIDTH) store(to + i, load(from + i));
            continue;
        }
        for (int64_t i = 0; i < AF_PANEL; i++) to[i] = i < count ? from[i * column_step] : 0;
    }
}

/* Point the table at the rows of a, or at their transposed copies. */
static void take_rows(const task *task, int64_t first_row, int64_t row_count, af_range depth) {
    const af_matmul *p = task->product;
    for (int64_t row = 0; row < row_count; row++)
        task->table[row] = task->a + (first_row + row) * p->depth + depth.first;
    if (!p->trans_a) return;
    for (int64_t k = depth.first; k < depth.last; k++)
        for (int64_t row = 0; row < row_count; row++)
            task->turned[row * AF_DEPTH_BLOCK + k - depth.first] = task->a[k * p->rows + first_row + row];
    for (int64_t row = 0; row < row_count; row++) task->table[row] = task->turned + row * AF_DEPTH_BLOCK;
}

/* Multiply a block of rows by the floats `depth` of up to AF_PANEL_BLOCK panels. */
static void multiply_panels(const task *task, af_block *block, af_range depth, af_range range) {
    const af_matmul *p = task->product;
    int64_t column = range.first * AF_PANEL, end = smaller(range.last * AF_PANEL, p->columns);
    float *sums = block->sums;
    for (; column < end; column += AF_TILE_PANELS * AF_PANEL) {
        int64_t columns = smaller(end - column, AF_TILE_PANELS * AF_PANEL);
        for (int64_t i = 0; i < columns; i += AF_PANEL)
            pack_panel(task, depth, column + i, task->panel + i * AF_DEPTH_BLOCK);
        if (sums) block->sums = sums + (column - range.first * AF_PANEL) * AF_ROW_BLOCK;
        af_panels panels = {.first = task->panel, .step = AF_DEPTH_BLOCK * AF_PANEL, .column = column, .columns = columns};
        af_multiply(block, &panels);
    }
    block->sums = sums;
}

/* Multiply a block of rows by up to AF_PANEL_BLOCK panels. */
static void run_block(const task *task, int64_t first_row, int64_t row_count, af_range panels) {
    const af_matmul *p = task->product;
    af_block block = {
        .rows = task->table,
        .row_count = row_count,
        .segments = 1,
        .sums = task->sums,
        .y = task->y + first_row * p->columns,
        .y_pitch = p->columns,
        .residual = task->residual ? task->residual + first_row * p->columns : NULL,
        .epilogue = task->epilogue,
    };
    int64_t pieces = p->depth > AF_DEPTH_BLOCK ? divide_up(p->depth, AF_DEPTH_BLOCK) : 1;
    for (int64_t piece = 0; piece < pieces; piece++) {
        af_range depth = share(p->depth, 1, piece, pieces);
        block.length = depth.last - depth.first;
        block.first = piece == 0;
        block.last = piece == pieces - 1;
        take_rows(task, first_row, row_count, depth);
        multiply_panels(task, &block, depth, panels);
    }
}

static void run_matrix(const task *task, af_range rows, af_range panels) {
    int64_t blocks = divide_up(rows.last - rows.first, AF_ROW_BLOCK);
    for (int64_t i = 0, row = rows.first; i < blocks; i++) {
        int64_t count = divide_up(rows.last - row, blocks - i);
        for (int64_t panel = panels.first; panel < panels.last; panel += AF_PANEL_BLOCK)
            run_block(task, row, count, (af_range){panel, smaller(panel + AF_PANEL_BLOCK, panels.last)});
        row += count;
    }
}

void af_run_matmul(const af_call *call, int64_t part, int64_t parts) {
    const af_matmul *p = &call->step->matmul;
    char *scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
    const float *residual = call->operands[AF_RESIDUAL];
    af_epilogue epilogue = make_epilogue(call->step, p->activation, call->operands[AF_BIAS], residual, p->columns);
    task task = {
        .product = p,
        .epilogue = &epilogue,
        .table = (const float **)scratch,
        .panel = (float *)(scratch + TABLE_BYTES),
        .turned = (float *)(scratch + TABLE_BYTES + PANEL_BYTES),
    };
    if (af_sums_bytes(p->depth) > 0) task.sums = (float *)(scratch + TABLE_BYTES + PANEL_BYTES + TURNED_BYTES);
    int64_t matrix_count = 1;
    for (int axis = 0; axis < AF_BATCH_AXES; axis++) matrix_count *= p->batch[axis];
    af_range matrices = {0, matrix_count}, rows = {0, p->rows}, panels = {0, divide_up(p->columns, AF_PANEL)};
    /* Whole matrices to each share if there are enough; else the larger operand is read by one share only. */
    if (matrix_count >= parts)
        matrices = share(matrix_count, 1, part, parts);
    else if (p->rows >= AF_ROW_BLOCK * parts)
        rows = share(p->rows, AF_TILE_ROWS, part, parts);
    else
        panels = share(panels.last, 1, part, parts);
    for (int64_t matrix = matrices.first; matrix < matrices.last; matrix++) {
        int64_t a = 0, b = 0;
        for (int64_t axis = AF_BATCH_AXES - 1, rest = matrix; axis >= 0; axis--) {
            a += rest % p->batch[axis] * p->a_strides[axis];
            b += rest % p->batch[axis] * p->b_strides[axis];
            rest /= p->batch[axis];
        }
        task.a = call->operands[AF_A] + a;
        task.b = call->operands[AF_B] + b;
        task.y = call->operands[AF_RESULT] + matrix * p->rows * p->columns;
        task.residual = residual ? residual + matrix * p->rows * p->columns : NULL;
        run_matrix(&task, rows, panels);
    }
}
