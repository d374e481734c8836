/* Which variant of the library the processor runs.  Asked of the baseline variant. */
#include "record.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { LEAF_FEATURES = 1, LEAF_EXTENDED = 7 };

#define BIT(n) (1u << (n))

/* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT */
#define LEVEL_2 (BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23))

/* FMA, MOVBE, OSXSAVE, AVX, F16C; then BMI1, AVX2, BMI2 */
#define LEVEL_3 (BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29))
#define LEVEL_3_EXTENDED (BIT(3) | BIT(5) | BIT(8))

/* AVX512F, AVX512DQ, AVX512CD, AVX512BW, AVX512VL */
#define LEVEL_4_EXTENDED (BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31))

/* Registers that the operating system saves: xmm and ymm; then the masks and zmm. */
#define SAVES_YMM 0x6u
#define SAVES_ZMM 0xe6u

static uint32_t read_saved_registers(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int32_t af_cpu_level(void) {
    uint32_t a, b, features, d, extended, c;
    if (!__get_cpuid(LEAF_FEATURES, &a, &b, &features, &d) || (features & LEVEL_2) != LEVEL_2) return 1;
    if ((features & LEVEL_3) != LEVEL_3 || !__get_cpuid_count(LEAF_EXTENDED, 0, &a, &extended, &c, &d)) return 2;
    uint32_t saved = read_saved_registers();
    if ((extended & LEVEL_3_EXTENDED) != LEVEL_3_EXTENDED || (saved & SAVES_YMM) != SAVES_YMM) return 2;
    return (extended & LEVEL_4_EXTENDED) == LEVEL_4_EXTENDED && (saved & SAVES_ZMM) == SAVES_ZMM ? 4 : 3;
}
#else
int32_t af_cpu_level(void) { return 0; }
#endif
