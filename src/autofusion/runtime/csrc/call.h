/* One step with its operands resolved to memory, and the kernels that run a share of it. */
#ifndef AF_CALL_H
#define AF_CALL_H

#include "record.h"

typedef struct af_call {
    const af_step *step;
    float *operands[AF_OPERANDS]; /* null where absent */
    int64_t scratch_bytes;        /* of each share, at operands[AF_SCRATCH] one after the other */
    int32_t *fault;               /* set by any share that meets data that the step cannot be computed for */
    int32_t *arrived;             /* shares that asked whether they are the last one */
} af_call;

/* Computes share `part` of `parts` of the result. */
typedef void af_run_function(const af_call *call, int64_t part, int64_t parts);

/* Whether all other shares have asked this as well: what they wrote before is there then.  Every share asks once. */
static inline int is_last_share(const af_call *call, int64_t parts) {
    return __atomic_add_fetch(call->arrived, 1, __ATOMIC_ACQ_REL) == parts;
}

/* Elements first..last-1. */
typedef struct af_range {
    int64_t first, last;
} af_range;

/* Share `part` of `parts` of `count` units, in whole multiples of `grain` units. */
static inline af_range share(int64_t count, int64_t grain, int64_t part, int64_t parts) {
    int64_t grains = (count + grain - 1) / grain;
    int64_t base = grains / parts, extra = grains % parts;
    int64_t first = (part * base + (part < extra ? part : extra)) * grain;
    int64_t last = first + (base + (part < extra)) * grain;
    return (af_range){first < count ? first : count, last < count ? last : count};
}

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline int64_t round_to_line(int64_t bytes) { return divide_up(bytes, 64) * 64; }

/* Bytes of scratch memory that one share needs; 0 for kernels not named here. */
int64_t af_conv_scratch(const af_conv *conv);
int64_t af_depthwise_scratch(const af_conv *conv);
int64_t af_winograd_scratch(const af_conv *conv);
int64_t af_matmul_scratch(const af_matmul *product);

/* Each computes share `part` of `parts` of the result. */
void af_run_conv(const af_call *call, int64_t part, int64_t parts);
void af_run_winograd(const af_call *call, int64_t part, int64_t parts);
void af_run_depthwise(const af_call *call, int64_t part, int64_t parts);
void af_run_matmul(const af_call *call, int64_t part, int64_t parts);
void af_run_pool(const af_call *call, int64_t part, int64_t parts);
void af_run_affine(const af_call *call, int64_t part, int64_t parts);
void af_run_unary(const af_call *call, int64_t part, int64_t parts);
void af_run_binary(const af_call *call, int64_t part, int64_t parts);
void af_run_relayout(const af_call *call, int64_t part, int64_t parts);
void af_run_copy(const af_call *call, int64_t part, int64_t parts);

/* True for a convolution with one input channel per group, whose panels hold AF_PANEL filters of any groups. */
static inline int is_depthwise(const af_conv *conv) {
    return conv->group == conv->channels && (conv->group > 1 || conv->filters == 1);
}

/* True for one whose panels hold AF_PANEL channels of whole groups. */
static inline int has_lanes(const af_conv *conv) { return conv->narrow || is_depthwise(conv); }

#endif
