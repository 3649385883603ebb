/* SPDX-License-Identifier: MIT */
#include "registers.h"

#include <stddef.h>
#include <stdint.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

unsigned int float_modes(void)
{
#ifdef __x86_64__
    return _mm_getcsr() & ~0x3fu;
#else
    return 0;
#endif
}

void clear_upper_halves(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" : : : "memory");
#endif
}

#define UPPER_HALF(i) "vextractf128 $1, %%ymm" #i ", 16*" #i "(%0)\n\t"
#define FOUR_HALVES(a, b, c, d) UPPER_HALF(a) UPPER_HALF(b) UPPER_HALF(c) UPPER_HALF(d)

bool upper_halves_are_clear(void)
{
    uint32_t words[16 * 4] = {0}, set = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile(FOUR_HALVES(0, 1, 2, 3) FOUR_HALVES(4, 5, 6, 7) FOUR_HALVES(8, 9, 10, 11)
                             FOUR_HALVES(12, 13, 14, 15)
                         :
                         : "r"(words)
                         : "memory");
#endif
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        set |= words[i];
    return set == 0;
}
