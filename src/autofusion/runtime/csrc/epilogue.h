/* What happens to a product before it is stored: scale, bias, residual, activation. */
#ifndef AF_EPILOGUE_H
#define AF_EPILOGUE_H

#include "activation.h"
#include "vector.h"

/* Relu, Clip and no activation are a clamp, done in registers; `late` is any other, done afterwards in memory.
   An absent residual is a null pointer. */
typedef struct af_epilogue {
    const float *bias, *residual;
    int64_t residual_pitch;
    float scale, low, high;
    af_activation late;
} af_epilogue;

/* A null bias stands for zeros, of which the caller must offer AF_PANEL. */
AF_INLINE af_epilogue make_epilogue(const af_step *step, int64_t activation, const float *bias, const float *residual,
                                    int64_t residual_pitch) {
    af_epilogue epilogue = {.bias = bias, .residual = residual, .residual_pitch = residual_pitch};
    epilogue.scale = (float)step->scale;
    epilogue.low = -__builtin_inff();
    epilogue.high = __builtin_inff();
    if (activation == AF_RELU) {
        epilogue.low = 0;
    } else if (activation == AF_CLIP) {
        epilogue.low = (float)step->alpha;
        epilogue.high = (float)step->beta;
    } else {
        epilogue.late = (af_activation){activation, (float)step->alpha, (float)step->beta};
    }
    return epilogue;
}

/* act(sum * scale + bias + residual) as far as a clamp expresses it. */
AF_INLINE vf finish(const af_epilogue *epilogue, vf sum, vf bias, vf residual) {
    vf y = sum * epilogue->scale + bias + residual;
    return at_most(at_least(y, splat(epilogue->low)), splat(epilogue->high));
}

#endif
