/* SPDX-License-Identifier: MIT */
#include "isa_ab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_probe.h"
#include "isa_ab_report.h"
#include "report.h"

/* A burst: some milliseconds, as long as a clock takes to change (0.7 ms on Skylake-X) several times over. */
static const double BURST_SECONDS = 6e-3;

static double median_of(const double *values, size_t count)
{
    double sorted[MOST_PAIRS];
    memcpy(sorted, values, count * sizeof *sorted);
    return quartiles_of(sorted, count).median;
}

/* Makes the runner of an arm; prefer_256 must not undo the choice. */
static bool make_arm(const one_run *run, int which, runner *r)
{
    conv2d_options wanted = library_options(run->asked, ab_isas[which]);
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

static counter_set *count_licences(const counter_host *host, runner *r)
{
    const char *reason;
    counter_set *const set = has_licences(host, &reason) ? calloc(1, sizeof *set) : NULL;
    if (!set)
        return NULL;
    set->host = host;
    counters_add(set, "cycles,licence");
    counters_open(set);
    counters_measure(set, runner_run, r, sample_choose_calls(runner_run, r, 2 * BURST_SECONDS));
    counters_close(set);
    return set;
}

static void measure_row(ab_session *s, const one_run *run, runner runners[ARMS])
{
    ab_row *const row = &s->rows[s->count];
    snprintf(row->problem, sizeof row->problem, "%s", run->problem);
    row->threads = run->threads;
    interference_begin(&row->disturbed);
    const size_t pairs = paired_run(&row->arms[NARROW], &row->arms[WIDE], BURST_SECONDS, run->asked->seconds);
    interference_end(&row->disturbed);
    for (int i = 0; i < ARMS; i++) {
        row->median[i] = median_of(row->arms[i].seconds, pairs);
        row->clock[i] = median_of(row->arms[i].clock, pairs);
        row->kernels[i] = conv2d_kernel_name(&runners[i].plan);
        row->licences[i] = count_licences(&s->host, &runners[i]);
    }
    s->ratios[s->count++] = (ratio_row){.before = row->arms[NARROW].seconds,
                                        .after = row->arms[WIDE].seconds,
                                        .before_count = pairs,
                                        .after_count = pairs,
                                        .paired = true};
    FILE *const file = each_run_text(run);
    fprintf(file, "%-40s  %2zu thr  %s\n", run->problem, run->threads, row->kernels[WIDE]);
    fprintf(file, "%-40s          %s, %zu pairs\n", "", row->kernels[NARROW], pairs);
    fflush(file);
}

/* Whether both arms would run the same kernel; then it is kept as such. */
static bool are_same(ab_session *s, const one_run *run, const runner runners[ARMS])
{
    const char *const kernel = conv2d_kernel_name(&runners[WIDE].plan);
    if (strcmp(kernel, conv2d_kernel_name(&runners[NARROW].plan)) != 0)
        return false;
    ab_same *const same = &s->same[s->same_count++];
    snprintf(same->problem, sizeof same->problem, "%s", run->problem);
    same->threads = run->threads;
    same->kernel = kernel;
    FILE *const file = each_run_text(run);
    fprintf(file, "%-40s  %2zu thr  %s is the library's choice of all: nothing to compare\n", run->problem,
            run->threads, kernel);
    fflush(file);
    return true;
}

static bool ab_visit(const one_run *run, void *context)
{
    ab_session *const s = context;
    runner runners[ARMS];
    bool good = true;
    for (int i = 0; i < ARMS; i++) {
        good = make_arm(run, i, &runners[i]) && good;
        s->rows[s->count].arms[i].runner = &runners[i];
    }
    if (good && !are_same(s, run, runners))
        measure_row(s, run, runners);
    for (int i = 0; i < ARMS; i++)
        runner_free(&runners[i]);
    return good;
}

/* The mean times of both, geometric over the rows. */
static conv2d_record make_record(const ab_session *s)
{
    conv2d_record r;
    memset(&r, 0, sizeof r);
    const int winner = ab_winner(s);
    double sums[ARMS] = {0, 0};
    for (size_t i = 0; i < s->count; i++)
        for (int arm = 0; arm < ARMS; arm++)
            sums[arm] += s->rows[i].median[arm] / (double)s->count;
    snprintf(r.problem, sizeof r.problem, "%s", CONV2D_RECORD_MACHINE);
    snprintf(r.kernel, sizeof r.kernel, "any");
    snprintf(r.cpu, sizeof r.cpu, "%s", conv2d_cpu_name());
    snprintf(r.version, sizeof r.version, "%s", conv2d_version());
    r.isa = ab_isas[winner];
    r.best_ns = (size_t)(1e9 * sums[winner]);
    r.static_ns = (size_t)(1e9 * sums[1 - winner]);
    return r;
}

static bool save(FILE *file, const ab_session *s)
{
    options *const asked = s->asked;
    if (s->mean.verdict == RATIO_SAME) {
        fprintf(file, "%s is not written: there is no difference to keep\n", asked->records_out);
        return true;
    }
    const conv2d_record r = make_record(s);
    record_list *const list = &asked->records;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->records[i].problem, r.problem) == 0 && strcmp(list->records[i].cpu, r.cpu) == 0)
            list->records[i--] = list->records[--list->count];
    return records_add(list, &r) && records_write(list, asked->records_out);
}

static bool conclude(FILE *text, row_file *rows, void *context)
{
    ab_session *const s = context;
    const ratio_rules rules = {.threshold = AB_THRESHOLD, .noise = 0, .confidence = 0.95};
    if (s->count && !ratios_compare(s->ratios, s->count, &rules, &s->mean))
        return false;
    s->wide_fmas = wide_fma_probe();
    print_ab(text, s);
    for (size_t i = 0; i < s->count; i++) {
        json *const j = row_file_next(rows);
        if (j)
            json_ab_row(j, &s->rows[i], &s->ratios[i]);
    }
    return !s->asked->records_out || save(text, s);
}

int isa_ab_run(options *asked)
{
    if (conv2d_cpu_isa() < CONV2D_ISA_AVX512) {
        fprintf(stderr, "convbench: no avx512 here: this CPU, or CONV2D_ISA in the environment, allows %s\n",
                conv2d_isa_name(conv2d_cpu_isa()));
        return EXIT_WRONG_ARGUMENT;
    }
    const size_t most = asked->problems.count * asked->thread_count;
    ab_session s = {.asked = asked,
                    .host = counter_host_find(),
                    .rows = calloc(most, sizeof *s.rows),
                    .ratios = calloc(most, sizeof *s.ratios),
                    .same = calloc(most, sizeof *s.same),
                    .mean = {.ratio = 1}};
    asked->isas[0] = CONV2D_ISA_ANY;
    asked->isa_count = 1;
    const look arms = {.schema = "convbench-isa-ab", .visit = ab_visit, .finish = conclude, .add = json_ab_conclusion};
    const int code = s.rows && s.ratios && s.same ? each_run(asked, &arms, &s) : EXIT_WRONG_RESULT;
    for (size_t i = 0; i < s.count * ARMS; i++)
        free(s.rows[i / ARMS].licences[i % ARMS]);
    free(s.rows);
    free(s.ratios);
    free(s.same);
    return code;
}
