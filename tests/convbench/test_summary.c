/* SPDX-License-Identifier: MIT */
/* The arithmetic of benchmarks/summary.h, of rows whose summary is known. */
#include <math.h>
#include <string.h>

#include "sample.h"
#include "summary.h"
#include "support.h"

static void expect_equal(double found, double expected)
{
    cr_expect(fabs(found - expected) <= 1e-12 * fabs(expected), "%.17g, not %.17g", found, expected);
}

/* A row that took a second and could have taken so many; its GFLOP/s are the gigaflops. */
static measurement row(double share, double gigaflops)
{
    return (measurement){.allowed = "any",
                         .layout = "nchw",
                         .isa = "avx2",
                         .threads = 1,
                         .count = 1,
                         .timed = true,
                         .time = {.seconds = {.median = 1}},
                         .bound_seconds = share,
                         .valid_flops = gigaflops * 1e9};
}

Test(summary, quantiles)
{
    double values[] = {5, 1, 4, 2, 3};
    sort_values(values, COUNT_OF(values));
    expect_equal(quantile_of_sorted(values, 5, 0), 1);
    expect_equal(quantile_of_sorted(values, 5, 0.5), 3);
    expect_equal(quantile_of_sorted(values, 5, 0.1), 1.4);
    expect_equal(quantile_of_sorted(values, 5, 1), 5);
    expect_equal(quantile_of_sorted(values, 4, 0.5), 2.5);
    expect_equal(quantile_of_sorted(values, 1, 0.9), 1);
}

Test(summary, distribution)
{
    /* Two, eight, a half and a quarter: their geometric mean is 2^(1 + 3 - 1 - 2) to the fourth root. */
    measurement rows[] = {row(0.95, 2), row(0.8, 8), row(0.79, 0.5), row(0.4, 0.25)};
    rows[3].isa = "scalar";
    summary s;
    cr_assert(summary_make(&s, rows, COUNT_OF(rows), 0));
    cr_expect_eq(s.rows, 4);
    cr_expect_eq(s.scalar_rows, 1);
    static const size_t at_least[SUMMARY_MARKS] = {1, 1, 2, 3, 3, 3};
    for (size_t i = 0; i < SUMMARY_MARKS; i++)
        cr_expect_eq(s.at_least[i], at_least[i], "%zu rows of at least %g", s.at_least[i], summary_marks[i]);
    expect_equal(s.mean_gflops, pow(2, 0.25));
    expect_equal(s.mean_share, pow(0.95 * 0.8 * 0.79 * 0.4, 0.25));
    expect_equal(s.deciles[0], 0.4);
    expect_equal(s.deciles[5], 0.795);
    expect_equal(s.deciles[10], 0.95);
    const measurement *const worst[] = {&rows[3], &rows[2], &rows[1], &rows[0]};
    cr_assert_eq(s.worst_count, COUNT_OF(worst));
    for (size_t i = 0; i < COUNT_OF(worst); i++)
        cr_expect_eq(s.worst[i], worst[i], "number %zu", i);
}

Test(summary, the_worst_of_many)
{
    measurement rows[100];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        rows[i] = row((double)(i * 37 % COUNT_OF(rows) + 1) / COUNT_OF(rows), 1);
    summary s;
    cr_assert(summary_make(&s, rows, COUNT_OF(rows), 0));
    cr_assert_eq(s.worst_count, SUMMARY_WORST);
    for (size_t i = 0; i < SUMMARY_WORST; i++)
        expect_equal(s.worst[i]->bound_seconds, (double)(i + 1) / COUNT_OF(rows));
    expect_equal(s.deciles[5], 0.505);
}

/* Rows of other instruction sets, layouts and threads, and those not timed, are not of the same kind. */
Test(summary, kinds)
{
    measurement rows[] = {row(0.5, 1), row(0.5, 1), row(0.5, 1), row(0.5, 1), row(0.9, 1), row(0.5, 1)};
    rows[0].timed = false;
    rows[1].allowed = "avx2";
    rows[2].layout = "nhwc";
    rows[3].threads = 2;
    static const bool first_of_kind[] = {false, true, true, true, true, false};
    static const size_t of_kind[] = {0, 1, 1, 1, 2, 0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        summary s;
        cr_expect_eq(summary_make(&s, rows, COUNT_OF(rows), i), first_of_kind[i], "row %zu", i);
        if (first_of_kind[i])
            cr_expect_eq(s.rows, of_kind[i], "row %zu", i);
    }
}

Test(summary, networks)
{
    measurement rows[] = {row(0.5, 1), row(0.75, 3), row(0.9, 10)};
    rows[0].network = rows[1].network = 2;
    rows[1].count = 3;
    rows[2].network = 1;
    summary s;
    cr_assert(summary_make(&s, rows, COUNT_OF(rows), 0));
    const network_total total = summary_of_network(&s, rows, COUNT_OF(rows), 2);
    cr_expect_eq(total.layers, 4);
    expect_equal(total.seconds, 4);
    expect_equal(total.bound_seconds, 0.5 + 3 * 0.75);
    expect_equal(total.flops, 10e9);
    cr_expect_eq(summary_of_network(&s, rows, COUNT_OF(rows), 3).layers, 0);
}
