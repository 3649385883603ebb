/* SPDX-License-Identifier: MIT */
/* Runs that were counted, as JSON. */
#include <math.h>

#include "count_calls.h"
#include "insight.h"

void json_counted_run(json *j, const one_run *run, const counted_run *found)
{
    const timing *const t = &found->time;
    const double gflops = run->load->valid_flops / t->seconds.median * 1e-9;
    const double clock = insight_clock(&found->disturbed);
    json_number(j, "runs", (double)t->runs);
    json_number(j, "calls_per_run", (double)t->calls_per_run);
    json_quartiles(j, "seconds", &t->seconds);
    json_number(j, "flops", run->load->valid_flops);
    json_number(j, "gflops", gflops);
    json_number(j, "peak_gflops", t->peak_gflops);
    json_number(j, "percent_of_peak", 100 * gflops / t->peak_gflops);
    json_number(j, "clock", clock > 0 ? clock : NAN);
    json_disturbed(j, &found->disturbed);
}

void json_counters(json *j, const counter_set *set)
{
    json_open(j, "counters", '[');
    for (const counter *c = set->counters; c < set->counters + set->count; c++) {
        json_open(j, NULL, '{');
        json_string(j, "name", c->name);
        json_number(j, "value", c->counted ? c->value : NAN);
        json_number(j, "counted_share", c->counted ? c->share : NAN);
        json_string(j, "reason", c->counted ? NULL : c->reason);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void json_counter_host(json *j, const counter_host *host)
{
    json_string(j, "events_of", host->table ? host->table->cpu : NULL);
    json_truth(j, "pmu", true, host->has_pmu);
    json_number(j, "perf_event_paranoid", host->has_perf ? (double)host->paranoid : NAN);
}
