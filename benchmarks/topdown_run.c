/* SPDX-License-Identifier: MIT */
#include "topdown_run.h"

#include <math.h>
#include <stdlib.h>

#include "clock_probe.h"
#include "count_calls.h"
#include "prediction.h"
#include "report.h"
#include "topdown.h"

typedef struct analysis {
    const counter_host *host;
    limits *machine; /* of one thread */
    double wide_fmas;
    bool two_threads; /* of each core, in use or not */
} analysis;

/* Whether cores have two threads, whatever the other one does. */
static bool has_two_threads(void)
{
    FILE *const file = fopen("/sys/devices/system/cpu/smt/active", "r");
    const bool active = file && fgetc(file) == '1';
    if (file)
        fclose(file);
    return active;
}

static void print_share(int indent, const char *name, double share, const char *note)
{
    if (!isnan(share))
        printf("  %*s%-*s %5.1f %%%s\n", indent, "", 44 - indent, name, 100 * share, note);
}

static bool print_measured(const counter_set *set, const topdown *t)
{
    if (isnan(t->share[TOPDOWN_RETIRING]))
        return false;
    printf("  measured, of all slots of the pipeline:\n");
    for (topdown_node node = 0; node < TOPDOWN_NODES; node++)
        print_share(2 * topdown_level(node), topdown_name(node), t->share[node], "");
    for (size_t i = 0; i < set->count; i++)
        if (set->counters[i].counted && set->counters[i].share < 1) {
            printf("  estimated: the events shared the CPU's counters with others\n");
            break;
        }
    return true;
}

static void print_work(const char *name, double count, double seconds, const char *how)
{
    char text[CELL_SIZE];
    format_seconds(text, seconds);
    printf("    %-8s %12.0f   %9s %s\n", name, count, text, how);
}

static void print_prediction(const one_run *run, const analysis *a, const counted_run *found)
{
    prediction p;
    const double slots = a->host->table ? a->host->table->slots : 0;
    if (!prediction_make(&p, &run->runner->plan, run->load, a->machine, found->time.peak_gflops, slots, a->wide_fmas)) {
        printf("  predicted: nothing, the reference kernel has no tiles\n");
        return;
    }
    char text[CELL_SIZE], traffic[CELL_SIZE + 40];
    printf("  predicted from the tile (%zu FMAs and %zu loads a tap, %zu lanes) and the probes, not measured:\n",
           p.kernel.fmas, p.kernel.loads, p.kernel.lanes);
    print_work("FMAs", p.fmas, p.fma_seconds, "at the peak");
    print_work("loads", p.loads, p.load_seconds, "at the L1's bandwidth");
    snprintf(traffic, sizeof traffic, "once through the %s%s", p.level->name, p.level->name[0] == 'L' ? "" : " bus");
    print_work("bytes", p.bytes, p.byte_seconds, traffic);
    printf("    %-8s %12.0f\n", "stores", p.stores);
    format_seconds(text, p.seconds);
    printf("    the library's model expects %s, %.1f %% of the peak: %s\n", text, 100 * p.fma_seconds / p.seconds,
           p.byte_seconds > p.fma_seconds   ? "bound by memory"
           : p.load_seconds > p.fma_seconds ? "bound by loads"
                                            : "bound by FMAs");
    if (!isnan(p.most_retiring))
        printf("    with its FMA pipes full this tile retires %.0f to %.0f %% of the slots: more is not better\n",
               100 * p.least_retiring, 100 * p.most_retiring);
}

static bool topdown_visit(const one_run *run, void *context)
{
    analysis *const a = context;
    counter_set *const set = calloc(1, sizeof *set);
    counted_run found = {.calls = 0};
    if (!set)
        return false;
    set->host = a->host;
    /* First, so that level 1 is one group. */
    if (topdown_events(a->host->table))
        counters_add(set, topdown_events(a->host->table));
    for (size_t i = 0; a->host->table && i < FMA_EVENTS && a->host->table->fma[i].name; i++)
        counters_add(set, a->host->table->fma[i].name);
    counters_add(set, "cycles,task-clock");
    const bool good = count_one_run(run, set, &found);
    if (good) {
        const topdown t = topdown_find(set, a->two_threads, a->wide_fmas);
        print_run_head(run, &found);
        print_share(0, "FMA pipes busy, counted", t.fma_share, "");
        print_share(0, "FMA pipes busy, by time and the peak's probe",
                    run->load->valid_flops / found.time.seconds.median * 1e-9 / found.time.peak_gflops,
                    " (if every lane is wanted)");
        if (!print_measured(set, &t)) {
            printf("  no top-down analysis is measured here%s\n",
                   topdown_events(a->host->table) ? ":" : ", this CPU has no table for it:");
            print_missing(stdout, set);
        }
        print_prediction(run, a, &found);
        fflush(stdout);
    }
    timing_free(&found.time);
    free(set);
    return good;
}

int topdown_run(options *asked)
{
    const counter_host host = counter_host_find();
    limits machine = {.threads = 1};
    analysis a = {&host, &machine, wide_fma_probe(), has_two_threads()};
    if (!measure_memory(1, machine.levels)) {
        fprintf(stderr, "convbench: no memory to measure the machine's with\n");
        return EXIT_WRONG_RESULT;
    }
    return each_run(asked, 0, topdown_visit, &a);
}
