/* SPDX-License-Identifier: MIT */
#include "overhead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "reports.h"
#include "row_file.h"
#include "runner.h"
#include "sample.h"

enum { SAMPLES = 101 };

typedef struct overheads {
    FILE *text;
    row_file rows;
} overheads;

static quartiles time_calls_of(timed_call *call, void *context)
{
    const size_t calls = sample_choose_calls(call, context, 0);
    double seconds[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++)
        seconds[i] = sample_one(call, context, calls);
    return quartiles_of(seconds, SAMPLES);
}

static void add_row(overheads *all, const char *what, const problem *p, size_t threads, quartiles seconds)
{
    char name[PROBLEM_TEXT_SIZE];
    problem_format(p, name, sizeof name);
    progress_clear();
    fprintf(all->text, "%-8s  %3zu  %11.1f  %11.1f  %11.1f  %11.1f  %s\n", what, threads, 1e9 * seconds.median,
            1e9 * seconds.min, 1e9 * seconds.p25, 1e9 * seconds.p75, name);
    fflush(all->text);
    progress_step();
    progress_show(name);
    json *const j = row_file_next(&all->rows);
    if (!j)
        return;
    json_open(j, NULL, '{');
    json_string(j, "what", what);
    json_string(j, "problem", name);
    json_number(j, "threads", (double)threads);
    json_number(j, "min_ns", 1e9 * seconds.min);
    json_number(j, "p25_ns", 1e9 * seconds.p25);
    json_number(j, "median_ns", 1e9 * seconds.median);
    json_number(j, "p75_ns", 1e9 * seconds.p75);
    json_close(j, '}');
}

/* A runner, and what else a call of it needs. */
typedef struct trial {
    workload load;
    conv2d_options options;
    runner run;
    size_t part, parts;
} trial;

static void trial_free(trial *t)
{
    runner_free(&t->run);
    workload_free(&t->load);
}

/* Whatever it returns, trial_free is due. */
static bool trial_make(trial *t, const problem *p, size_t threads, conv2d_isa isa)
{
    *t = (trial){.options = {.isa = isa}, .parts = threads};
    workload_plan(&t->load, p, 0);
    if (!workload_make(&t->load, p))
        return false;
    const conv2d_status status = runner_make(&t->run, &t->load, threads, &t->options);
    if (status == CONV2D_OK)
        return true;
    char message[200];
    runner_explain(&t->run, status, message, sizeof message);
    progress_clear();
    fprintf(stderr, "convbench: %s\n", message);
    return false;
}

static void plan(void *context)
{
    trial *const t = context;
    conv2d_plan_init(&t->run.plan, &t->load.desc, &t->options);
}

static void pack(void *context)
{
    trial *const t = context;
    conv2d_pack_weights(&t->run.plan, t->load.weights, t->load.desc.bias, t->run.packed);
}

static void run_part(void *context)
{
    trial *const t = context;
    conv2d_run_part(&t->run.plan, &t->run.args, t->part, t->parts);
}

static bool time_problem(overheads *all, const problem *p, conv2d_isa isa)
{
    trial t;
    const bool good = trial_make(&t, p, 1, isa);
    if (good) {
        add_row(all, "plan", p, 1, time_calls_of(plan, &t));
        add_row(all, "pack", p, 1, time_calls_of(pack, &t));
    }
    trial_free(&t);
    return good;
}

static bool time_call(overheads *all, const problem *p, conv2d_isa isa)
{
    trial t;
    const bool good = trial_make(&t, p, 1, isa);
    if (good)
        add_row(all, "call", p, 1, time_calls_of(runner_run, &t.run));
    trial_free(&t);
    return good;
}

/* How much longer all threads together take than the longest part alone. */
static bool time_hand_off(overheads *all, const problem *p, size_t threads, conv2d_isa isa)
{
    trial t;
    const bool good = trial_make(&t, p, threads, isa);
    if (good) {
        runner_run(&t.run); /* which sets the output that the parts write */
        double longest = 0;
        for (t.part = 0; t.part < threads; t.part++) {
            const double seconds = time_calls_of(run_part, &t).median;
            longest = seconds > longest ? seconds : longest;
        }
        quartiles q = time_calls_of(runner_run, &t.run);
        q = (quartiles){q.min - longest, q.p25 - longest, q.median - longest, q.p75 - longest, q.max - longest};
        add_row(all, "hand-off", p, threads, q);
    }
    trial_free(&t);
    return good;
}

static problem known(const char *text)
{
    problem p;
    scan_error error;
    problem_parse(text, &p, NULL, &error);
    return p;
}

static size_t count_pools(const options *asked)
{
    size_t pools = 0;
    for (size_t i = 0; i < asked->thread_count; i++)
        pools += asked->threads[i] > 1;
    return pools;
}

int overhead_run(options *asked)
{
    const problem usual[] = {known("8x8x8 8x3x3 p1"), known("64x56x56 64x3x3 p1"), known("512x14x14 1024x1x1"),
                             known("256x28x28 256x3x3 p1 g256")};
    const problem smallest = known("1x1x1 1x1x1"), divisible = known("16x28x28 16x3x3 p1");
    const problem *const problems = asked->problems.count ? asked->problems.problems : usual;
    const size_t count = asked->problems.count ? asked->problems.count : sizeof usual / sizeof *usual;
    const conv2d_isa isa = asked->isas[0];
    overheads all = {.text = reports_take_output(asked) ? stderr : stdout};
    if (!row_file_begin(&all.rows, asked))
        return EXIT_WRONG_ARGUMENT;
    fprintf(all.text, "%-8s  %3s  %11s  %11s  %11s  %11s  %s\n", "what", "thr", "median ns", "min", "p25", "p75",
            "problem");
    progress_begin(2 * count + 1 + count_pools(asked));
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = time_problem(&all, &problems[i], isa);
    good = good && time_call(&all, &smallest, isa);
    for (size_t i = 0; i < asked->thread_count && good; i++)
        good = asked->threads[i] == 1 || time_hand_off(&all, &divisible, asked->threads[i], isa);
    progress_clear();
    const row_file_frame frame = {.schema = "convbench-overhead", .rows = "overheads"};
    good = good && row_file_write(&all.rows, &frame);
    row_file_free(&all.rows);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
