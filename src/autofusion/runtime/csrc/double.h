/* The kernels that compute with doubles: each runs the records of its namesake for floats where their `type` is
   AF_DOUBLE.  Products and convolutions have their weights in the same panels of AF_PANEL columns. */
#ifndef AF_DOUBLE_H
#define AF_DOUBLE_H

#include "call.h"
#include "element.h"

/* What runs a step on doubles; null for kernels that have floats alone, or no type of their own. */
af_run_function *af_find_double_kernel(int32_t kernel);

af_run_function af_run_unary_double, af_run_affine_double, af_run_binary_double, af_run_relayout_double;
af_run_function af_run_conv_double, af_run_depthwise_double, af_run_matmul_double, af_run_product_double;
af_run_function af_run_pool_double, af_run_softmax_double, af_run_resize_double, af_run_norm_double;
af_run_function af_run_group_norm_double, af_run_rotary_double, af_run_embedding_double, af_run_attention_double;
af_run_function af_run_program_double, af_run_conv_transpose_double;

/* Bytes of scratch memory that one share needs. */
int64_t af_conv_double_scratch(const af_conv *conv);
int64_t af_matmul_double_scratch(const af_matmul *product);
int64_t af_product_double_scratch(const af_product *product);
int64_t af_attention_double_scratch(const af_attention *attention);
int64_t af_program_double_scratch(const af_program *program);

/* The operand at `place`, null where it is absent. */
static inline af_double *find_doubles(const af_call *call, int place) { return (af_double *)call->operands[place]; }

/* The scratch memory of a share. */
static inline char *find_scratch(const af_call *call, int64_t part) {
    return (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes;
}

#endif
