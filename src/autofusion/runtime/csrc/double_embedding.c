/* Rows of up to three tables of doubles, added, then normalized. */
#include "double.h"
#include "double_row_norm.h"
#include "fault.h"

enum { TABLE = 1, IDS = 2, GAMMA = 7, BETA = 8 };

/* The row of table `number` that belongs to the leading indices at `at`; null where its id is outside. */
static const af_double *find_row(const af_call *call, int number, const int64_t at[AF_LEADING]) {
    const af_embedding *e = &call->step->embedding;
    const af_table *table = &e->tables[number];
    const af_double *data = find_doubles(call, TABLE + 2 * number);
    int64_t place = 0;
    for (int axis = 0; axis < AF_LEADING; axis++) place += at[axis] * table->strides[axis];
    if (table->id_size == 0) return data + place;
    int64_t row = resolve_index(read_index(call->operands[IDS + 2 * number], table->id_size, place), table->count);
    return row < 0 ? NULL : data + row * e->columns;
}

/* Add up the rows that belong to `at`: 0 where an id is outside. */
static int add_tables(const af_call *call, const int64_t at[AF_LEADING], af_double *total) {
    const af_embedding *e = &call->step->embedding;
    for (int number = 0; number < AF_TABLES; number++) {
        if (!call->operands[TABLE + 2 * number]) continue;
        const af_double *row = find_row(call, number, at);
        if (!row) return 0;
        int64_t step = e->tables[number].step;
        for (int64_t i = 0; i < e->columns; i++) total[i] = number == 0 ? row[i * step] : total[i] + row[i * step];
    }
    return 1;
}

void af_run_embedding_double(const af_call *call, int64_t part, int64_t parts) {
    const af_embedding *e = &call->step->embedding;
    int64_t row_count = 1;
    for (int axis = 0; axis < AF_LEADING; axis++) row_count *= e->extents[axis];
    af_range rows = share(row_count, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        int64_t at[AF_LEADING];
        for (int64_t axis = AF_LEADING - 1, rest = row; axis >= 0; axis--) {
            at[axis] = rest % e->extents[axis];
            rest /= e->extents[axis];
        }
        af_double *y = find_doubles(call, AF_RESULT) + row * e->columns, *sum = find_doubles(call, AF_FURTHER);
        af_double *total = sum ? sum + row * e->columns : y;
        if (!add_tables(call, at, total)) {
            report_fault(call);
            return;
        }
        af_double_moments moments = measure_doubles(total, e->columns, e->kind, call->step->alpha);
        normalize_doubles(total, y, e->columns, moments, find_doubles(call, GAMMA), find_doubles(call, BETA));
    }
}
