/* SPDX-License-Identifier: MIT */
/* benchmarks/ratio.h on times whose distribution is known: what was planted is found, and chance is not. */
#include <math.h>

#include "ratio.h"
#include "support.h"

static void expect_near(double found, double expected, double share)
{
    cr_expect(fabs(found - expected) <= share * fabs(expected), "%.10g, not %.10g", found, expected);
}

/* From tables of the distribution. */
Test(ratio, student)
{
    static const struct {
        double probability;
        size_t freedom;
        double quantile;
    } rows[] = {{0.025, 1, 12.7062047}, {0.025, 2, 4.30265273},  {0.025, 3, 3.18244631},  {0.025, 4, 2.77644511},
                {0.025, 8, 2.30600414}, {0.005, 5, 4.03214298},  {0.005, 10, 3.16927267}, {0.0005, 6, 5.95881618},
                {0.1, 7, 1.41492393},   {0.025, 100, 1.98397152}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_near(student_quantile(rows[i].probability, rows[i].freedom), rows[i].quantile, 1e-7);
    cr_expect_gt(student_quantile(0.025, 100000), 1.9599);
    cr_expect_lt(student_quantile(0.025, 100000), 1.97);
}

static const ratio_rules usual_rules = {.threshold = 0.01, .noise = 0.004, .confidence = 0.95};

/* Parts that differ by powers of e; they count half. */
Test(ratio, by_hand)
{
    const double e = exp(1);
    const double before[] = {1, e, 1 / e, e * e, 1 / (e * e)}, after[] = {2, 2 * e, 2 / e, 2 * e * e, 2 / (e * e)};
    ratio_row row = {.before = before, .after = after, .before_count = 5, .after_count = 5, .one_process = true}, mean;
    const ratio_rules rules = {.threshold = 0.01, .noise = 0.1, .confidence = 0.9};
    cr_assert(ratios_compare(&row, 1, &rules, &mean));
    /* Deviations 0, 1, 1, 2, 2: their median is 1.  Two intervals: 0.025 on each side. */
    const double deviation = 1.4826 * 1.206, variance = 2 * 2 * deviation * deviation * 1.857 / 5;
    const double quantile = 2.30600414, noise_quantile = student_quantile(0.025, 100000);
    const double reach = sqrt(quantile * quantile * variance + noise_quantile * noise_quantile * 2 * 0.1 * 0.1);
    expect_near(row.ratio, 2, 1e-12);
    expect_near(row.low, 2 * exp(-reach), 1e-7);
    expect_near(row.high, 2 * exp(reach), 1e-7);
    cr_expect_eq(row.verdict, RATIO_SAME);
    expect_near(mean.ratio, 2, 1e-12);
    expect_near(mean.low, row.low, 1e-12);
}

/* Pairs whose sides vary wildly, but together: only the pairing can see the 3 %. */
Test(ratio, pairs_cancel_what_they_share)
{
    static const double before[] = {1, 1.9, 0.7, 3, 1.4, 2.2}, jitter[] = {1.001, 0.999, 1, 1.002, 0.998, 1.0005};
    double after[COUNT_OF(before)];
    for (size_t i = 0; i < COUNT_OF(before); i++)
        after[i] = 1.03 * before[i] * jitter[i];
    ratio_row row = {.before = before, .after = after, .before_count = 6, .after_count = 6, .paired = true}, mean;
    cr_assert(ratios_compare(&row, 1, &usual_rules, &mean));
    cr_expect_eq(row.verdict, RATIO_SLOWER);
    expect_near(row.ratio, 1.03, 0.002);
    cr_expect(row.low > 1.02 && row.high < 1.04, "%g to %g", row.low, row.high);
    row.paired = false;
    cr_assert(ratios_compare(&row, 1, &usual_rules, &mean));
    cr_expect_eq(row.verdict, RATIO_SAME);
}

/* Without parts to compare, and a change by less than the noise of processes, nothing is claimed. */
Test(ratio, single_parts)
{
    const double before = 1, after = 1.01, far = 1.05;
    ratio_row rows[] = {{.before = &before, .after = &after, .before_count = 1, .after_count = 1, .one_process = true},
                        {.before = &before, .after = &far, .before_count = 1, .after_count = 1, .one_process = true},
                        {.before = &far, .after = &before, .before_count = 1, .after_count = 1, .one_process = true}};
    ratio_row mean;
    cr_assert(ratios_compare(rows, COUNT_OF(rows), &usual_rules, &mean));
    cr_expect_eq(rows[0].verdict, RATIO_SAME);
    cr_expect_eq(rows[1].verdict, RATIO_SLOWER);
    cr_expect_eq(rows[2].verdict, RATIO_FASTER);
    cr_expect_not(ratios_compare(rows, 0, &usual_rules, &mean));
}

/* A machine: deviations in shares, and how often a neighbour slows a part down by up to 20 %. */
typedef struct machine {
    const char *name;
    size_t problems, parts;
    double part_deviation, process_deviation, disturbed;
    bool paired;
} machine;

static const machine machines[] = {
    {"quiet", 11, 5, 0.002, 0.001, 0, false},
    {"one problem", 1, 5, 0.003, 0.002, 0, false},
    {"noisy", 11, 5, 0.006, 0.003, 0.1, false},
    {"long", 11, 10, 0.01, 0.003, 0.1, false},
    {"many problems", 300, 5, 0.004, 0.003, 0.1, false},
    {"in turns", 11, 7, 0.005, 0.005, 0.1, true},
};

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 2685821657736338717u;
}

static double uniform(uint64_t *state)
{
    return ((double)(draw(state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

enum { MOST_PROBLEMS = 300, MOST_PARTS = 10 };

static void measure(const machine *m, double seconds, double *parts, uint64_t *state)
{
    const double process = m->process_deviation * normal(state);
    for (size_t i = 0; i < m->parts; i++) {
        /* Parts that take turns are processes of their own. */
        parts[i] = seconds * exp((m->paired ? m->process_deviation * normal(state) : process) +
                                 m->part_deviation * normal(state));
        if (uniform(state) < m->disturbed)
            parts[i] *= 1 + 0.2 * uniform(state);
    }
}

typedef struct outcome {
    bool slower, faster, planted_found; /* anything; the row that was made slower */
} outcome;

/* Two runs, of which the second is slower by a factor in the first problem (all: in every one). */
static outcome compare_runs(const machine *m, double factor, bool all, uint64_t seed)
{
    static double before[MOST_PROBLEMS][MOST_PARTS], after[MOST_PROBLEMS][MOST_PARTS];
    ratio_row rows[MOST_PROBLEMS], mean;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 10; i++)
        draw(&state);
    for (size_t i = 0; i < m->problems; i++) {
        const double seconds = 1e-4 * exp(5 * uniform(&state));
        measure(m, seconds, before[i], &state);
        measure(m, seconds * (i == 0 || all ? factor : 1), after[i], &state);
        rows[i] = (ratio_row){before[i], after[i], m->parts, m->parts, .paired = m->paired, .one_process = !m->paired};
    }
    cr_assert(ratios_compare(rows, m->problems, &usual_rules, &mean));
    outcome o = {mean.verdict == RATIO_SLOWER, mean.verdict == RATIO_FASTER, rows[0].verdict == RATIO_SLOWER};
    for (size_t i = 0; i < m->problems; i++) {
        o.slower |= rows[i].verdict == RATIO_SLOWER;
        o.faster |= rows[i].verdict == RATIO_FASTER;
    }
    return o;
}

enum { TRIALS = 20, MANY_TRIALS = 500 };

/* Two runs of the same program: no verdict in at least 19 of 20 trials, and in 95 % of many. */
Test(ratio, quiet_without_a_change)
{
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        size_t quiet = 0, of_first = 0;
        for (uint64_t trial = 0; trial < MANY_TRIALS; trial++) {
            const outcome o = compare_runs(&machines[i], 1, false, trial + 1);
            quiet += !o.slower && !o.faster;
            of_first += trial < TRIALS && !o.slower && !o.faster;
        }
        cr_expect_geq(of_first, 19, "%s: quiet in %zu of %d trials", machines[i].name, of_first, TRIALS);
        cr_expect_geq(quiet, MANY_TRIALS * 95 / 100, "%s: quiet in %zu of %d", machines[i].name, quiet, MANY_TRIALS);
    }
}

/* All problems 3 % slower: found in at least 19 of 20 trials, in the mean where in no single one. */
Test(ratio, finds_a_slower_program)
{
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        size_t found = 0, wrong = 0;
        for (uint64_t trial = 0; trial < MANY_TRIALS; trial++) {
            const outcome o = compare_runs(&machines[i], 1.03, true, trial + 1);
            found += o.slower;
            wrong += o.faster;
        }
        cr_expect_geq(found, MANY_TRIALS * 95 / 100, "%s: found in %zu of %d", machines[i].name, found, MANY_TRIALS);
        cr_expect_leq(wrong, MANY_TRIALS / 100, "%s: faster in %zu", machines[i].name, wrong);
    }
}

/* One problem of several that is 3 % slower: found where the machine is quiet enough, and named. */
Test(ratio, finds_a_slower_problem)
{
    static const size_t quiet_enough[] = {0, 1};
    for (size_t i = 0; i < COUNT_OF(quiet_enough); i++) {
        const machine *const m = &machines[quiet_enough[i]];
        size_t found = 0;
        for (uint64_t trial = 0; trial < MANY_TRIALS; trial++)
            found += compare_runs(m, 1.03, false, trial + 1).planted_found;
        cr_expect_geq(found, MANY_TRIALS * 95 / 100, "%s: found in %zu of %d", m->name, found, MANY_TRIALS);
    }
}
