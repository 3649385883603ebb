/* SPDX-License-Identifier: MIT */
#include "isa_ab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_probe.h"
#include "count_calls.h"
#include "each_run.h"
#include "interference.h"
#include "paired.h"
#include "ratio.h"
#include "report.h"

/* A burst: some milliseconds, as long as a clock takes to change (0.7 ms on Skylake-X) several times over. */
static const double BURST_SECONDS = 6e-3;
/* What the clock must not differ by, and the times must, to be worth a word. */
static const double THRESHOLD = 0.01;

/* The two arms, and what was found of each run. */
enum { NARROW, WIDE, ARMS };
static const conv2d_isa arm_isas[ARMS] = {CONV2D_ISA_AVX2, CONV2D_ISA_AVX512};

typedef struct ab_row {
    char problem[PROBLEM_TEXT_SIZE];
    size_t threads;
    paired_arm arms[ARMS];
    double median[ARMS], clock[ARMS];
    interference disturbed;
} ab_row;

typedef struct ab_session {
    ab_row *rows;
    ratio_row *ratios;
    size_t count;
} ab_session;

static double median_of(const double *values, size_t count)
{
    double sorted[MOST_PAIRS];
    memcpy(sorted, values, count * sizeof *sorted);
    return quartiles_of(sorted, count).median;
}

/* Makes the runner of an arm; prefer_256 must not undo the choice. */
static bool make_arm(const one_run *run, int which, runner *r)
{
    conv2d_options wanted = library_options(run->asked, arm_isas[which]);
    wanted.prefer_256 = -1;
    wanted.records = NULL;
    wanted.record_count = 0;
    const conv2d_status status = runner_make(r, run->load, run->threads, &wanted);
    if (status != CONV2D_OK) {
        char message[1000];
        runner_explain(r, status, message, sizeof message);
        complain_of(run->problem, message);
    }
    return status == CONV2D_OK;
}

static bool ab_visit(const one_run *run, void *context)
{
    ab_session *const s = context;
    ab_row *const row = &s->rows[s->count];
    runner runners[ARMS];
    bool good = true;
    snprintf(row->problem, sizeof row->problem, "%s", run->problem);
    row->threads = run->threads;
    for (int i = 0; i < ARMS; i++) {
        good = make_arm(run, i, &runners[i]) && good;
        row->arms[i].runner = &runners[i];
    }
    if (good) {
        interference_begin(&row->disturbed);
        const size_t pairs = paired_run(&row->arms[NARROW], &row->arms[WIDE], BURST_SECONDS, run->asked->seconds);
        interference_end(&row->disturbed);
        for (int i = 0; i < ARMS; i++) {
            row->median[i] = median_of(row->arms[i].seconds, pairs);
            row->clock[i] = median_of(row->arms[i].clock, pairs);
        }
        s->ratios[s->count++] = (ratio_row){.before = row->arms[NARROW].seconds,
                                            .after = row->arms[WIDE].seconds,
                                            .before_count = pairs,
                                            .after_count = pairs,
                                            .paired = true};
        printf("%-40s  %2zu thr  %s\n", run->problem, run->threads, conv2d_kernel_name(&runners[WIDE].plan));
        printf("%-40s          %s, %zu pairs\n", "", conv2d_kernel_name(&runners[NARROW].plan), pairs);
        fflush(stdout);
    }
    for (int i = 0; i < ARMS; i++)
        runner_free(&runners[i]);
    return good;
}

static void print_row(const ab_row *row, const ratio_row *ratio)
{
    char narrow[CELL_SIZE], wide[CELL_SIZE], words[200];
    format_seconds(narrow, row->median[NARROW]);
    format_seconds(wide, row->median[WIDE]);
    interference_describe(&row->disturbed, words, sizeof words);
    printf("%-40s  %9s  %9.3f  %9s  %9.3f  %6.3f  %.3f-%.3f  %s\n", row->problem, narrow, row->clock[NARROW] * 1e-9,
           wide, row->clock[WIDE] * 1e-9, ratio->ratio, ratio->low, ratio->high, words);
}

/* How AVX-512 changes the clock: the median of the rows. */
static double clock_change(const ab_session *s)
{
    double *const changes = malloc(s->count * sizeof *changes);
    double change = 1;
    for (size_t i = 0; changes && i < s->count; i++)
        changes[i] = s->rows[i].clock[NARROW] > 0 ? s->rows[i].clock[WIDE] / s->rows[i].clock[NARROW] : 1;
    if (changes)
        change = quartiles_of(changes, s->count).median;
    free(changes);
    return change;
}

static void print_clock(const ab_session *s)
{
    const double change = clock_change(s);
    if (s->rows[0].clock[NARROW] == 0)
        printf("the core's clock cannot be probed on this CPU\n");
    else if (change < 1 - THRESHOLD)
        printf("after AVX-512 the clock is %.1f %% lower than after AVX2\n", 100 * (1 - change));
    else
        printf("the clock is the same after AVX-512 and after AVX2 (by %.1f %%)\n", 100 * (change - 1));
}

static void print_units(double per_cycle)
{
    printf("512-bit multiply-adds begun in a cycle: %.2f, so this core %s\n", per_cycle,
           per_cycle > 1.5 ? "does two: twice the peak of AVX2"
                           : "does one: the peak of AVX2 with half the instructions");
}

/* Cycles under each turbo licence in calls of the wide arm, where the CPU counts them. */
static bool licence_visit(const one_run *run, void *context)
{
    const counter_host *const host = context;
    counter_set *const set = calloc(1, sizeof *set);
    if (!set)
        return false;
    set->host = host;
    counters_add(set, "cycles,licence");
    counters_open(set);
    counters_measure(set, runner_run, run->runner, sample_choose_calls(runner_run, run->runner, 2 * BURST_SECONDS));
    printf("  %s, %s:", run->problem, conv2d_isa_name(run->isa));
    for (size_t i = 0; i < set->count; i++)
        if (set->counters[i].counted)
            printf(" %s %.0f", set->counters[i].name, set->counters[i].value);
    printf("\n");
    print_missing(stdout, set);
    counters_close(set);
    free(set);
    return true;
}

static void print_licences(options *asked)
{
    const counter_host host = counter_host_find();
    if (!find_event_group(host.table, "licence", sizeof "licence" - 1)) {
        printf("licence events: none on this CPU (%s)\n", host.table ? host.table->cpu : "unknown");
        return;
    }
    if (!host.has_pmu) {
        printf("licence events: no PMU%s\n", host.cpu.is_virtual ? " in this virtual machine" : "");
        return;
    }
    printf("cycles of a call under each licence:\n");
    options both = *asked;
    both.isa_count = ARMS;
    memcpy(both.isas, arm_isas, sizeof arm_isas);
    each_run(&both, 0, licence_visit, (void *)&host);
}

/* The mean times of both, geometric over the rows. */
static conv2d_record make_record(const ab_session *s, const ratio_row *mean)
{
    conv2d_record r;
    memset(&r, 0, sizeof r);
    const int winner = mean->verdict == RATIO_SLOWER ? NARROW : WIDE;
    double sums[ARMS] = {0, 0};
    for (size_t i = 0; i < s->count; i++)
        for (int arm = 0; arm < ARMS; arm++)
            sums[arm] += s->rows[i].median[arm] / (double)s->count;
    snprintf(r.problem, sizeof r.problem, "%s", CONV2D_RECORD_MACHINE);
    snprintf(r.kernel, sizeof r.kernel, "any");
    snprintf(r.cpu, sizeof r.cpu, "%s", conv2d_cpu_name());
    snprintf(r.version, sizeof r.version, "%s", conv2d_version());
    r.isa = arm_isas[winner];
    r.best_ns = (size_t)(1e9 * sums[winner]);
    r.static_ns = (size_t)(1e9 * sums[1 - winner]);
    return r;
}

static bool save(options *asked, const ab_session *s, const ratio_row *mean)
{
    if (mean->verdict == RATIO_SAME) {
        printf("%s is not written: there is no difference to keep\n", asked->records_out);
        return true;
    }
    const conv2d_record r = make_record(s, mean);
    record_list *const list = &asked->records;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->records[i].problem, r.problem) == 0 && strcmp(list->records[i].cpu, r.cpu) == 0)
            list->records[i--] = list->records[--list->count];
    return records_add(list, &r) && records_write(list, asked->records_out);
}

static bool conclude(options *asked, ab_session *s)
{
    ratio_row mean = {.ratio = 1};
    const ratio_rules rules = {.threshold = THRESHOLD, .noise = 0, .confidence = 0.95};
    if (!ratios_compare(s->ratios, s->count, &rules, &mean))
        return false;
    printf("\n%-40s  %9s  %9s  %9s  %9s  %6s  %-11s  %s\n", "problem", "avx2", "GHz after", "avx512", "GHz after",
           "ratio", "interval", "disturbed");
    for (size_t i = 0; i < s->count; i++)
        print_row(&s->rows[i], &s->ratios[i]);
    printf("\navx512 takes %.3f of avx2's time, mean of %zu (%.3f-%.3f with 95 %% confidence)\n", mean.ratio, s->count,
           mean.low, mean.high);
    print_clock(s);
    print_units(wide_fma_probe());
    print_licences(asked);
    if (mean.verdict == RATIO_SAME)
        printf("decision: none, the difference is less than %.0f %% or chance\n", 100 * THRESHOLD);
    else
        printf("decision: %s, by %.1f %%\n", mean.verdict == RATIO_SLOWER ? "avx2 (prefer_256 = 1)" : "avx512",
               100 * (mean.verdict == RATIO_SLOWER ? mean.ratio - 1 : 1 / mean.ratio - 1));
    return !asked->records_out || save(asked, s, &mean);
}

int isa_ab_run(options *asked)
{
    if (conv2d_cpu_isa() < CONV2D_ISA_AVX512) {
        fprintf(stderr, "convbench: no avx512 here: this CPU, or CONV2D_ISA in the environment, allows %s\n",
                conv2d_isa_name(conv2d_cpu_isa()));
        return EXIT_WRONG_ARGUMENT;
    }
    const size_t most = asked->problems.count * asked->thread_count;
    ab_session s = {.rows = calloc(most, sizeof *s.rows), .ratios = calloc(most, sizeof *s.ratios)};
    asked->isas[0] = CONV2D_ISA_ANY;
    asked->isa_count = 1;
    int code = s.rows && s.ratios ? each_run(asked, 0, ab_visit, &s) : EXIT_WRONG_RESULT;
    if (s.count && !conclude(asked, &s))
        code = EXIT_WRONG_RESULT;
    free(s.rows);
    free(s.ratios);
    return code;
}
