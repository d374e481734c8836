/* Prints the float32 operations per second of one core in a loop of independent fused multiply-adds. */
#include <stdio.h>
#include <time.h>

#if defined(__AVX512F__)
enum { WIDTH = 16 };
#elif defined(__AVX__)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif

enum { CHAINS = 10, ROUNDS = 2000000, REPEATS = 20 };

typedef float vf __attribute__((vector_size(4 * WIDTH)));

static double read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The chains start from different numbers: equal ones would be computed once. */
__attribute__((noinline)) static float run_chains(const float *starts) {
    vf chains[CHAINS], factor = starts[0] - (vf){0}, addend = starts[1] - (vf){0};
    for (int i = 0; i < CHAINS; i++) chains[i] = starts[i] - (vf){0};
    for (long round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 16
        for (int i = 0; i < CHAINS; i++) chains[i] = chains[i] * factor + addend;
    }
    for (int i = 1; i < CHAINS; i++) chains[0] += chains[i];
    return chains[0][0];
}

int main(void) {
    float starts[CHAINS], result = 0;
    double best = 1e9;
    for (int i = 0; i < CHAINS; i++) starts[i] = 0.999f - 0.01f * (float)i;
    for (int i = 0; i < REPEATS; i++) {
        double start = read_clock();
        result += run_chains(starts);
        double seconds = read_clock() - start;
        if (seconds < best) best = seconds;
    }
    printf("%.0f\n", 2.0 * WIDTH * CHAINS * ROUNDS / best + 0 * result);
    return 0;
}
