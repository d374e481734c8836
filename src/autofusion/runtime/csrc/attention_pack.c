/* Keys and values of a head as panels for the micro-kernel. */
#include "attention.h"

typedef float quad __attribute__((vector_size(16)));
typedef float quad_memory __attribute__((vector_size(16), aligned(4), may_alias));

/* Four numbers of four keys, exchanged. */
AF_INLINE void exchange_four(const float *const *rows, int64_t at, float *to) {
    quad a = *(const quad_memory *)(rows[0] + at), b = *(const quad_memory *)(rows[1] + at);
    quad c = *(const quad_memory *)(rows[2] + at), d = *(const quad_memory *)(rows[3] + at);
    quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(quad_memory *)to = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(quad_memory *)(to + AF_PANEL) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(quad_memory *)(to + 2 * AF_PANEL) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(quad_memory *)(to + 3 * AF_PANEL) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

void af_pack_keys(const af_rows_of_head *keys, af_range range, float *panels) {
    for (int64_t first = range.first; first < range.last; first += AF_PANEL, panels += keys->width * AF_PANEL) {
        int64_t count = smaller(AF_PANEL, range.last - first), number = 0;
        const float *rows[AF_PANEL];
        int64_t steps[AF_PANEL];
        int is_dense = count == AF_PANEL;
        for (int64_t key = 0; key < count; key++) {
            rows[key] = find_row_of_head(keys, first + key, &steps[key]);
            is_dense &= steps[key] == 1;
        }
        for (; is_dense && number + 4 <= keys->width; number += 4)
            for (int key = 0; key < AF_PANEL; key += 4)
                exchange_four(rows + key, number, panels + number * AF_PANEL + key);
        for (; number < keys->width; number++)
            for (int64_t key = 0; key < AF_PANEL; key++)
                panels[number * AF_PANEL + key] = key < count ? rows[key][number * steps[key]] : 0;
    }
}

void af_pack_values(const af_rows_of_head *values, af_range range, float *panels) {
    int64_t depth = range.last - range.first, panel_count = count_panels(values->width);
    for (int64_t value = 0; value < depth; value++) {
        int64_t step;
        const float *row = find_row_of_head(values, range.first + value, &step);
        for (int64_t panel = 0; panel < panel_count; panel++) {
            float *to = panels + (panel * depth + value) * AF_PANEL;
            int64_t column = panel * AF_PANEL, count = smaller(AF_PANEL, values->width - column);
            if (count == AF_PANEL && step == 1) {
                for (int i = 0; i < AF_PANEL; i += AF_WIDTH) store(to + i, load(row + column + i));
                continue;
            }
            for (int64_t i = 0; i < AF_PANEL; i++) to[i] = i < count ? row[(column + i) * step] : 0;
        }
    }
}
