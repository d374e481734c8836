/* Parts of a convolution, for what runs a whole one and for what pools its result. */
#ifndef AF_CONV_H
#define AF_CONV_H

#include "call.h"
#include "epilogue.h"

/* A convolution with its operands.  Output pixels are counted over all images; that of number `origin` goes to y. */
typedef struct af_conv_work {
    const af_conv *conv;
    const float *x;
    const void *weights; /* numbers of `type` */
    int64_t type;
    af_epilogue epilogue;
    float *y;
    int64_t origin;
    const float *gate; /* of a gated convolution */
    char *scratch;     /* af_conv_scratch or, for Winograd's filtering, af_winograd_scratch bytes */
} af_conv_work;

/* Share `part` of a step that begins with this convolution; its result is that of the step. */
static inline af_conv_work open_conv_work(const af_call *call, const af_conv *conv, int64_t part) {
    return (af_conv_work){
        .conv = conv,
        .x = call->operands[AF_X],
        .weights = call->operands[AF_WEIGHT],
        .type = conv->type,
        .epilogue = make_epilogue(call->step, conv->activation, call->operands[AF_BIAS], call->operands[AF_RESIDUAL],
                                  conv->residual_pitch),
        .y = call->operands[AF_RESULT],
        .gate = call->operands[AF_GATE],
        .scratch = (char *)call->operands[AF_SCRATCH] + part * call->scratch_bytes,
    };
}

/* Output pixels `rows` for the panels of filters `panels`, counted over all groups. */
void af_convolve(const af_conv_work *work, af_range rows, af_range panels);

/* The same by Winograd's filtering, for tiles counted line by line over all images. */
void af_filter_tiles(const af_conv_work *work, af_range tiles, af_range filters);

#endif
