/* SPDX-License-Identifier: MIT */
#include "repeatability.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "each_run.h"
#include "interference.h"
#include "paired.h"
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
static bool run_trial(const one_run *run, size_t number, trial_results *results)
{
    const conv2d_options wanted = library_options(run->asked, run->isa);
    static paired_arm first, second; /* too large for the stack */
    runner a, b;
    const bool good_a = runner_make(&a, run->load, run->threads, &wanted) == CONV2D_OK;
    const bool good_b = runner_make(&b, run->load, run->threads, &wanted) == CONV2D_OK;
    if (good_a && good_b) {
        first.runner = &a;
        second.runner = &b;
        results->pairs = paired_run(&first, &second, BURST_SECONDS, run->asked->seconds);
        ratio_row row = {.before = first.seconds,
                         .after = second.seconds,
                         .before_count = results->pairs,
                         .after_count = results->pairs,
                         .paired = true};
        ratio_row mean = row;
        const ratio_rules rules = {.threshold = 0, .noise = 0, .confidence = 0.95};
        if (ratios_compare(&row, 1, &rules, &mean)) {
            results->ratios[number] = row.ratio;
            results->reaches[number] = row.high / row.ratio - 1;
            results->claims += row.verdict != RATIO_SAME;
        }
    }
    runner_free(&a);
    runner_free(&b);
    return good_a && good_b;
}

static void print_results(const one_run *run, trial_results *results, const interference *disturbed)
{
    double sizes[TRIALS];
    char words[200];
    for (size_t i = 0; i < TRIALS; i++)
        sizes[i] = fabs(log(results->ratios[i]));
    sort_values(sizes, TRIALS);
    sort_values(results->ratios, TRIALS);
    const double typical = exp(quantile_of_sorted(sizes, TRIALS, 0.5)) - 1,
                 resolved = exp(quantile_of_sorted(sizes, TRIALS, 0.95)) - 1;
    interference_describe(disturbed, words, sizeof words);
    printf("%s%s  %s, %zu thread%s\n", run->first ? "" : "\n", run->problem, conv2d_kernel_name(&run->runner->plan),
           run->threads, run->threads == 1 ? "" : "s");
    printf("  %d times compared with itself, each time for %.2g s in %zu pairs of bursts\n", TRIALS,
           run->asked->seconds, results->pairs);
    printf("  ratios %.4f to %.4f, the middle 90 %% of them %.4f to %.4f; typically off by %.2f %%\n",
           results->ratios[0], results->ratios[TRIALS - 1], quantile_of_sorted(results->ratios, TRIALS, 0.05),
           quantile_of_sorted(results->ratios, TRIALS, 0.95), 100 * typical);
    printf("  a trial's own interval was +-%.2f %%; %zu of %d trials claimed a difference\n",
           100 * quartiles_of(results->reaches, TRIALS).median, results->claims, TRIALS);
    printf("  so in %.2g s this machine can resolve %.1f %% now\n", run->asked->seconds, 100 * resolved);
    if (interference_kinds(disturbed))
        printf("  disturbed: %s\n", words);
    fflush(stdout);
}

static bool repeatability_visit(const one_run *run, void *context)
{
    (void)context;
    trial_results results = {.pairs = 0};
    interference disturbed = {.seconds = 0};
    bool good = true;
    for (size_t i = 0; i < TRIALS && good; i++) {
        interference_begin(&disturbed);
        good = run_trial(run, i, &results);
        interference_end(&disturbed);
    }
    if (good)
        print_results(run, &results, &disturbed);
    else
        complain_of(run->problem, "there is no memory to run it twice");
    return good;
}

int repeatability_run(options *asked)
{
    return each_run(asked, 0, repeatability_visit, NULL);
}
