/* Lines of a pooled image, for what pools a whole one and for what makes it line by line. */
#ifndef AF_POOL_H
#define AF_POOL_H

#include "call.h"

/* Line `line` of the pooled plane of an image, of which the lines from `first` on lie at x. */
void af_pool_line(const af_pool *pool, const float *x, int64_t first, int64_t line, float *y);

#endif
