/* SPDX-License-Identifier: MIT */
#include "peak.h"

#include "sample.h"
#include "team.h"

/* A dozen chains hide the latency of a multiply-add (4 cycles, up to two a cycle) with some to spare. */
enum { CHAINS = 12 };

#if defined(__x86_64__)
/* In assembly, because compilers spill an array of accumulators and then measure the spills. */
#define ALL_CHAINS(width)                                                                                              \
    ".irp chain, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n\t"                                                             \
    "vfmadd231ps %%" width "mm12, %%" width "mm13, %%" width "mm\\chain\n\t"                                           \
    ".endr\n\t"
/* The chains begin at 0 and add quarters: never a value that some CPU is slow with. */
#define RUN_CHAINS(width, rounds)                                                                                      \
    __asm__ volatile("vzeroall\n\t"                                                                                    \
                     "vbroadcastss %1, %%" width "mm12\n\t"                                                            \
                     "vbroadcastss %1, %%" width "mm13\n\t"                                                            \
                     ".p2align 5\n"                                                                                    \
                     "1:\n\t" ALL_CHAINS(width) "dec %0\n\t"                                                           \
                                                "jnz 1b\n\t"                                                           \
                                                "vzeroupper"                                                           \
                     : "+r"(rounds)                                                                                    \
                     : "m"(half)                                                                                       \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

static const float half = 0.5f;

static void run_avx512(long rounds)
{
    RUN_CHAINS("z", rounds);
}

static void run_avx2(long rounds)
{
    RUN_CHAINS("y", rounds);
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

/* A multiplication and an addition where there is no vector multiply-add. */
static void run_scalar(long rounds)
{
    float a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
    for (; rounds; rounds--) {
        a = a * 0.5f + 1.0f, b = b * 0.5f + 1.0f, c = c * 0.5f + 1.0f, d = d * 0.5f + 1.0f;
        e = e * 0.5f + 1.0f, f = f * 0.5f + 1.0f, g = g * 0.5f + 1.0f, h = h * 0.5f + 1.0f;
        i = i * 0.5f + 1.0f, j = j * 0.5f + 1.0f, k = k * 0.5f + 1.0f, l = l * 0.5f + 1.0f;
    }
    volatile float keep = a + b + c + d + e + f + g + h + i + j + k + l;
    (void)keep;
}

static bool always(void)
{
    return true;
}

/* The first that the CPU has is taken. */
static const struct method {
    const char *name;
    bool (*supported)(void);
    void (*run)(long rounds);
    double lanes;
} methods[] = {
#if defined(__x86_64__)
    {"12 chains of 512-bit FMA", has_avx512, run_avx512, 16},
    {"12 chains of 256-bit FMA", has_avx2, run_avx2, 8},
#endif
    {"12 chains of scalar multiply and add", always, run_scalar, 1},
};

static const struct method *best_method(void)
{
    const struct method *method = methods;
    while (!method->supported())
        method++;
    return method;
}

double peak_run_512(long rounds)
{
#if defined(__x86_64__)
    if (has_avx512()) {
        run_avx512(rounds);
        return (double)rounds * CHAINS;
    }
#endif
    (void)rounds;
    return 0;
}

const char *peak_method(void)
{
    return best_method()->name;
}

/* The amount is in GFLOP. */
static team_share burst(size_t member, void *context)
{
    (void)member;
    (void)context;
    const struct method *const method = best_method();
    enum { ROUNDS = 4000 };
    const double budget = 1.2e-3;
    /* Untimed: threads of the library that still spin go to sleep meanwhile, and the clock settles. */
    const double begin = now();
    do
        method->run(ROUNDS);
    while (now() - begin < budget / 10);
    team_share share = {.start = now()};
    do {
        method->run(ROUNDS);
        share.amount += ROUNDS * CHAINS * method->lanes * 2 * 1e-9;
        share.end = now();
    } while (share.end - share.start < budget);
    return share;
}

double peak_gflops(size_t threads)
{
    double rate;
    return team_run(threads, burst, NULL, &rate) ? rate : 0;
}
