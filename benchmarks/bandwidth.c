/* Prints the bytes per second that as many threads as the argument says read from memory together.

   usage: bandwidth THREADS */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* More than the caches of any processor hold. */
enum { BYTES = 1 << 29, PAGE = 1 << 21, CHAINS = 4, AHEAD = 8192, REPEATS = 7, THREADS_MOST = 64 };

typedef uint64_t line __attribute__((vector_size(64)));

static line *memory;

typedef struct part {
    int number, count;
} part;

static double read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *read_part(void *argument) {
    const part *own = argument;
    size_t lines = BYTES / sizeof(line), each = lines / (size_t)own->count / CHAINS * CHAINS;
    const line *from = memory + each * (size_t)own->number;
    line chains[CHAINS] = {0};
    for (size_t i = 0; i < each; i += CHAINS)
        for (int chain = 0; chain < CHAINS; chain++) {
            const line *next = from + i + (size_t)chain;
            __builtin_prefetch((const char *)next + AHEAD);
            chains[chain] |= *next;
        }
    /* What was read is used as a whole: parts that nothing asks for need not be read. */
    for (int chain = 0; chain < CHAINS; chain++) __asm__ volatile("" : : "m"(chains[chain]) : "memory");
    return NULL;
}

static void read_all(int count) {
    pthread_t threads[THREADS_MOST];
    part parts[THREADS_MOST];
    for (int i = 0; i < count; i++) parts[i] = (part){i, count};
    for (int i = 1; i < count; i++) pthread_create(&threads[i], NULL, read_part, &parts[i]);
    read_part(&parts[0]);
    for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
}

int main(int count, char **words) {
    int threads = count > 1 ? atoi(words[1]) : 1;
    if (threads < 1 || threads > THREADS_MOST) return 1;
    memory = aligned_alloc(PAGE, BYTES);
    if (!memory) return 1;
    madvise(memory, BYTES, MADV_HUGEPAGE);
    memset(memory, 1, BYTES);
    double best = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        double start = read_clock();
        read_all(threads);
        double seconds = read_clock() - start;
        if (seconds < best) best = seconds;
    }
    printf("%.0f\n", (double)BYTES / best);
    return 0;
}
