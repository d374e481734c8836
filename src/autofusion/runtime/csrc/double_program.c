/* Programs of elementwise instructions on doubles, run block by block so that all registers stay in the caches. */
#include "double.h"
#include "double_activation.h"
#include "double_combine.h"
#include "double_row_norm.h"
#include "program.h"

enum { ROW = AF_PROGRAM_AXES - 2, COLUMN, REGISTERS = AF_PROGRAM_OPERANDS + AF_PROGRAM_LENGTH };

/* Elements of a block side by side, or with a step of 0 one element for all of them. */
typedef struct reg {
    const af_double *data;
    int64_t step;
} reg;

/* `rows` neighbouring rows of `columns` elements; there are several rows only where they are whole. */
typedef struct block {
    int64_t row, rows, column, columns;
} block;

typedef struct machine {
    const af_call *call;
    const af_program *program;
    af_double *memory; /* a block for each register */
    reg registers[REGISTERS];
} machine;

int64_t af_program_double_scratch(const af_program *program) {
    return (program->operands + program->length) * AF_PROGRAM_BLOCK * (int64_t)sizeof(double);
}

/* Where the first element of a block lies, in elements. */
static int64_t find_place(const af_program *program, const int64_t *strides, int64_t row, int64_t column) {
    int64_t place = column * strides[COLUMN];
    for (int64_t axis = ROW; axis >= 0; axis--) {
        place += row % program->extents[axis] * strides[axis];
        row /= program->extents[axis];
    }
    return place;
}

static reg fetch_operand(machine *m, int operand, const block *b) {
    const int64_t *strides = m->program->strides[operand];
    int64_t place = find_place(m->program, strides, b->row, b->column), column = strides[COLUMN];
    int64_t row = b->rows == 1 ? b->columns * column : strides[ROW];
    int is_truth = (int)(m->program->truths >> operand & 1);
    const af_uint8 *truths = (const af_uint8 *)m->call->operands[AF_X + operand] + place;
    const af_double *from = find_doubles(m->call, AF_X + operand) + (is_truth ? 0 : place);
    if (!is_truth && column == 0 && row == 0) return (reg){from, 0};
    if (!is_truth && column == 1 && row == b->columns) return (reg){from, 1};
    af_double *to = m->memory + operand * AF_PROGRAM_BLOCK;
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t i = 0; i < b->columns; i++) {
            int64_t at = r * row + i * column;
            to[r * b->columns + i] = is_truth ? truths[at] != 0 : from[at];
        }
    return (reg){to, 1};
}

/* Run one instruction into `to`, which has room for `count` elements. */
static reg run_instruction(const machine *m, const af_instruction *i, af_double *to, int64_t count) {
    const reg *registers = m->registers;
    if (i->operation == AF_CONSTANT) {
        *to = read_double(m->program, i);
        return (reg){to, 0};
    }
    reg a = registers[i->a];
    if (i->operation < AF_COMBINING) {
        double second = takes_two_numbers(i->operation) ? *registers[i->b].data : 0;
        af_double_activation activation = {i->operation, read_double(m->program, i), second};
        int64_t own = a.step ? count : 1;
        af_apply_double(&activation, a.data, own, to, own, 1, own);
        return (reg){to, a.step};
    }
    reg b = registers[i->b];
    if (i->operation != AF_CHOOSING) {
        int64_t step = a.step | b.step;
        const af_double_pairs pairs = {a.data, b.data, to, step ? count : 1, a.step, b.step};
        af_combine_doubles(i->operation - AF_COMBINING, &pairs);
        return (reg){to, step};
    }
    reg c = registers[i->c];
    int64_t step = a.step | b.step | c.step;
    const af_double_pairs pairs = {b.data, c.data, to, step ? count : 1, b.step, c.step};
    af_choose_doubles(a.data, a.step, &pairs);
    return (reg){to, step};
}

/* The last register of a block; it lies at `result` where that is not null. */
static reg run_block(machine *m, const block *b, af_double *result) {
    const af_program *program = m->program;
    int64_t count = b->rows * b->columns, operands = program->operands;
    for (int operand = 0; operand < operands; operand++) m->registers[operand] = fetch_operand(m, operand, b);
    for (int64_t number = 0; number < program->length; number++) {
        af_instruction instruction = read_instruction(program->code[number]);
        int64_t place = operands + number;
        int is_last = number == program->length - 1;
        af_double *to = is_last && result ? result : m->memory + place * AF_PROGRAM_BLOCK;
        m->registers[place] = run_instruction(m, &instruction, to, count);
    }
    return m->registers[operands + program->length - 1];
}

static double larger_of(double a, double b) { return a > b || a != a ? a : b; }

static double smaller_of(double a, double b) { return a < b || a != a ? a : b; }

/* `total` and the elements of one row of a block, of which there is at least one. */
static double fold_row(int64_t folding, double total, reg row, int64_t count) {
    if (folding != AF_FOLD_MAX && folding != AF_FOLD_MIN)
        return total + (row.step ? add_doubles(row.data, count) : *row.data * (double)count);
    for (int64_t i = 0; i < (row.step ? count : 1); i++)
        total = folding == AF_FOLD_MAX ? larger_of(total, row.data[i]) : smaller_of(total, row.data[i]);
    return total;
}

/* Reduce `rows` rows from `row` on. */
static void run_folded(machine *m, int64_t row, int64_t rows) {
    const af_program *program = m->program;
    int64_t columns = program->extents[COLUMN];
    double totals[AF_PROGRAM_BLOCK], first = 0;
    if (program->folding == AF_FOLD_MAX) first = -__builtin_inf();
    if (program->folding == AF_FOLD_MIN) first = __builtin_inf();
    for (int64_t r = 0; r < rows; r++) totals[r] = first;
    for (int64_t column = 0; column < columns; column += AF_PROGRAM_BLOCK) {
        block b = {row, rows, column, smaller(columns - column, AF_PROGRAM_BLOCK)};
        reg result = run_block(m, &b, NULL);
        for (int64_t r = 0; r < rows; r++) {
            reg part = {result.data + r * b.columns * result.step, result.step};
            totals[r] = fold_row(program->folding, totals[r], part, b.columns);
        }
    }
    af_double *y = find_doubles(m->call, AF_RESULT) + find_place(program, program->y_strides, row, 0);
    double divisor = program->folding == AF_FOLD_MEAN ? (double)columns : 1;
    for (int64_t r = 0; r < rows; r++) y[r * program->y_strides[ROW]] = totals[r] / divisor;
}

/* Compute `rows` rows from `row` on, of the columns in `range`. */
static void run_plain(machine *m, int64_t row, int64_t rows, af_range range) {
    const int64_t *strides = m->program->y_strides;
    for (int64_t column = range.first; column < range.last; column += AF_PROGRAM_BLOCK) {
        block b = {row, rows, column, smaller(range.last - column, AF_PROGRAM_BLOCK)};
        af_double *y = find_doubles(m->call, AF_RESULT) + find_place(m->program, strides, row, column);
        int is_packed = strides[COLUMN] == 1 && (rows == 1 || strides[ROW] == b.columns);
        reg result = run_block(m, &b, is_packed ? y : NULL);
        if (is_packed && result.step == 1) continue;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < b.columns; i++)
                y[r * strides[ROW] + i * strides[COLUMN]] = result.data[(r * b.columns + i) * result.step];
    }
}

void af_run_program_double(const af_call *call, int64_t part, int64_t parts) {
    const af_program *program = &call->step->program;
    const int64_t *extents = program->extents;
    machine m = {.call = call, .program = program, .memory = (af_double *)find_scratch(call, part)};
    int64_t row_count = extents[0] * extents[1] * extents[ROW];
    af_range rows = {0, row_count}, columns = {0, extents[COLUMN]};
    if (program->folding != AF_FOLD_NONE || row_count >= parts)
        rows = share(row_count, 1, part, parts);
    else
        columns = share(columns.last, 64, part, parts);
    int64_t width = columns.last - columns.first;
    /* Rows that are cut do not lie side by side. */
    int64_t most = width < extents[COLUMN] || width >= AF_PROGRAM_BLOCK ? 1 : AF_PROGRAM_BLOCK / (width ? width : 1);
    for (int64_t row = rows.first, taken; row < rows.last; row += taken) {
        taken = smaller(most, smaller(rows.last - row, extents[ROW] - row % extents[ROW]));
        if (program->folding != AF_FOLD_NONE)
            run_folded(&m, row, taken);
        else
            run_plain(&m, row, taken, columns);
    }
}
