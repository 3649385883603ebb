/* SPDX-License-Identifier: MIT */
#include "clock_probe.h"

#include <stdbool.h>

#include "peak.h"
#include "sample.h"

#if defined(__x86_64__)
enum { ADDITIONS_PER_ROUND = 100 };

/* One register added to another: additions of constants may take no time at all (Golden Cove does them on the way). */
static bool add_in_chain(long rounds)
{
    unsigned long sum = 0;
    __asm__ volatile(".p2align 5\n"
                     "1:\n\t"
                     ".rept 100\n\t"
                     "add %1, %0\n\t"
                     ".endr\n\t"
                     "dec %1\n\t"
                     "jnz 1b"
                     : "+r"(sum), "+r"(rounds)
                     :
                     : "cc");
    return true;
}
#else
enum { ADDITIONS_PER_ROUND = 1 };

static bool add_in_chain(long rounds)
{
    (void)rounds;
    return false;
}
#endif

/* Cycles per second in one burst of so many rounds. */
static double clock_of_burst(long rounds)
{
    const double start = now();
    const bool there = add_in_chain(rounds);
    return there ? (double)rounds * ADDITIONS_PER_ROUND / (now() - start) : 0;
}

double clock_probe(double seconds)
{
    enum { BURSTS = 4, FIRST = 20 };
    double best = clock_of_burst(FIRST);
    const double rounds = seconds / BURSTS * best / ADDITIONS_PER_ROUND;
    for (int i = 0; i < BURSTS && best > 0; i++) {
        const double clock = clock_of_burst(rounds < FIRST ? FIRST : (long)rounds);
        best = i == 0 || clock > best ? clock : best;
    }
    return best;
}

double wide_fma_probe(void)
{
    /* The first turns also wait for the wide units to be switched on, which takes some 20 us on Skylake-X. */
    enum { TURNS = 8, ADD_ROUNDS = 200, FMA_ROUNDS = 1500 };
    double per_cycle[TURNS];
    for (int i = 0; i < TURNS; i++) {
        const double clock = clock_of_burst(ADD_ROUNDS), start = now();
        const double fmas = peak_run_512(FMA_ROUNDS), seconds = now() - start;
        per_cycle[i] = clock > 0 ? fmas / seconds / clock : 0;
    }
    /* Who is interrupted between has too many or too few of them. */
    return quartiles_of(per_cycle, TURNS).median;
}
