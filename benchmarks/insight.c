/* SPDX-License-Identifier: MIT */
#include "insight.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocations.h"
#include "clock_probe.h"

/* Whether cores have two threads, whatever the other one does. */
static bool has_two_threads(void)
{
    FILE *const file = fopen("/sys/devices/system/cpu/smt/active", "r");
    const bool active = file && fgetc(file) == '1';
    if (file)
        fclose(file);
    return active;
}

insight_tools insight_tools_find(void)
{
    return (insight_tools){counter_host_find(), wide_fma_probe(), has_two_threads()};
}

void insight_add_topdown(counter_set *set)
{
    const cpu_events *const table = set->host->table;
    if (topdown_events(table))
        counters_add(set, topdown_events(table));
    for (size_t i = 0; table && i < FMA_EVENTS && table->fma[i].name; i++)
        counters_add(set, table->fma[i].name);
    counters_add(set, "cycles,task-clock");
}

/* What the thread waited for the CPU is no cycles of it. */
double insight_cycles(const counter_set *set, double seconds, double clock)
{
    const double counted = counted_cycles(set);
    const counter *const ran = counters_find(set, "task-clock");
    return !isnan(counted) ? counted : clock > 0 ? clock * (ran ? ran->value * 1e-9 : seconds) : NAN;
}

double insight_clock(const interference *disturbed)
{
    return (disturbed->slow + disturbed->fast) / 2;
}

insight *insight_make(const insight_tools *tools, runner *r, const limits *machine, const timing *time, double seconds)
{
    insight *const found = calloc(1, sizeof *found);
    if (!found)
        return NULL;
    counter_set *const set = &found->counted;
    set->host = &tools->host;
    insight_add_topdown(set);
    counters_add(set, tools->host.table ? "basic,cache,fp,software" : "basic,cache-references,cache-misses,software");
    if (counters_open(set)) {
        const double calls = seconds / (double)set->groups / time->seconds.median;
        counters_measure(set, runner_run, r, calls < 1 ? 1 : (size_t)calls);
    }
    counters_close(set);
    found->allocations = allocations_of(runner_run, r, 1);
    found->clock = insight_clock(&time->disturbed);
    found->cycles = insight_cycles(set, time->seconds.median, found->clock);
    found->topdown = topdown_find(set, tools->two_threads, tools->wide_fmas);
    found->predicted = prediction_make(&found->prediction, &r->plan, r->load, machine, time->peak_gflops,
                                       tools->host.table ? tools->host.table->slots : 0, tools->wide_fmas);
    return found;
}
