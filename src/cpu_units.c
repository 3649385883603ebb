/* SPDX-License-Identifier: MIT */
#include "cpu_units.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int is_vendor(const cpu_identity *cpu, const char *name)
{
    return strcmp(cpu->vendor, name) == 0;
}

int conv2d_is_skylake_x(const cpu_identity *cpu)
{
    return is_vendor(cpu, "GenuineIntel") && cpu->family == 6 && cpu->model == 0x55;
}

/* By their names, of which the first that fits counts (Intel ARK, "# of AVX-512 FMA Units"). */
static int skylake_x_by_brand(const char *brand)
{
    static const struct {
        const char *words;
        int units;
    } rows[] = {{"Gold 5122", 2}, {"Gold 5222", 2}, {"Gold 51", 1}, {"Gold 52", 1}, {"Bronze", 1}, {"Silver", 1},
                {"D-21", 1},      {"Platinum", 2},  {"Gold 61", 2}, {"Gold 62", 2}, {"i9-", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(brand, rows[i].words))
            return rows[i].units;
    return 0;
}

int conv2d_known_wide_fmas(const cpu_identity *cpu)
{
    static const struct {
        const char *vendor;
        unsigned family, first_model, last_model;
        int units;
    } rows[] = {
        {"GenuineIntel", 6, 0x66, 0x66, 1},    /* Cannon Lake */
        {"GenuineIntel", 6, 0x6a, 0x6a, 2},    /* Ice Lake-SP; not -D (6Ch), whose members differ */
        {"GenuineIntel", 6, 0x7d, 0x7e, 1},    /* Ice Lake, client */
        {"GenuineIntel", 6, 0x8c, 0x8d, 1},    /* Tiger Lake */
        {"GenuineIntel", 6, 0x8f, 0x8f, 2},    /* Sapphire Rapids */
        {"GenuineIntel", 6, 0x97, 0x97, 1},    /* Alder Lake, where AVX-512 is not fused off */
        {"GenuineIntel", 6, 0x9a, 0x9a, 1},    /* likewise */
        {"GenuineIntel", 6, 0xa7, 0xa7, 1},    /* Rocket Lake */
        {"GenuineIntel", 6, 0xad, 0xae, 2},    /* Granite Rapids */
        {"GenuineIntel", 6, 0xcf, 0xcf, 2},    /* Emerald Rapids */
        {"AuthenticAMD", 0x19, 0x00, 0xff, 1}, /* Zen 4: two of 256 bits together */
        {"AuthenticAMD", 0x1a, 0x00, 0x1f, 2}, /* Zen 5: servers */
        {"AuthenticAMD", 0x1a, 0x20, 0x2f, 1}, /* laptops, with data paths of 256 bits */
        {"AuthenticAMD", 0x1a, 0x40, 0x4f, 2}, /* desktops */
    };
    if (conv2d_is_skylake_x(cpu))
        return skylake_x_by_brand(cpu->brand);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_vendor(cpu, rows[i].vendor) && cpu->family == rows[i].family && cpu->model >= rows[i].first_model &&
            cpu->model <= rows[i].last_model)
            return rows[i].units;
    return 0;
}

#if defined(__x86_64__)
/* In assembly, as the library is built for CPUs without AVX-512.  The numbers are zeros, which raise no flag. */
#define CHAINS(width)                                                                                                  \
    ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n\t"                                                             \
    "vfmadd231ps %%" width "mm12, %%" width "mm13, %%" width "mm\\chain\n\t"                                           \
    ".endr\n\t"
#define RUN_CHAINS(width, rounds)                                                                                      \
    __asm__ volatile("vzeroall\n\t"                                                                                    \
                     ".p2align 5\n"                                                                                    \
                     "1:\n\t" CHAINS(width) "dec %0\n\t"                                                               \
                                            "jnz 1b\n\t"                                                               \
                                            "vzeroupper"                                                               \
                     : "+r"(rounds)                                                                                    \
                     :                                                                                                 \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

/* The counter of time stamps, which needs no system call, when everything before is done. */
static uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

enum { ROUNDS = 100, TURNS = 100, MOST_TURNS = 10 * TURNS };

static uint64_t burst_256(void)
{
    long rounds = ROUNDS;
    const uint64_t start = ticks();
    RUN_CHAINS("y", rounds);
    return ticks() - start;
}

static uint64_t burst_512(void)
{
    long rounds = ROUNDS;
    const uint64_t start = ticks();
    RUN_CHAINS("z", rounds);
    return ticks() - start;
}

/*
 * Two units: both bursts take as long; one: those of 512 bits twice as long.  The shortest of each count, for what
 * disturbs only lengthens them.  If those of 512 bits take far longer than twice, the core has not switched its wide
 * units on yet (Skylake-X runs them at a quarter of the speed until it has): then it goes on for up to 1 ms.
 */
int conv2d_probe_wide_fmas(void)
{
    uint64_t narrow = UINT64_MAX, wide = UINT64_MAX;
    for (int turn = 0; turn < TURNS || (turn < MOST_TURNS && wide > narrow * 5 / 2); turn++) {
        const uint64_t n = burst_256(), w = burst_512();
        narrow = n < narrow ? n : narrow;
        wide = w < wide ? w : wide;
    }
    return wide < narrow * 4 / 3 ? 2 : 1;
}
#else
int conv2d_probe_wide_fmas(void)
{
    return 1;
}
#endif
