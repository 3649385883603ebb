/* SPDX-License-Identifier: MIT */
#include "repeatability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "each_run.h"
#include "interference.h"
#include "paired.h"
#include "progress.h"
#include "ratio.h"
#include "sample.h"

enum { TRIALS = 20 };
static const double BURST_SECONDS = 2e-3;

/* What trials of nothing against itself found. */
typedef struct trial_results {
    double ratios[TRIALS], reaches[TRIALS]; /* a reach: from the ratio to the end of its interval, as a share */
    size_t pairs, claims;                   /* pairs of bursts of a trial; trials that claimed a difference */
} trial_results;

/* One trial: the same problem planned and packed twice, so that also where memory lies differs. */
static bool run_trial(const one_run *run, size_t number, trial_results *all)
{
    const conv2d_options wanted = library_options(run->asked, run->isa);
    static paired_arm first, second; /* too large for the stack */
    runner a, b;
    const bool good_a = runner_make(&a, run->load, run->threads, &wanted) == CONV2D_OK;
    const bool good_b = runner_make(&b, run->load, run->threads, &wanted) == CONV2D_OK;
    if (good_a && good_b) {
        first.runner = &a;
        second.runner = &b;
        all->pairs = paired_run(&first, &second, BURST_SECONDS, run->asked->seconds);
        ratio_row row = {.before = first.seconds,
                         .after = second.seconds,
                         .before_count = all->pairs,
                         .after_count = all->pairs,
                         .paired = true};
        ratio_row mean = row;
        const ratio_rules rules = {.threshold = 0, .noise = 0, .confidence = 0.95};
        if (ratios_compare(&row, 1, &rules, &mean)) {
            all->ratios[number] = row.ratio;
            all->reaches[number] = row.high / row.ratio - 1;
            all->claims += row.verdict != RATIO_SAME;
        }
    }
    runner_free(&a);
    runner_free(&b);
    return good_a && good_b;
}

/* What the trials say together. */
typedef struct verdict {
    double typical, resolved; /* the median size of the ratios, and what 95 % of them stay below, as shares */
    double reach;             /* median of the trials' own intervals */
} verdict;

/* Sorts the ratios. */
static verdict judge(trial_results *all)
{
    double sizes[TRIALS];
    for (size_t i = 0; i < TRIALS; i++)
        sizes[i] = fabs(log(all->ratios[i]));
    sort_values(sizes, TRIALS);
    sort_values(all->ratios, TRIALS);
    return (verdict){.typical = exp(quantile_of_sorted(sizes, TRIALS, 0.5)) - 1,
                     .resolved = exp(quantile_of_sorted(sizes, TRIALS, 0.95)) - 1,
                     .reach = quartiles_of(all->reaches, TRIALS).median};
}

static void print_results(FILE *file, const one_run *run, const trial_results *all, const verdict *found,
                          const interference *disturbed)
{
    char words[200];
    interference_describe(disturbed, words, sizeof words);
    fprintf(file, "%s%s  %s, %zu thread%s\n", run->first ? "" : "\n", run->problem,
            conv2d_kernel_name(&run->runner->plan), run->threads, run->threads == 1 ? "" : "s");
    fprintf(file, "  %d times compared with itself, each time for %.2g s in %zu pairs of bursts\n", TRIALS,
            run->asked->seconds, all->pairs);
    fprintf(file, "  ratios %.4f to %.4f, the middle 90 %% of them %.4f to %.4f; typically off by %.2f %%\n",
            all->ratios[0], all->ratios[TRIALS - 1], quantile_of_sorted(all->ratios, TRIALS, 0.05),
            quantile_of_sorted(all->ratios, TRIALS, 0.95), 100 * found->typical);
    fprintf(file, "  a trial's own interval was +-%.2f %%; %zu of %d trials claimed a difference\n", 100 * found->reach,
            all->claims, TRIALS);
    fprintf(file, "  so in %.2g s this machine can resolve %.1f %% now\n", run->asked->seconds, 100 * found->resolved);
    if (interference_kinds(disturbed))
        fprintf(file, "  disturbed: %s\n", words);
    fflush(file);
}

static void add_row(json *j, const one_run *run, const trial_results *all, const verdict *found,
                    const interference *disturbed)
{
    json_number(j, "seconds_of_a_trial", run->asked->seconds);
    json_number(j, "pairs", (double)all->pairs);
    json_numbers(j, "ratios", all->ratios, TRIALS);
    json_number(j, "typical_share", found->typical);
    json_number(j, "interval_share", found->reach);
    json_number(j, "claims", (double)all->claims);
    json_number(j, "resolved_share", found->resolved);
    json_disturbed(j, disturbed);
    json_close(j, '}');
}

static bool repeatability_visit(const one_run *run, void *context)
{
    (void)context;
    trial_results all = {.pairs = 0};
    interference disturbed = {.seconds = 0};
    bool good = true;
    for (size_t i = 0; i < TRIALS && good; i++) {
        interference_begin(&disturbed);
        good = run_trial(run, i, &all);
        interference_end(&disturbed);
        progress_step();
        progress_show(run->problem);
    }
    if (!good) {
        complain_of(run->problem, "there is no memory to run it twice");
        return false;
    }
    const verdict found = judge(&all);
    print_results(each_run_text(run), run, &all, &found, &disturbed);
    json *const j = each_run_row(run);
    if (j)
        add_row(j, run, &all, &found, &disturbed);
    return true;
}

int repeatability_run(options *asked)
{
    const look trials = {.schema = "convbench-repeatability", .steps = TRIALS, .visit = repeatability_visit};
    return each_run(asked, &trials, NULL);
}
