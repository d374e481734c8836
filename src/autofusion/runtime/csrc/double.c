/* The table of the kernels that compute with doubles. */
#include "double.h"

static void run_convolution(const af_call *call, int64_t part, int64_t parts) {
    if (is_depthwise(&call->step->conv))
        af_run_depthwise_double(call, part, parts);
    else
        af_run_conv_double(call, part, parts);
}

af_run_function *af_find_double_kernel(int32_t kernel) {
    switch (kernel) {
    case AF_UNARY: return af_run_unary_double;
    case AF_AFFINE: return af_run_affine_double;
    case AF_BINARY: return af_run_binary_double;
    case AF_RELAYOUT: return af_run_relayout_double;
    case AF_CONV: return run_convolution;
    case AF_MATMUL: return af_run_matmul_double;
    case AF_PRODUCT: return af_run_product_double;
    case AF_POOL: return af_run_pool_double;
    case AF_SOFTMAX: return af_run_softmax_double;
    case AF_RESIZE: return af_run_resize_double;
    case AF_NORM: return af_run_norm_double;
    case AF_GROUP_NORM: return af_run_group_norm_double;
    case AF_ROTARY: return af_run_rotary_double;
    case AF_EMBEDDING: return af_run_embedding_double;
    case AF_ATTENTION: return af_run_attention_double;
    case AF_CONV_TRANSPOSE: return af_run_conv_transpose_double;
    case AF_PROGRAM: return af_run_program_double;
    default: return NULL;
    }
}
