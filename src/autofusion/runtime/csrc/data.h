/* The kernels of record_data.h and record_transformer.h: how each is run, checked, and shared among threads. */
#ifndef AF_DATA_H
#define AF_DATA_H

#include "call.h"

struct af_checker;

/* `work` is about how many vector operations 16 bytes of the result take; `check` returns 0 where the record stays
   within its operands. */
typedef struct af_data_kernel {
    af_run_function *run;
    int (*check)(const struct af_checker *checker);
    double work;
} af_data_kernel;

/* The row of a kernel, null where there is none. */
const af_data_kernel *af_find_data_kernel(int32_t kernel);

/* Whether arithmetic on elements of this type has this operator. */
int af_knows_arithmetic(const af_pointwise *pointwise);

af_run_function af_run_strided, af_run_concat, af_run_select, af_run_compare, af_run_arithmetic, af_run_convert;
af_run_function af_run_softmax, af_run_reduce, af_run_argument, af_run_cumulate, af_run_rank;
af_run_function af_run_gather, af_run_gather_elements, af_run_gather_blocks;
af_run_function af_run_scatter_elements, af_run_scatter_blocks;
af_run_function af_run_pad, af_run_resize, af_run_progression, af_run_triangle, af_run_excite;

af_run_function af_run_attention, af_run_norm, af_run_group_norm, af_run_rotary, af_run_embedding;
af_run_function af_run_product, af_run_program, af_run_conv_depthwise, af_run_conv_pool,
    af_run_filter, af_run_conv_transpose;

/* Bytes of scratch memory that one share needs. */
int64_t af_attention_scratch(const af_attention *attention);
int64_t af_product_scratch(const af_product *product);
int64_t af_conv_depthwise_scratch(const af_conv_depthwise *both);
int64_t af_conv_pool_scratch(const af_conv_pool *both);
int64_t af_conv_transpose_scratch(const af_conv *conv);
int64_t af_excite_scratch(const af_excite *excite);

int af_check_strided(const struct af_checker *c);
int af_check_concat(const struct af_checker *c);
int af_check_select(const struct af_checker *c);
int af_check_compare(const struct af_checker *c);
int af_check_arithmetic(const struct af_checker *c);
int af_check_convert(const struct af_checker *c);
int af_check_pad(const struct af_checker *c);
int af_check_resize(const struct af_checker *c);
int af_check_progression(const struct af_checker *c);
int af_check_triangle(const struct af_checker *c);
int af_check_excite(const struct af_checker *c);
int af_check_softmax(const struct af_checker *c);
int af_check_reduce(const struct af_checker *c);
int af_check_argument(const struct af_checker *c);
int af_check_cumulate(const struct af_checker *c);
int af_check_rank(const struct af_checker *c);
int af_check_gather(const struct af_checker *c);
int af_check_gather_elements(const struct af_checker *c);
int af_check_gather_blocks(const struct af_checker *c);
int af_check_scatter_elements(const struct af_checker *c);
int af_check_scatter_blocks(const struct af_checker *c);
int af_check_attention(const struct af_checker *c);
int af_check_norm(const struct af_checker *c);
int af_check_group_norm(const struct af_checker *c);
int af_check_rotary(const struct af_checker *c);
int af_check_embedding(const struct af_checker *c);
int af_check_product(const struct af_checker *c);
int af_check_program(const struct af_checker *c);
int af_check_conv_depthwise(const struct af_checker *c);
int af_check_conv_pool(const struct af_checker *c);
int af_check_filter(const struct af_checker *c);
int af_check_conv_transpose(const struct af_checker *c);

#endif
