/* The table of the kernels of record_data.h. */
#include "data.h"

static const af_data_kernel kernels[AF_KERNEL_COUNT - AF_STRIDED] = {
    [AF_STRIDED - AF_STRIDED] = {af_run_strided, af_check_strided, 2},
    [AF_CONCAT - AF_STRIDED] = {af_run_concat, af_check_concat, 1},
    [AF_SELECT - AF_STRIDED] = {af_run_select, af_check_select, 1},
    [AF_COMPARE - AF_STRIDED] = {af_run_compare, af_check_compare, 8},
    [AF_ARITHMETIC - AF_STRIDED] = {af_run_arithmetic, af_check_arithmetic, 2},
    [AF_CONVERT - AF_STRIDED] = {af_run_convert, af_check_convert, 8},
    [AF_SOFTMAX - AF_STRIDED] = {af_run_softmax, af_check_softmax, 16},
    [AF_REDUCE - AF_STRIDED] = {af_run_reduce, af_check_reduce, 64},
    [AF_ARGUMENT - AF_STRIDED] = {af_run_argument, af_check_argument, 64},
    [AF_CUMULATE - AF_STRIDED] = {af_run_cumulate, af_check_cumulate, 8},
    [AF_RANK - AF_STRIDED] = {af_run_rank, af_check_rank, 256},
    [AF_GATHER - AF_STRIDED] = {af_run_gather, af_check_gather, 2},
    [AF_GATHER_ELEMENTS - AF_STRIDED] = {af_run_gather_elements, af_check_gather_elements, 8},
    [AF_GATHER_BLOCKS - AF_STRIDED] = {af_run_gather_blocks, af_check_gather_blocks, 4},
    [AF_SCATTER_ELEMENTS - AF_STRIDED] = {af_run_scatter_elements, af_check_scatter_elements, 0.01},
    [AF_SCATTER_BLOCKS - AF_STRIDED] = {af_run_scatter_blocks, af_check_scatter_blocks, 0.01},
    [AF_PAD - AF_STRIDED] = {af_run_pad, af_check_pad, 2},
    [AF_RESIZE - AF_STRIDED] = {af_run_resize, af_check_resize, 4},
    [AF_PROGRESSION - AF_STRIDED] = {af_run_progression, af_check_progression, 2},
    [AF_TRIANGLE - AF_STRIDED] = {af_run_triangle, af_check_triangle, 2},
    [AF_ATTENTION - AF_STRIDED] = {af_run_attention, af_check_attention, 64},
    [AF_NORM - AF_STRIDED] = {af_run_norm, af_check_norm, 4},
    [AF_GROUP_NORM - AF_STRIDED] = {af_run_group_norm, af_check_group_norm, 4},
    [AF_ROTARY - AF_STRIDED] = {af_run_rotary, af_check_rotary, 4},
    [AF_EMBEDDING - AF_STRIDED] = {af_run_embedding, af_check_embedding, 8},
    [AF_PRODUCT - AF_STRIDED] = {af_run_product, af_check_product, 0},
    [AF_PROGRAM - AF_STRIDED] = {af_run_program, af_check_program, 1},
    [AF_CONV_DEPTHWISE - AF_STRIDED] = {af_run_conv_depthwise, af_check_conv_depthwise, 64},
    [AF_CONV_POOL - AF_STRIDED] = {af_run_conv_pool, af_check_conv_pool, 1024},
    [AF_EXCITE - AF_STRIDED] = {af_run_excite, af_check_excite, 64},
    [AF_FILTER - AF_STRIDED] = {af_run_filter, af_check_filter, 2},
    [AF_CONV_TRANSPOSE - AF_STRIDED] = {af_run_conv_transpose, af_check_conv_transpose, 64},
};

const af_data_kernel *af_find_data_kernel(int32_t kernel) {
    return kernel >= AF_STRIDED && kernel < AF_KERNEL_COUNT ? &kernels[kernel - AF_STRIDED] : NULL;
}
