/* SPDX-License-Identifier: MIT */
#include "paired.h"

#include "clock_probe.h"
#include "sample.h"

/* Short, or the clock would have recovered before the probe is over. */
static const double PROBE_SECONDS = 60e-6;

static void run_burst(paired_arm *arm, size_t pair)
{
    arm->seconds[pair] = sample_one(runner_run, arm->runner, arm->calls);
    arm->clock[pair] = clock_probe(PROBE_SECONDS);
}

size_t paired_run(paired_arm *first, paired_arm *second, double burst, double budget)
{
    first->calls = sample_choose_calls(runner_run, first->runner, burst);
    second->calls = sample_choose_calls(runner_run, second->runner, burst);
    const double begin = now();
    size_t pairs = 0;
    while (pairs < MOST_PAIRS && (pairs < FEWEST_PAIRS || now() - begin < budget)) {
        run_burst(pairs % 2 ? second : first, pairs);
        run_burst(pairs % 2 ? first : second, pairs);
        pairs++;
    }
    return pairs;
}
