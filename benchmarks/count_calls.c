/* SPDX-License-Identifier: MIT */
#include "count_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "clock_probe.h"
#include "insight.h"
#include "report.h"

bool count_one_run(const one_run *run, counter_set *set, counted_run *found)
{
    enum { ALLOCATING_CALLS = 3 };
    const double half = run->asked->seconds / 2;
    const size_t open = counters_open(set);
    interference_begin(&found->disturbed);
    found->allocations = allocations_of(runner_run, run->runner, ALLOCATING_CALLS);
    bool good = time_calls(runner_run, run->runner, run->threads, half, &found->time);
    if (good && open) {
        const double calls = half / (double)set->groups / found->time.seconds.median;
        found->calls = calls < 1 ? 1 : (size_t)calls;
        counters_measure(set, runner_run, run->runner, found->calls);
    }
    interference_end(&found->disturbed);
    counters_close(set);
    if (!good)
        complain_of(run->problem, "no memory or no threads to time it with");
    else if (run->runner->status != CONV2D_OK)
        complain_of(run->problem, conv2d_status_string(run->runner->status));
    return good && run->runner->status == CONV2D_OK;
}

double cycles_of_run(const counter_set *set, const counted_run *found)
{
    return insight_cycles(set, found->time.seconds.median, insight_clock(&found->disturbed));
}

void print_run_head(FILE *file, const one_run *run, const counted_run *found)
{
    const interference *const i = &found->disturbed;
    char median[CELL_SIZE], words[200];
    format_seconds(median, found->time.seconds.median);
    const double gflops = run->load->valid_flops / found->time.seconds.median * 1e-9;
    fprintf(file, "%s%s  %s, %zu thread%s\n", run->first ? "" : "\n", run->problem,
            conv2d_kernel_name(&run->runner->plan), run->threads, run->threads == 1 ? "" : "s");
    fprintf(file, "  %s a call (median of %zu runs), %.1f GFLOP/s, %.1f %% of the FMA peak", median, found->time.runs,
            gflops, 100 * gflops / found->time.peak_gflops);
    if (i->slow > 0)
        fprintf(file, "; core clock %.3f GHz\n", 0.5e-9 * (i->slow + i->fast));
    else
        fprintf(file, "; the core's clock cannot be probed on this CPU\n");
    interference_describe(i, words, sizeof words);
    if (interference_kinds(i))
        fprintf(file, "  disturbed: %s\n", words);
}

/* The names of all counters with the same reason, in lines that are not too long. */
static void print_same_reason(FILE *file, const counter_set *set, size_t first, bool *said)
{
    enum { LINE = 110 };
    int column = fprintf(file, "  not counted:");
    for (size_t i = first; i < set->count; i++) {
        const counter *const c = &set->counters[i];
        if (c->counted || strcmp(c->reason, set->counters[first].reason) != 0)
            continue;
        said[i] = true;
        if (column + (int)strlen(c->name) > LINE)
            column = fprintf(file, "\n   ") - 1;
        column += fprintf(file, " %s", c->name);
    }
    fprintf(file, "\n    because: %s\n", set->counters[first].reason);
}

void print_missing(FILE *file, const counter_set *set)
{
    bool said[MOST_COUNTERS] = {false};
    for (size_t i = 0; i < set->count; i++)
        if (!set->counters[i].counted && !said[i])
            print_same_reason(file, set, i, said);
}

/* Whole numbers where they are large, digits where they are small. */
static void print_count(FILE *file, const char *name, double value, const char *note)
{
    fprintf(file, "  %16.*f  %s%s\n", value >= 100 || value == 0 ? 0 : 3, value, name, note);
}

static void print_counts(FILE *file, const counter_set *set, const counted_run *found, double wide_fmas)
{
    for (size_t i = 0; i < set->count; i++) {
        const counter *const c = &set->counters[i];
        char note[80] = "";
        if (c->counted && c->share < 1)
            snprintf(note, sizeof note, "  (estimated: counted %.0f %% of the time)", 100 * c->share);
        if (c->counted)
            print_count(file, c->name, c->value, note);
    }
    if (isnan(found->allocations))
        fprintf(file, "  allocations are not counted: this build's linker cannot lead them through convbench\n");
    else
        print_count(file, "allocations (malloc and its like, on all threads)", found->allocations, "");
    const double cycles = cycles_of_run(set, found), fma_share = counted_fma_share(set, cycles, wide_fmas);
    const counter *const instructions = counters_find(set, "instructions");
    if (isnan(counted_cycles(set)) && !isnan(cycles))
        print_count(file, "cycles, by the time that the thread ran and the clock probe", cycles, "");
    if (instructions && !isnan(cycles))
        print_count(file, "instructions a cycle", instructions->value / cycles, "");
    if (!isnan(fma_share))
        fprintf(file, "  %14.1f %%  of what the FMA pipes can begin\n", 100 * fma_share);
}

typedef struct counting {
    const counter_host *host;
    const char *list;
    double wide_fmas;
    bool said; /* what the machine is */
} counting;

static void print_host(FILE *file, const counter_host *host)
{
    fprintf(file, "events of %s; perf_event_paranoid %d; counts are of one call, in user space\n\n",
            host->table ? host->table->cpu : "the kernel only, as this CPU's are not known by name", host->paranoid);
}

static void report_counts(counting *all, const one_run *run, const counter_set *set, const counted_run *found)
{
    FILE *const file = each_run_text(run);
    if (!all->said)
        print_host(file, all->host);
    all->said = true;
    print_run_head(file, run, found);
    if (run->threads > 1)
        fprintf(file, "  counted on the calling thread, which is one of %zu\n", run->threads);
    print_counts(file, set, found, all->wide_fmas);
    print_missing(file, set);
    fflush(file);
    json *const j = each_run_row(run);
    if (!j)
        return;
    const double cycles = cycles_of_run(set, found);
    const counter *const instructions = counters_find(set, "instructions");
    json_counted_run(j, run, found);
    json_number(j, "cycles", cycles);
    json_truth(j, "cycles_counted", true, !isnan(counted_cycles(set)));
    json_number(j, "instructions_per_cycle", instructions ? instructions->value / cycles : NAN);
    json_number(j, "fma_pipes_share", counted_fma_share(set, cycles, all->wide_fmas));
    json_number(j, "counted_calls", (double)found->calls);
    json_number(j, "allocations", found->allocations);
    json_counters(j, set);
    json_close(j, '}');
}

static bool count_visit(const one_run *run, void *context)
{
    counting *const all = context;
    counter_set *const set = calloc(1, sizeof *set);
    counted_run found = {.calls = 0};
    bool good = set != NULL;
    if (good) {
        set->host = all->host;
        if (!counters_add(set, all->list))
            complain_of(run->problem, "there are more events than fit, the last ones are left out");
        good = count_one_run(run, set, &found);
    }
    if (good)
        report_counts(all, run, set, &found);
    timing_free(&found.time);
    free(set);
    return good;
}

static void add_host(json *j, const void *context)
{
    const counting *const all = context;
    json_counter_host(j, all->host);
}

/* What --counters can be asked for here. */
static int print_events(const counter_host *host)
{
    printf(
        "on any CPU: basic (cycles, instructions, branches, branch-misses), software (task-clock, page-faults,\n"
        "context-switches, cpu-migrations), cache-references, cache-misses, ref-cycles, minor-faults, major-faults,\n"
        "alignment-faults, rHEX, CODE:MASK; behind a name :cN (cycles with at least N), :e (beginnings), :i (not)\n");
    if (!host->table) {
        printf("this CPU's own events are not known by name\n");
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; i < EVENT_GROUPS && host->table->groups[i].name; i++)
        printf("\n%s: %s\n", host->table->groups[i].name, host->table->groups[i].events);
    printf("\nall of %s:\n", host->table->cpu);
    for (size_t list = 0; list < EVENT_LISTS; list++)
        for (size_t i = 0; i < host->table->lists[list].count; i++) {
            const counter_event *const event = &host->table->lists[list].events[i];
            printf("  %-50s 0x%02x:0x%02x\n", event->name, event->code, event->mask);
        }
    return EXIT_SUCCESS;
}

int count_run(options *asked)
{
    const counter_host host = counter_host_find();
    if (strcmp(asked->counters, "list") == 0)
        return print_events(&host);
    if (asked->problems.count == 0) {
        fprintf(stderr, "convbench: no problem is given\n");
        return EXIT_WRONG_ARGUMENT;
    }
    const char *const usual = host.table ? "basic,cache,fp,software" : "basic,cache-references,cache-misses,software";
    counting all = {&host, *asked->counters ? asked->counters : usual, wide_fma_probe(), false};
    const look counters = {.schema = "convbench-counters", .visit = count_visit, .add = add_host};
    return each_run(asked, &counters, &all);
}
