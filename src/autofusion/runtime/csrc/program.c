/* Programs of elementwise instructions, run block by block so that all registers stay in the first-level cache. */
#include "activation.h"
#include "combine.h"
#include "data.h"
#include "element.h"
#include "program.h"
#include "vector.h"

enum { ROW = AF_PROGRAM_AXES - 2, COLUMN, REGISTERS = AF_PROGRAM_OPERANDS + AF_PROGRAM_LENGTH };

typedef double vd __attribute__((vector_size(8 * AF_WIDTH)));

/* Elements of a block side by side, or with a step of 0 one element for all of them. */
typedef struct reg {
    const float *data;
    int64_t step;
} reg;

/* `rows` neighbouring rows of `columns` elements; there are several rows only where they are whole. */
typedef struct block {
    int64_t row, rows, column, columns;
} block;

typedef struct machine {
    const af_call *call;
    const af_program *program;
    float *memory; /* a block for each register */
    reg registers[REGISTERS];
    const float *copied[AF_PROGRAM_OPERANDS]; /* what the block of an operand was copied from, null for nothing */
    int64_t copied_count[AF_PROGRAM_OPERANDS];
} machine;

/* Where the first element of a block lies, in elements. */
static int64_t find_place(const af_program *program, const int64_t *strides, const block *b) {
    int64_t place = b->column * strides[COLUMN];
    for (int64_t axis = ROW, rest = b->row; axis >= 0; axis--) {
        place += rest % program->extents[axis] * strides[axis];
        rest /= program->extents[axis];
    }
    return place;
}

static void copy_row(const float *from, int64_t stride, float *to, int64_t count) {
    if (stride == 1)
        memcpy(to, from, (size_t)count * sizeof(float));
    else
        for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
}

static void copy_truths(const af_uint8 *from, int64_t stride, float *to, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i * stride] != 0;
}

static reg fetch_operand(machine *m, int operand, const block *b) {
    const int64_t *strides = m->program->strides[operand];
    const float *base = m->call->operands[AF_X + operand];
    int64_t place = find_place(m->program, strides, b);
    int64_t row = b->rows == 1 ? b->columns * strides[COLUMN] : strides[ROW], column = strides[COLUMN];
    float *to = m->memory + operand * AF_PROGRAM_BLOCK;
    if (m->program->truths >> operand & 1) {
        const af_uint8 *from = (const af_uint8 *)base + place;
        for (int64_t r = 0; r < b->rows; r++) copy_truths(from + r * row, column, to + r * b->columns, b->columns);
        return (reg){to, 1};
    }
    const float *from = base + place;
    if (column == 0 && row == 0) return (reg){from, 0};
    if (column == 1 && row == b->columns) return (reg){from, 1};
    int64_t count = b->rows * b->columns;
    if (m->copied[operand] == from && m->copied_count[operand] == count && row == 0) return (reg){to, 1};
    for (int64_t r = 0; r < b->rows; r++) copy_row(from + r * row, column, to + r * b->columns, b->columns);
    m->copied[operand] = from;
    m->copied_count[operand] = count;
    return (reg){to, 1};
}

/* Run one instruction into `to`, which has room for `count` elements. */
static reg run_instruction(const machine *m, const af_instruction *i, float *to, int64_t count) {
    const reg *registers = m->registers;
    if (i->operation == AF_CONSTANT) {
        *to = i->number;
        return (reg){to, 0};
    }
    reg a = registers[i->a];
    if (i->operation < AF_COMBINING) {
        float second = takes_two_numbers(i->operation) ? *registers[i->b].data : 0;
        af_activation activation = {i->operation, i->number, second};
        int64_t own = a.step ? count : 1;
        af_apply(&activation, a.data, own, to, own, 1, own);
        return (reg){to, a.step};
    }
    reg b = registers[i->b];
    if (i->operation != AF_CHOOSING) {
        int64_t step = a.step | b.step;
        const af_pair_row row = {a.data, b.data, to, step ? count : 1, a.step, b.step, 0, 0, 0, 0};
        af_combine(i->operation - AF_COMBINING, &row);
        return (reg){to, step};
    }
    reg c = registers[i->c];
    int64_t step = a.step | b.step | c.step;
    const af_pair_row row = {b.data, c.data, to, step ? count : 1, b.step, c.step, 0, 0, 0, 0};
    af_choose(a.data, a.step, &row);
    return (reg){to, step};
}

/* The last register of a block; it lies at `result` where that is not null. */
static reg run_block(machine *m, const block *b, float *result) {
    const af_program *program = m->program;
    int64_t count = b->rows * b->columns, operands = program->operands;
    for (int operand = 0; operand < operands; operand++) m->registers[operand] = fetch_operand(m, operand, b);
    for (int64_t number = 0; number < program->length; number++) {
        af_instruction instruction = read_instruction(program->code[number]);
        int64_t place = operands + number;
        int is_last = number == program->length - 1;
        float *to = is_last && result ? result : m->memory + place * AF_PROGRAM_BLOCK;
        m->registers[place] = run_instruction(m, &instruction, to, count);
    }
    return m->registers[operands + program->length - 1];
}

static void store_block(const machine *m, const block *b, reg result, float *y) {
    int64_t row = m->program->y_strides[ROW], column = m->program->y_strides[COLUMN];
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t i = 0; i < b->columns; i++)
            y[r * row + i * column] = result.data[(r * b->columns + i) * result.step];
}

static double larger_of(double a, double b) { return a > b || a != a ? a : b; }

static double smaller_of(double a, double b) { return a < b || a != a ? a : b; }

static double add_up(const float *x, int64_t count) {
    vd sums = {0};
    for (int64_t i = 0; i < count; i += AF_WIDTH) {
        vf part = count - i < AF_WIDTH ? load_some(x + i, count - i) : load(x + i);
        sums += __builtin_convertvector(part, vd);
    }
    double sum = 0;
    for (int lane = 0; lane < AF_WIDTH; lane++) sum += sums[lane];
    return sum;
}

static double find_extreme(int64_t folding, const float *x, int64_t count) {
    double found = x[0];
    int64_t i = 0;
    if (count >= AF_WIDTH) {
        vf best = load(x);
        for (i = AF_WIDTH; i + AF_WIDTH <= count; i += AF_WIDTH)
            best = folding == AF_FOLD_MAX ? maximum(best, load(x + i)) : minimum(best, load(x + i));
        for (int lane = 0; lane < AF_WIDTH; lane++)
            found = folding == AF_FOLD_MAX ? larger_of(found, best[lane]) : smaller_of(found, best[lane]);
    }
    for (; i < count; i++) found = folding == AF_FOLD_MAX ? larger_of(found, x[i]) : smaller_of(found, x[i]);
    return found;
}

/* `total` and the elements of one row of a block, of which there is at least one. */
static double fold_row(int64_t folding, double total, reg row, int64_t count) {
    int64_t own = row.step ? count : 1;
    if (folding == AF_FOLD_MAX) return larger_of(total, find_extreme(folding, row.data, own));
    if (folding == AF_FOLD_MIN) return smaller_of(total, find_extreme(folding, row.data, own));
    return total + (row.step ? add_up(row.data, count) : (double)*row.data * (double)count);
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
    const block b = {row, rows, 0, 1};
    float *y = m->call->operands[AF_RESULT] + find_place(program, program->y_strides, &b);
    double divisor = program->folding == AF_FOLD_MEAN ? (double)columns : 1;
    for (int64_t r = 0; r < rows; r++) y[r * program->y_strides[ROW]] = (float)(totals[r] / divisor);
}

/* Compute `rows` rows from `row` on, of the columns in `range`. */
static void run_plain(machine *m, int64_t row, int64_t rows, af_range range) {
    const int64_t *strides = m->program->y_strides;
    for (int64_t column = range.first; column < range.last; column += AF_PROGRAM_BLOCK) {
        block b = {row, rows, column, smaller(range.last - column, AF_PROGRAM_BLOCK)};
        float *y = m->call->operands[AF_RESULT] + find_place(m->program, strides, &b);
        int is_packed = strides[COLUMN] == 1 && (rows == 1 || strides[ROW] == b.columns);
        reg result = run_block(m, &b, is_packed ? y : NULL);
        if (!is_packed || result.step == 0) store_block(m, &b, result, y);
    }
}

void af_run_program(const af_call *call, int64_t part, int64_t parts) {
    const af_program *program = &call->step->program;
    const int64_t *extents = program->extents;
    machine m = {.call = call, .program = program};
    m.memory = (float *)((char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes);
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
