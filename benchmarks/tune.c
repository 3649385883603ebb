/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d_tune.h"
#include "progress.h"
#include "workload.h"

/* The library's choice counts as good if it takes at most so much longer than the best found. */
static const double GOOD_RATIO = 1.03;
enum { WORST_ROWS = 10, NAME_WIDTH = 42 };

/* A record with what convbench says of it. */
typedef struct tuned {
    conv2d_record record;
    char problem[PROBLEM_TEXT_SIZE], choice[CONV2D_RECORD_KERNEL_SIZE];
} tuned;

typedef struct tuned_list {
    tuned *rows;
    size_t count;
} tuned_list;

static double ratio_of(const tuned *row)
{
    return row->record.best_ns ? (double)row->record.static_ns / (double)row->record.best_ns : 1;
}

static void print_row(const tuned *row)
{
    const conv2d_record *const r = &row->record;
    printf("%6.3f  %11.3f  %11.3f  %-7s  %-*s  ", ratio_of(row), 1e-3 * (double)r->static_ns, 1e-3 * (double)r->best_ns,
           conv2d_isa_name(r->isa), NAME_WIDTH, row->choice);
    /* The best only as far as it is another. */
    char best[256];
    int length = snprintf(best, sizeof best, "%s", strcmp(r->kernel, row->choice) ? r->kernel : "");
    for (size_t knob = 0; knob < CONV2D_KNOBS && length < (int)sizeof best; knob++)
        if (r->knobs[knob])
            length += snprintf(best + length, sizeof best - (size_t)length, "%s%s=%zu", length ? " " : "",
                               conv2d_knob_name((conv2d_knob)knob), r->knobs[knob]);
    printf("%-*s  %s\n", NAME_WIDTH, best, row->problem);
    fflush(stdout);
}

static void print_titles(void)
{
    printf("%6s  %11s  %11s  %-7s  %-*s  %-*s  problem\n", "ratio", "static us", "best us", "isa", NAME_WIDTH,
           "static choice", NAME_WIDTH, "the best, where another");
}

static int worst_first(const void *a, const void *b)
{
    const double x = ratio_of(a), y = ratio_of(b);
    return (x < y) - (x > y);
}

static void print_summary(tuned_list *list)
{
    double logarithms = 0;
    size_t good = 0;
    for (size_t i = 0; i < list->count; i++) {
        logarithms += log(ratio_of(&list->rows[i]));
        good += ratio_of(&list->rows[i]) <= GOOD_RATIO;
    }
    if (!list->count)
        return;
    const double count = (double)list->count;
    printf("\n%zu static choices: geometric mean %.4f of the time of the best found; %zu (%.1f %%) within %.0f %%\n",
           list->count, exp(logarithms / count), good, 100 * (double)good / count, 100 * (GOOD_RATIO - 1));
    qsort(list->rows, list->count, sizeof *list->rows, worst_first);
    printf("the worst:\n");
    print_titles();
    for (size_t i = 0; i < list->count && i < WORST_ROWS; i++)
        print_row(&list->rows[i]);
}

static bool complain(const char *name, const char *message)
{
    progress_clear();
    fprintf(stderr, "convbench: %s: %s\n", name, message);
    return false;
}

static bool tune_problem(const options *asked, const problem *p, conv2d_isa isa, tuned *row)
{
    memset(row, 0, sizeof *row);
    problem_format(p, row->problem, sizeof row->problem);
    progress_show(row->problem);
    const float any = 0; /* what counts is whether there is a bias, and a residual */
    workload load;
    char message[200];
    workload_plan(&load, p, 0);
    load.desc.bias = p->with_bias ? &any : NULL;
    load.desc.residual = p->with_residual ? &any : NULL;
    if (!workload_fits(&load, message, sizeof message))
        return complain(row->problem, message);
    const conv2d_options bounds = {.isa = isa, .kernel = asked->kernel};
    conv2d_plan plan;
    conv2d_status status = conv2d_plan_init(&plan, &load.desc, &bounds);
    if (status == CONV2D_OK) {
        snprintf(row->choice, sizeof row->choice, "%s", conv2d_kernel_name(&plan));
        status = conv2d_tune(&load.desc, &bounds, asked->seconds, &row->record);
    }
    return status == CONV2D_OK || complain(row->problem, conv2d_status_string(status));
}

static bool keep_records(const tuned_list *list, const char *path)
{
    record_list records = {.count = 0};
    bool good = true;
    for (size_t i = 0; good && i < list->count; i++)
        good = records_add(&records, &list->rows[i].record);
    good = good && records_write(&records, path);
    records_free(&records);
    return good;
}

int tune_run(options *asked)
{
    if (!options_drop_missing_isas(asked))
        return EXIT_WRONG_ARGUMENT;
    tuned_list list = {.rows = calloc(asked->problems.count * asked->isa_count, sizeof *list.rows)};
    bool good = list.rows != NULL || complain("--tune", "no memory for so many problems");
    printf("%s; libconv2d %s\n", conv2d_cpu_name(), conv2d_version());
    print_titles();
    progress_begin(asked->problems.count * asked->isa_count);
    for (size_t i = 0; list.rows && i < asked->problems.count * asked->isa_count; i++) {
        tuned *const row = &list.rows[list.count];
        if (tune_problem(asked, &asked->problems.problems[i / asked->isa_count], asked->isas[i % asked->isa_count],
                         row)) {
            progress_clear();
            print_row(row);
            list.count++;
        } else {
            good = false;
        }
        progress_step();
    }
    print_summary(&list);
    if (asked->records_out && list.rows) /* else a file of before would lose its records */
        good = keep_records(&list, asked->records_out) && good;
    free(list.rows);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
