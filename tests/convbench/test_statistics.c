/* SPDX-License-Identifier: MIT */
/* The statistics of single calls against distributions whose answers are known. */
#include <math.h>
#include <stdlib.h>

#include "statistics.h"
#include "support.h"

enum { MANY = 40000, BUCKETS = 10 };

static const double PI = 3.14159265358979323846;

static double x[MANY], y[MANY], z[MANY], ranks_x[MANY], ranks_y[MANY];
static size_t bucket_x[MANY], bucket_y[MANY];
static uint64_t state;

/* (0, 1); reproducible */
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    const double length = sqrt(-2 * log(uniform()));
    return length * cos(2 * PI * uniform());
}

static void expect_near(const char *what, double found, double expected, double tolerance)
{
    cr_expect(fabs(found - expected) <= tolerance, "%s: %.6f, not %.6f +- %.6f", what, found, expected, tolerance);
}

Test(statistics, lines)
{
    for (size_t i = 0; i < 100; i++) {
        x[i] = 1e9 + 3 * (double)i;
        y[i] = -2e-9 * (double)i;
        z[i] = 7;
    }
    expect_near("rising with itself", statistics_pearson(x, x, 100), 1, 1e-12);
    expect_near("falling", statistics_pearson(x, y, 100), -1, 1e-12);
    expect_near("falling ranks", statistics_spearman(x, y, 100), -1, 1e-12);
    cr_expect(isnan(statistics_pearson(x, z, 100)), "a constant");
    cr_expect(isnan(statistics_spearman(z, x, 100)), "a constant");
    cr_expect(isnan(statistics_pearson(x, y, 1)) && isnan(statistics_pearson(x, y, 0)), "too few");
    cr_expect(isnan(statistics_spearman(x, y, 0)), "none");
}

/* F. J. Anscombe, Graphs in Statistical Analysis (1973), set I: r = 0.816; ranks by hand: 1 - 6 * 40 / (11 * 120). */
Test(statistics, anscombe)
{
    static const double a[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
    static const double b[] = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
    expect_near("Pearson", statistics_pearson(a, b, 11), 0.81642, 1e-5);
    expect_near("Spearman", statistics_spearman(a, b, 11), 0.81818, 1e-5);
}

/* Of two normal variables with correlation r, the correlation of the ranks is 6 / pi * asin(r / 2). */
Test(statistics, bivariate_normal)
{
    static const double wanted[] = {-0.9, -0.3, 0, 0.6, 0.95};
    for (size_t k = 0; k < COUNT_OF(wanted); k++) {
        const double r = wanted[k];
        state = k;
        for (size_t i = 0; i < MANY; i++) {
            x[i] = normal();
            y[i] = 100 + 5 * (r * x[i] + sqrt(1 - r * r) * normal());
        }
        const double tolerance = 4 / sqrt((double)MANY);
        expect_near("Pearson", statistics_pearson(x, y, MANY), r, tolerance);
        expect_near("Spearman", statistics_spearman(x, y, MANY), 6 / PI * asin(r / 2), tolerance);
    }
}

/* A rising relation that no line fits: of u uniform in (0, 1) and u^9, Pearson's is known, Spearman's is 1. */
Test(statistics, rising_but_not_straight)
{
    for (size_t i = 0; i < MANY; i++) {
        x[i] = uniform();
        y[i] = pow(x[i], 9);
    }
    /* cov = 1/11 - 1/20; variances 1/12 and 1/19 - 1/100. */
    expect_near("Pearson", statistics_pearson(x, y, MANY),
                (1.0 / 11 - 1.0 / 20) / sqrt(1.0 / 12 * (1.0 / 19 - 1.0 / 100)), 0.01);
    expect_near("Spearman", statistics_spearman(x, y, MANY), 1, 1e-12);
    /* One outlier hides a relation from Pearson's, hardly from Spearman's. */
    x[0] = 1e12;
    y[0] = 0;
    cr_expect_lt(fabs(statistics_pearson(x, y, MANY)), 0.1);
    expect_near("Spearman", statistics_spearman(x, y, MANY), 1, 0.01);
}

Test(statistics, ranks_share_ties)
{
    static const double values[] = {3, 1, 3, 2, 3, 1}, expected[] = {5, 1.5, 5, 3, 5, 1.5};
    double ranks[6];
    cr_assert(statistics_rank(values, 6, ranks));
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(ranks[i], expected[i], "%zu: %g", i, ranks[i]);
}

/* What chance gives stays below the bound in all but 1 of 1000 trials. */
Test(statistics, chance)
{
    enum { TRIALS = 4000, SHORT = 50 };
    size_t above = 0;
    state = 5;
    for (size_t t = 0; t < TRIALS; t++) {
        for (size_t i = 0; i < SHORT; i++) {
            x[i] = normal();
            y[i] = normal();
        }
        above += fabs(statistics_pearson(x, y, SHORT)) > statistics_chance(SHORT);
    }
    cr_expect_leq(above, 12, "%zu of %d", above, TRIALS);
    cr_expect_eq(statistics_chance(0), 1);
    cr_expect_eq(statistics_chance(5), 1);
    expect_near("of 10001", statistics_chance(10001), 0.0329, 1e-9);
}

static void sort_both(size_t buckets)
{
    cr_assert(statistics_rank(x, MANY, ranks_x) && statistics_rank(y, MANY, ranks_y));
    statistics_sort_into(ranks_x, MANY, buckets, bucket_x);
    statistics_sort_into(ranks_y, MANY, buckets, bucket_y);
}

/* Of an exponential distribution the mean between the quantiles p and q is known. */
Test(statistics, buckets_of_an_exponential)
{
    bucket found[BUCKETS];
    state = 11;
    for (size_t i = 0; i < MANY; i++)
        y[i] = x[i] = -log(uniform());
    sort_both(BUCKETS);
    statistics_describe(x, bucket_x, MANY, found, BUCKETS);
    for (size_t b = 0; b < BUCKETS; b++) {
        const double p = (double)b / BUCKETS, q = (double)(b + 1) / BUCKETS;
        const double tail = b + 1 < BUCKETS ? (1 - q) * (1 - log(1 - q)) : 0;
        cr_expect_eq(found[b].count, MANY / BUCKETS);
        expect_near("mean", found[b].mean, ((1 - p) * (1 - log(1 - p)) - tail) * BUCKETS, b + 1 < BUCKETS ? 0.03 : 0.1);
        expect_near("low", found[b].low, -log(1 - p), 0.05);
        cr_expect(b == 0 || found[b].low > found[b - 1].high);
    }
}

Test(statistics, equal_values_stay_together)
{
    bucket found[BUCKETS];
    /* 95 % zeros, as of rare events: their mean rank is in bucket 4, the others are in the last. */
    for (size_t i = 0; i < MANY; i++) {
        x[i] = i % 20 ? 0 : 1 + (double)i;
        y[i] = 3;
    }
    sort_both(BUCKETS);
    statistics_describe(x, bucket_x, MANY, found, BUCKETS);
    cr_expect_eq(found[4].count, MANY - MANY / 20);
    cr_expect_eq(found[9].count, MANY / 20);
    cr_expect(isnan(found[0].mean) && isnan(found[0].low) && isnan(found[0].high));
    statistics_describe(y, bucket_y, MANY, found, BUCKETS);
    cr_expect_eq(found[5].count, MANY);
    cr_expect_eq(found[5].mean, 3);
    statistics_sort_into(ranks_x, MANY, 1, bucket_x);
    cr_expect_eq(bucket_x[MANY - 1], 0);
}

Test(statistics, conditional_table)
{
    double table[BUCKETS * BUCKETS];
    state = 3;
    for (size_t i = 0; i < MANY; i++) {
        x[i] = uniform();
        y[i] = uniform();
    }
    sort_both(BUCKETS);
    statistics_condition(bucket_x, bucket_y, MANY, table, BUCKETS);
    for (size_t b = 0; b < BUCKETS; b++) {
        double sum = 0;
        for (size_t a = 0; a < BUCKETS; a++) {
            sum += table[b * BUCKETS + a];
            expect_near("independent", table[b * BUCKETS + a], 1.0 / BUCKETS, 5 * sqrt(0.09 / (MANY / BUCKETS)));
        }
        expect_near("sum", sum, 1, 1e-12);
    }
    statistics_condition(bucket_x, bucket_x, MANY, table, BUCKETS);
    for (size_t i = 0; i < BUCKETS * BUCKETS; i++)
        cr_expect_eq(table[i], i % (BUCKETS + 1) == 0);
    /* y decides x up to one bucket: x = y modulo the width of a half. */
    for (size_t i = 0; i < MANY; i++)
        y[i] = fmod(2 * x[i], 1);
    sort_both(BUCKETS);
    statistics_condition(bucket_x, bucket_y, MANY, table, BUCKETS);
    expect_near("lower half", table[0 * BUCKETS + 0], 0.5, 0.03);
    expect_near("upper half", table[0 * BUCKETS + BUCKETS / 2], 0.5, 0.03);
    for (size_t i = 0; i < MANY; i++)
        bucket_y[i] = 2;
    statistics_condition(bucket_x, bucket_y, MANY, table, BUCKETS);
    cr_expect(isnan(table[0]));
    expect_near("the only row", table[2 * BUCKETS + 7], 0.1, 1e-3);
}
