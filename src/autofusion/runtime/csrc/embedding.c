/* Rows of up to three tables, added, then normalized. */
#include "data.h"
#include "fault.h"
#include "half.h"
#include "row_norm.h"

enum { TABLE = 1, IDS = 2, GAMMA = 7, BETA = 8 };

/* The row of table `number` that belongs to the leading indices at `at`; null where its id is outside. */
static const void *find_row(const af_call *call, int number, const int64_t at[AF_LEADING]) {
    const af_embedding *e = &call->step->embedding;
    const af_table *table = &e->tables[number];
    const float *data = call->operands[TABLE + 2 * number];
    int64_t place = 0;
    for (int axis = 0; axis < AF_LEADING; axis++) place += at[axis] * table->strides[axis];
    if (table->id_size == 0) return data + place;
    int64_t row = resolve_index(read_index(call->operands[IDS + 2 * number], table->id_size, place), table->count);
    return row < 0 ? NULL : (const char *)data + row * e->columns * element_size(table->type);
}

/* y += row, whose elements are `step` apart; y = row for the first. */
AF_INLINE void add_typed(const int type, float *y, const void *row, int64_t step, int64_t count, int is_first) {
    int64_t i = 0;
    for (; step == 1 && i + AF_WIDTH <= count; i += AF_WIDTH)
        store(y + i, is_first ? load_as(type, row, i) : load(y + i) + load_as(type, row, i));
    for (; i < count; i++) {
        float x = load_one_as(type, row, i * step);
        y[i] = is_first ? x : y[i] + x;
    }
}

static void add_row_to(float *y, const af_table *table, const void *row, int64_t count, int is_first) {
    switch (table->type) {
    case AF_FLOAT16: add_typed(AF_FLOAT16, y, row, table->step, count, is_first); return;
    case AF_BFLOAT16: add_typed(AF_BFLOAT16, y, row, table->step, count, is_first); return;
    default: add_typed(AF_FLOAT, y, row, table->step, count, is_first);
    }
}

void af_run_embedding(const af_call *call, int64_t part, int64_t parts) {
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
        float *y = call->operands[AF_RESULT] + row * e->columns;
        float *total = call->operands[AF_FURTHER] ? call->operands[AF_FURTHER] + row * e->columns : y;
        for (int number = 0; number < AF_TABLES; number++) {
            if (!call->operands[TABLE + 2 * number]) continue;
            const void *found = find_row(call, number, at);
            if (!found) {
                report_fault(call);
                return;
            }
            add_row_to(total, &e->tables[number], found, e->columns, number == 0);
        }
        af_moments moments = measure_row(total, e->columns, e->kind, (float)call->step->alpha);
        normalize_row(total, y, e->columns, moments, call->operands[GAMMA], call->operands[BETA]);
    }
}
