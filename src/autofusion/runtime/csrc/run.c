/* The executor: resolves the operands of each record and shares its work among threads. */
#include "data.h"
#include "double.h"
#include "threads.h"

/* Operations worth a thread of their own: a few microseconds.  Tests share whatever there is. */
#ifndef AF_GRAIN
#define AF_GRAIN 8192
#endif

static double multiply_all(const int64_t *extents, int count) {
    double product = 1;
    for (int i = 0; i < count; i++) product *= (double)extents[i];
    return product;
}

/* Results of empty rows are work as well. */
static double estimate_program(const af_program *program) {
    double rows = multiply_all(program->extents, AF_PROGRAM_AXES - 1);
    double columns = (double)program->extents[AF_PROGRAM_AXES - 1] + (program->folding != AF_FOLD_NONE);
    return rows * columns * (double)program->length / 2;
}

/* Each number of the result is a sum along the depth; what a gated product leaves out is computed as well. */
static double estimate_product(const af_product *product) {
    double columns = 0;
    for (int part = 0; part < product->parts; part++) columns += (double)product->widths[part];
    return (double)product->rows * columns * (1 + (double)product->depth / 16);
}

/* Bytes of all results: one may be empty while others are not. */
static double count_result_bytes(const af_step *step) {
    double bytes = (double)step->operands[AF_RESULT].bytes;
    for (int place = AF_FURTHER; place < AF_SCRATCH; place++)
        if (step->operands[place].space != AF_NONE) bytes += (double)step->operands[place].bytes;
    return bytes;
}

/* Roughly how many vector operations a step takes; 0 where its results have no elements. */
static double estimate_work(const af_step *step) {
    const af_conv *conv = &step->conv;
    const af_matmul *matmul = &step->matmul;
    const af_pool *pool = &step->pool;
    switch (step->kernel) {
    case AF_CONV:
        return (multiply_all(conv->window.y, 3) *
                    (1 + multiply_all(conv->window.kernel, 3) * (double)(conv->channels / conv->group) / 16) +
                (double)conv->averaged) *
               (double)conv->batch * (double)conv->filters;
    case AF_MATMUL:
        return multiply_all(matmul->batch, AF_BATCH_AXES) * (double)matmul->rows * (double)matmul->columns *
               (1 + (double)matmul->depth / 16);
    case AF_POOL:
        return multiply_all(pool->window.y, 3) * (double)pool->batch * (double)pool->channels *
               (1 + multiply_all(pool->window.kernel, 3) / 4);
    case AF_AFFINE:
    case AF_UNARY: return multiply_all(step->ints, 2);
    case AF_BINARY: return multiply_all(step->binary.extents, AF_AXES);
    case AF_RELAYOUT: return multiply_all(step->ints, 3);
    case AF_COPY: return (double)step->operands[AF_RESULT].bytes / 16;
    case AF_PRODUCT: return estimate_product(&step->product);
    case AF_PROGRAM: return estimate_program(&step->program);
    default: {
        const af_data_kernel *data = af_find_data_kernel(step->kernel);
        return data ? count_result_bytes(step) / 16 * data->work : 0;
    }
    }
}

static af_run_function *find_convolution(const af_conv *conv) {
    if (conv->winograd) return af_run_winograd;
    return has_lanes(conv) ? af_run_depthwise : af_run_conv;
}

static af_run_function *find_kernel(const af_step *step) {
    if (step->type == AF_DOUBLE) return af_find_double_kernel(step->kernel);
    switch (step->kernel) {
    case AF_CONV: return find_convolution(&step->conv);
    case AF_MATMUL: return af_run_matmul;
    case AF_POOL: return af_run_pool;
    case AF_AFFINE: return af_run_affine;
    case AF_UNARY: return af_run_unary;
    case AF_BINARY: return af_run_binary;
    case AF_RELAYOUT: return af_run_relayout;
    case AF_COPY: return af_run_copy;
    default: return af_find_data_kernel(step->kernel)->run;
    }
}

static float *resolve(const af_context *context, const af_operand *operand) {
    switch (operand->space) {
    case AF_ARENA: return (float *)((char *)context->arena + operand->offset);
    case AF_WEIGHTS: return (float *)((char *)context->weights + operand->offset);
    case AF_BINDING: return (float *)((char *)context->bindings[operand->slot].data + operand->offset);
    default: return NULL;
    }
}

typedef struct share_of_call {
    af_call call;
    af_run_function *run;
} share_of_call;

static void run_share(void *argument, int64_t part, int64_t parts) {
    const share_of_call *share = argument;
    share->run(&share->call, part, parts);
}

/* Returns 0 where data make the step impossible. */
static int run_step(const af_context *context, const af_step *step) {
    double work = estimate_work(step);
    if (work == 0) return 1;
    int32_t fault = 0, arrived = 0;
    share_of_call share = {.call = {.step = step, .fault = &fault, .arrived = &arrived}, .run = find_kernel(step)};
    for (int place = 0; place < AF_OPERANDS; place++)
        share.call.operands[place] = resolve(context, &step->operands[place]);
    share.call.scratch_bytes = step->operands[AF_SCRATCH].bytes / context->threads / 64 * 64;
    int64_t parts = work / AF_GRAIN < (double)context->threads ? (int64_t)(work / AF_GRAIN) : context->threads;
    af_parallel(run_share, &share, parts < 1 ? 1 : parts);
    return !fault;
}

int32_t af_run(const af_context *context, int64_t first, int64_t last) {
    if (first < 0 || first > last || last > context->step_count) return -1;
    for (int64_t index = first; index < last; index++)
        if (!run_step(context, &context->steps[index])) return (int32_t)index + 1;
    return 0;
}

int32_t af_abi_version(void) { return AF_ABI_VERSION; }
