/* SPDX-License-Identifier: MIT */
#include "topdown_run.h"

#include <math.h>
#include <stdlib.h>

#include "count_calls.h"
#include "insight.h"
#include "report.h"

typedef struct analysis {
    insight_tools tools;
    limits machine; /* of one thread */
} analysis;

/* How busy the FMA pipes were if all their lanes were wanted. */
static double share_of_peak(const one_run *run, const counted_run *found)
{
    return run->load->valid_flops / found->time.seconds.median * 1e-9 / found->time.peak_gflops;
}

static void print_share(FILE *file, int indent, const char *name, double share, const char *note)
{
    if (!isnan(share))
        fprintf(file, "  %*s%-*s %5.1f %%%s\n", indent, "", 44 - indent, name, 100 * share, note);
}

/* Whether an event had to share the CPU's counters with others. */
static bool is_estimated(const counter_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->counters[i].counted && set->counters[i].share < 1)
            return true;
    return false;
}

static void print_measured(FILE *file, const counter_set *set, const topdown *t)
{
    if (isnan(t->share[TOPDOWN_RETIRING])) {
        fprintf(file, "  no top-down analysis is measured here%s\n",
                topdown_events(set->host->table) ? ":" : ", this CPU has no table for it:");
        print_missing(file, set);
        return;
    }
    fprintf(file, "  measured, of all slots of the pipeline:\n");
    for (topdown_node node = 0; node < TOPDOWN_NODES; node++)
        print_share(file, 2 * topdown_level(node), topdown_name(node), t->share[node], "");
    if (topdown_caveat(set->host->table))
        fprintf(file, "  %s\n", topdown_caveat(set->host->table));
    if (is_estimated(set))
        fprintf(file, "  estimated: the events shared the CPU's counters with others\n");
}

static void print_work(FILE *file, const char *name, double count, double seconds, const char *how)
{
    char text[CELL_SIZE];
    format_seconds(text, seconds);
    fprintf(file, "    %-8s %12.0f   %9s %s\n", name, count, text, how);
}

static void print_prediction(FILE *file, const prediction *p)
{
    char text[CELL_SIZE], traffic[CELL_SIZE + 40];
    fprintf(file, "  predicted from the tile (%zu FMAs and %zu loads a tap, %zu lanes) and the probes, not measured:\n",
            p->kernel.fmas, p->kernel.loads, p->kernel.lanes);
    print_work(file, "FMAs", p->fmas, p->fma_seconds, "at the peak");
    print_work(file, "loads", p->loads, p->load_seconds, "at the L1's bandwidth");
    snprintf(traffic, sizeof traffic, "once through the %s%s", p->level->name, p->level->name[0] == 'L' ? "" : " bus");
    print_work(file, "bytes", p->bytes, p->byte_seconds, traffic);
    fprintf(file, "    %-8s %12.0f\n", "stores", p->stores);
    format_seconds(text, p->seconds);
    fprintf(file, "    the library's model expects %s, %.1f %% of the peak: bound by %s\n", text,
            100 * p->fma_seconds / p->seconds, prediction_bound(p));
    if (!isnan(p->most_retiring))
        fprintf(file,
                "    with its FMA pipes full this tile retires %.0f to %.0f %% of the slots: more is not better\n",
                100 * p->least_retiring, 100 * p->most_retiring);
}

static void print_all(FILE *file, const one_run *run, const counter_set *set, const counted_run *found,
                      const topdown *t, const prediction *p)
{
    print_run_head(file, run, found);
    print_share(file, 0, "FMA pipes busy, counted", t->fma_share, "");
    print_share(file, 0, "FMA pipes busy, by time and the peak's probe", share_of_peak(run, found),
                " (if every lane is wanted)");
    print_measured(file, set, t);
    if (p)
        print_prediction(file, p);
    else
        fprintf(file, "  predicted: nothing, the reference kernel has no tiles\n");
    fflush(file);
}

static void add_topdown(json *j, const topdown *t)
{
    if (isnan(t->share[TOPDOWN_RETIRING])) {
        json_string(j, "topdown", NULL);
        return;
    }
    json_open(j, "topdown", '[');
    for (topdown_node node = 0; node < TOPDOWN_NODES; node++) {
        json_open(j, NULL, '{');
        json_string(j, "name", topdown_name(node));
        json_number(j, "level", topdown_level(node));
        json_number(j, "share", t->share[node]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void add_row(json *j, const one_run *run, const counter_set *set, const counted_run *found, const topdown *t,
                    const prediction *p)
{
    json_counted_run(j, run, found);
    json_number(j, "fma_pipes_share", t->fma_share);
    json_number(j, "fma_pipes_share_by_time", share_of_peak(run, found));
    json_number(j, "cycles", t->cycles);
    add_topdown(j, t);
    json_truth(j, "estimated", true, is_estimated(set));
    json_string(j, "caveat", topdown_caveat(set->host->table));
    json_prediction(j, p);
    json_counters(j, set);
    json_close(j, '}');
}

static bool topdown_visit(const one_run *run, void *context)
{
    analysis *const a = context;
    counter_set *const set = calloc(1, sizeof *set);
    counted_run found = {.calls = 0};
    if (!set)
        return false;
    set->host = &a->tools.host;
    insight_add_topdown(set);
    const bool good = count_one_run(run, set, &found);
    if (good) {
        const double slots = a->tools.host.table ? a->tools.host.table->slots : 0;
        const topdown t = topdown_find(set, a->tools.two_threads, a->tools.wide_fmas);
        prediction p;
        const bool predicted = prediction_make(&p, &run->runner->plan, run->load, &a->machine, found.time.peak_gflops,
                                               slots, a->tools.wide_fmas);
        print_all(each_run_text(run), run, set, &found, &t, predicted ? &p : NULL);
        json *const j = each_run_row(run);
        if (j)
            add_row(j, run, set, &found, &t, predicted ? &p : NULL);
    }
    timing_free(&found.time);
    free(set);
    return good;
}

static void add_host(json *j, const void *context)
{
    const analysis *const a = context;
    json_counter_host(j, &a->tools.host);
}

int topdown_run(options *asked)
{
    analysis a = {.tools = insight_tools_find(), .machine = {.threads = 1, .peak_gflops = peak_gflops(1)}};
    if (!measure_memory(1, a.machine.levels)) {
        fprintf(stderr, "convbench: no memory to measure the machine's with\n");
        return EXIT_WRONG_RESULT;
    }
    const look topdowns = {
        .schema = "convbench-topdown", .machine = &a.machine, .visit = topdown_visit, .add = add_host};
    return each_run(asked, &topdowns, &a);
}
