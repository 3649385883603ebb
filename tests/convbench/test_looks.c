/* SPDX-License-Identifier: MIT */
/* benchmarks/signed_rank.h and looks.h: exact where tables say what is right, not fooled by looking several times. */
#include <math.h>
#include <stdint.h>

#include "looks.h"
#include "signed_rank.h"
#include "support.h"

/* From tables of the signed-rank test: the largest sum that is significant; one less than what is outside. */
Test(looks, tables)
{
    static const struct {
        size_t count;
        double probability;
        size_t largest_sum;
    } rows[] = {{6, 0.025, 0},    {8, 0.05, 5},     {10, 0.025, 8},   {12, 0.025, 13}, {12, 0.005, 7},
                {20, 0.025, 52},  {20, 0.005, 37},  {25, 0.025, 89},  {25, 0.005, 68}, {30, 0.025, 137},
                {30, 0.005, 109}, {50, 0.025, 434}, {50, 0.005, 373}, {50, 0.05, 466}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const size_t outside = signed_rank_outside(rows[i].count, rows[i].probability);
        cr_expect_eq(outside, rows[i].largest_sum + 1, "%zu differences, %g: %zu", rows[i].count, rows[i].probability,
                     outside);
    }
    cr_expect_eq(signed_rank_outside(5, 0.025), 0);
    cr_expect_eq(signed_rank_fewest(0.025), 6);
    cr_expect_eq(signed_rank_fewest(0.005), 8);
    cr_expect_eq(signed_rank_fewest(0.0625), 4);
}

/* Means of two of 4, 1 and 2: 1, 1.5, 2, 2.5, 3, 4. */
Test(looks, by_hand)
{
    const double differences[] = {4, 1, 2};
    const struct {
        size_t outside;
        double low, high;
    } rows[] = {{0, -INFINITY, INFINITY}, {1, 1, 4}, {2, 1.5, 3}, {3, 2, 2.5}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        signed_rank found;
        cr_assert(signed_rank_find(differences, 3, rows[i].outside, &found));
        cr_expect_eq(found.centre, 2.25);
        cr_expect_eq(found.low, rows[i].low);
        cr_expect_eq(found.high, rows[i].high);
    }
}

Test(looks, plan)
{
    const looks l = looks_plan(60, 6, 0.95);
    static const size_t expected[] = {11, 17, 26, 40, 60};
    cr_assert_eq(l.count, COUNT_OF(expected));
    for (size_t i = 0; i < l.count; i++)
        cr_expect_eq(l.pairs[i], expected[i], "look %zu after %zu", i, l.pairs[i]);
    cr_expect_float_eq(l.probability * 2 * 7 * 5, 0.05, 1e-12);
    for (size_t most = 1; most <= MOST_LOOKED_AT; most++)
        for (size_t problems = 1; problems <= 1000; problems *= 10) {
            const looks some = looks_plan(most, problems, 0.95);
            cr_assert(some.count >= 1 && some.count <= MOST_LOOKS);
            cr_assert_eq(some.pairs[some.count - 1], most);
            cr_assert(looks_fewest(&some) <= some.pairs[0] || some.count == 1);
            for (size_t i = 1; i < some.count; i++)
                cr_assert_lt(some.pairs[i - 1], some.pairs[i]);
        }
}

/* A machine: shares by which a process as a whole and its single times vary, and how often a time is up to twice as
 * long. */
typedef struct machine {
    const char *name;
    size_t problems;
    double process, single, disturbed;
} machine;

static const machine machines[] = {
    {"quiet", 6, 0.003, 0.004, 0},    {"one problem", 1, 0.005, 0.01, 0},       {"processes differ", 6, 0.02, 0.002, 0},
    {"bursts", 6, 0.003, 0.005, 0.2}, {"many problems", 20, 0.003, 0.01, 0.05}, {"hopeless", 3, 0.1, 0.1, 0.5}};

static uint64_t state;

/* (0, 1); reproducible */
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

enum { MOST_PROBLEMS = 20, PAIRS = 60, TRIALS = 200 };

static double before[MOST_PROBLEMS][PAIRS], after[MOST_PROBLEMS][PAIRS];

static void run_process(const machine *m, double factor, double times[][PAIRS], size_t pair)
{
    const double process = factor * exp(m->process * normal());
    for (size_t i = 0; i < m->problems; i++)
        times[i][pair] = process * exp(m->single * normal()) * (uniform() < m->disturbed ? 1 + uniform() : 1);
}

static bool has_verdict(const ratio_row *rows, size_t count, ratio_verdict verdict)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].verdict == verdict)
            return true;
    return false;
}

typedef struct outcome {
    size_t slower, faster, undecided, pairs; /* trials; of all of them together */
} outcome;

/*
 * As convbench diff --run does, with all times of the second program longer by that factor.  pairs_in_time: when the
 * time is over; 0: never.
 */
static outcome try_often(const machine *m, double factor, size_t pairs_in_time)
{
    static const ratio_rules rules = {.threshold = 0.01, .confidence = 0.95, .detect = 0.03};
    const looks l = looks_plan(PAIRS, m->problems, rules.confidence);
    const size_t most = pairs_in_time ? pairs_in_time : PAIRS;
    outcome o = {0};
    for (size_t trial = 0; trial < TRIALS; trial++) {
        ratio_row rows[MOST_PROBLEMS + 1]; /* the last one: the mean */
        size_t pair = 0;
        for (size_t look = 0; look < l.count && pair < most; look++) {
            for (; pair < l.pairs[look] && pair < most; pair++) {
                run_process(m, 1, before, pair);
                run_process(m, factor, after, pair);
            }
            for (size_t i = 0; i < m->problems; i++)
                rows[i] = (ratio_row){before[i], after[i], pair, pair, .paired = true};
            cr_assert(looks_judge(&l, look, pair == most, rows, m->problems, &rules, &rows[m->problems]));
            if (!has_verdict(rows, m->problems + 1, RATIO_UNDECIDED))
                break;
        }
        o.slower += has_verdict(rows, m->problems + 1, RATIO_SLOWER);
        o.faster += has_verdict(rows, m->problems + 1, RATIO_FASTER);
        o.undecided += has_verdict(rows, m->problems + 1, RATIO_UNDECIDED);
        o.pairs += pair;
    }
    return o;
}

/* Whatever the noise, and although a trial ends when something stands out: 5 % of the trials say something wrong. */
Test(looks, quiet_without_a_change)
{
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        static const size_t pairs_in_time[] = {0, 14, 30};
        for (size_t k = 0; k < COUNT_OF(pairs_in_time); k++) {
            const outcome o = try_often(&machines[i], 1, pairs_in_time[k]);
            cr_expect_leq(o.slower + o.faster, TRIALS / 20, "%s, %zu: %zu slower, %zu faster of %d", machines[i].name,
                          pairs_in_time[k], o.slower, o.faster, TRIALS);
        }
    }
}

/* 3 % are seen, sooner where it is quiet; where nothing can be seen, that is what is said. */
Test(looks, finds_a_change)
{
    static const bool can_tell[] = {true, true, true, true, true, false};
    size_t pairs[COUNT_OF(machines)];
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const outcome slower = try_often(&machines[i], 1.03, 0), faster = try_often(&machines[i], 1 / 1.03, 0);
        pairs[i] = slower.pairs;
        if (can_tell[i]) {
            cr_expect_geq(slower.slower, TRIALS * 95 / 100, "%s: %zu of %d", machines[i].name, slower.slower, TRIALS);
            cr_expect_geq(faster.faster, TRIALS * 95 / 100, "%s: %zu of %d", machines[i].name, faster.faster, TRIALS);
        } else {
            cr_expect_geq(slower.undecided, TRIALS * 95 / 100, "%s: %zu", machines[i].name, slower.undecided);
        }
        cr_expect_leq(slower.faster + faster.slower, TRIALS / 100, "%s: the wrong way", machines[i].name);
    }
    cr_expect_lt(2 * pairs[0], pairs[3], "quiet: %zu pairs, with bursts: %zu", pairs[0], pairs[3]);
    cr_expect_eq(pairs[5], (size_t)TRIALS * PAIRS, "hopeless: %zu pairs", pairs[5]);
}
