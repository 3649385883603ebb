/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_report.h"
#include "count_calls.h"
#include "file.h"
#include "measure.h"
#include "progress.h"

typedef struct recording {
    call_series *series;
    call_summary *summaries;
    size_t count;
    FILE *file;
    counter_set *counted;
    bool failed;
} recording;

static void complain(recording *all, const char *name, const char *message)
{
    progress_clear();
    fprintf(stderr, "convbench: %s: %s\n", name, message);
    all->failed = true;
}

/* The last one. */
static void print_one(const recording *all)
{
    progress_clear();
    if (all->count)
        fprintf(all->file, "\n");
    call_report_print(all->file, &all->summaries[all->count]);
}

static void record_one(recording *all, const options *asked, const workload *load, const char *name, conv2d_isa isa,
                       size_t threads)
{
    char message[8192];
    runner r;
    call_series *const s = &all->series[all->count];
    snprintf(s->problem, sizeof s->problem, "%s", name);
    const conv2d_options wanted = {
        .isa = isa, .kernel = asked->kernel, .records = asked->records.records, .record_count = asked->records.count};
    const conv2d_status status = runner_make(&r, load, threads, &wanted);
    if (status != CONV2D_OK) {
        runner_explain(&r, status, message, sizeof message);
        complain(all, name, message);
    } else if (!call_series_record(s, &r, threads, asked->calls, all->counted, message, sizeof message)) {
        complain(all, name, message);
        call_series_free(s);
    } else {
        s->kernel = conv2d_kernel_name(&r.plan);
        s->isa = kernel_isa_name(s->kernel);
        if (!call_summary_make(&all->summaries[all->count], s))
            complain(all, name, "no memory to compare its calls");
        else
            print_one(all);
        all->count++;
    }
    runner_free(&r);
}

static void record_problem(recording *all, const options *asked, const problem *p)
{
    char name[PROBLEM_TEXT_SIZE], message[200];
    problem_format(p, name, sizeof name);
    workload load;
    workload_plan(&load, p, 0);
    if (!workload_fits(&load, message, sizeof message) || !workload_make(&load, p)) {
        complain(all, name, "there is no memory for its tensors");
        return;
    }
    workload_reset_outputs(&load);
    for (size_t i = 0; i < asked->isa_count; i++)
        for (size_t t = 0; t < asked->thread_count; t++) {
            progress_show(name);
            record_one(all, asked, &load, name, asked->isas[i], asked->threads[t]);
            progress_step();
        }
    workload_free(&load);
}

/* Opens what is asked for, else what this CPU counts of the usual; says what is not counted. */
static void open_counters(counter_set *set, const counter_host *host, const options *asked, FILE *file)
{
    set->host = host;
    counters_add(set, asked->counters && *asked->counters ? asked->counters : "basic,software");
    const size_t open = counters_open(set);
    for (size_t i = 0; i < set->count; i++)
        if (set->counters[i].descriptor >= 0)
            set->counters[i].counted = true;
    if (asked->counters)
        print_missing(file, set);
    else if (open < set->count)
        fprintf(file, "%zu of %zu usual events are counted (--counters says why, and takes a list of others)\n", open,
                set->count);
    if (set->groups > 1)
        fprintf(file, "of %zu groups of counters only the first can be read in every call\n", set->groups);
}

int calls_run(options *asked)
{
    if (!options_drop_missing_isas(asked) || (asked->json && !file_can_write(asked->json)) ||
        (asked->csv && !file_can_write(asked->csv)))
        return EXIT_WRONG_ARGUMENT;
    const size_t most = asked->problems.count * asked->isa_count * asked->thread_count;
    const bool stdout_taken =
        (asked->json && strcmp(asked->json, "-") == 0) || (asked->csv && strcmp(asked->csv, "-") == 0);
    recording all = {.series = calloc(most, sizeof *all.series),
                     .summaries = calloc(most, sizeof *all.summaries),
                     .file = stdout_taken ? stderr : stdout};
    if (!all.series || !all.summaries)
        fprintf(stderr, "convbench: no memory for the calls of so many problems\n");
    const counter_host host = counter_host_find();
    counter_set counted = {.count = 0};
    open_counters(&counted, &host, asked, all.file);
    all.counted = &counted;
    progress_begin(most);
    for (size_t i = 0; i < asked->problems.count && all.series && all.summaries; i++)
        record_problem(&all, asked, &asked->problems.problems[i]);
    progress_clear();
    const call_results recorded = {all.summaries, all.count};
    bool good = all.series && all.summaries && !all.failed;
    good = good && (!asked->json || call_report_write_json(asked->json, &recorded));
    good = good && (!asked->csv || call_report_write_csv(asked->csv, &recorded));
    for (size_t i = 0; i < all.count; i++)
        call_series_free(&all.series[i]);
    counters_close(&counted);
    free(all.series);
    free(all.summaries);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
