/* Rows of several tensors, joined one after the other. */
#include <string.h>

#include "call.h"

void af_run_concat(const af_call *call, int64_t part, int64_t parts) {
    const af_concat *c = &call->step->concat;
    int64_t width = 0;
    for (int64_t i = 0; i < c->parts; i++) width += c->widths[i];
    af_range rows = share(width > 0 ? c->rows : 0, 1, part, parts);
    for (int64_t row = rows.first; row < rows.last; row++) {
        char *y = (char *)call->operands[AF_RESULT] + row * c->y_pitch * c->size;
        for (int64_t i = 0; i < c->parts; i++) {
            size_t bytes = (size_t)(c->widths[i] * c->size);
            memcpy(y, (const char *)call->operands[AF_X + i] + row * c->pitches[i] * c->size, bytes);
            y += bytes;
        }
    }
}
