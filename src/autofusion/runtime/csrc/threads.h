/* The process's pool of threads. */
#ifndef AF_THREADS_H
#define AF_THREADS_H

#include <stdint.h>

/* Call work(argument, part, parts) for every part, each on a thread of its own where threads are to be had;
   returns when all have ended.  Any thread may call it: while the pool is busy with another call, and where
   threads cannot be made, the caller does the parts itself. */
void af_parallel(void (*work)(void *argument, int64_t part, int64_t parts), void *argument, int64_t parts);

#endif
