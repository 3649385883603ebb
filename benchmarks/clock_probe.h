/* SPDX-License-Identifier: MIT */
/* The core's clock, and what it can begin per cycle, measured by instructions alone: works without a PMU. */
#ifndef CONVBENCH_CLOCK_PROBE_H
#define CONVBENCH_CLOCK_PROBE_H

/*
 * Cycles per second, by a chain of dependent additions, each of which takes one cycle: the best of a few bursts that
 * together take some `seconds`.  0 where there is no such probe.
 */
double clock_probe(double seconds);

/*
 * How many 512-bit multiply-adds the core begins per cycle: about 1 or 2 (a chain of additions and 12 of multiply-adds
 * in turns, some 100 us; the best of them, as neighbours can only slow it).  0 without AVX-512.
 */
double wide_fma_probe(void);

#endif
