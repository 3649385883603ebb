/* SPDX-License-Identifier: MIT */
/* benchmarks/plot.h and markup.h: where values are drawn, which ones an axis names, and what text becomes. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "markup.h"
#include "plot.h"
#include "support.h"

static void expect_near(double found, double expected)
{
    cr_expect(fabs(found - expected) <= 1e-9 * (1 + fabs(expected)), "%.12g, not %.12g", found, expected);
}

Test(plot, places)
{
    const plot_axis even = {10, 20, 100, 300, false, 10}, powers = {1, 1024, 500, 0, true, 2};
    expect_near(plot_place(&even, 10), 100);
    expect_near(plot_place(&even, 12.5), 150);
    expect_near(plot_place(&even, 25), 300);
    expect_near(plot_place(&even, -1), 100);
    expect_near(plot_place(&even, NAN), 100);
    expect_near(plot_place(&powers, 1), 500);
    expect_near(plot_place(&powers, 32), 250);
    expect_near(plot_place(&powers, 0), 500);
    expect_near(plot_place(&powers, INFINITY), 0);
}

static void expect_ticks(const plot_axis *axis, size_t wanted, const double *expected, size_t count)
{
    double ticks[16];
    const size_t found = plot_ticks(axis, wanted, ticks, COUNT_OF(ticks));
    cr_assert_eq(found, count, "%zu ticks, not %zu, from %g to %g", found, count, axis->low, axis->high);
    for (size_t i = 0; i < count; i++) {
        expect_near(ticks[i], expected[i]);
        cr_expect_not(signbit(ticks[i]) && ticks[i] == 0, "-0");
    }
}

Test(plot, ticks)
{
    expect_ticks(&(plot_axis){0, 100, 0, 1, false, 10}, 5, (const double[]){0, 20, 40, 60, 80, 100}, 6);
    expect_ticks(&(plot_axis){-0.3, 1.1, 0, 1, false, 10}, 3, (const double[]){0, 0.5, 1}, 3);
    expect_ticks(&(plot_axis){1.93, 2.07, 0, 1, false, 10}, 3, (const double[]){1.95, 2, 2.05}, 3);
    expect_ticks(&(plot_axis){7, 130, 0, 1, true, 10}, 8, (const double[]){10, 20, 50, 100}, 4);
    expect_ticks(&(plot_axis){0.5, 3e6, 0, 1, true, 10}, 4, (const double[]){1, 100, 1e4, 1e6}, 4);
    expect_ticks(&(plot_axis){0.3, 5, 0, 1, true, 2}, 10, (const double[]){0.5, 1, 2, 4}, 4);
    /* No more than there is room for. */
    double few[2];
    cr_expect_eq(plot_ticks(&(plot_axis){0, 100, 0, 1, false, 10}, 50, few, 2), 2);
}

/* What markup_text makes of a text. */
static void expect_markup(const char *text, const char *expected)
{
    char *found = NULL;
    size_t size;
    FILE *const file = open_memstream(&found, &size);
    cr_assert(file);
    markup_text(file, text);
    fclose(file);
    cr_expect_str_eq(found, expected, "%s", found);
    free(found);
}

Test(plot, texts)
{
    expect_markup("", "");
    expect_markup("a<b>&\"c\" 'd'", "a&lt;b&gt;&amp;&quot;c&quot; &#39;d&#39;");
    expect_markup("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\t\n", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\t\n");
    expect_markup("\x01\x1b[0m\x7f", "\xef\xbf\xbd\xef\xbf\xbd[0m\xef\xbf\xbd");
    /* Cut, too long, a surrogate: each byte that begins nothing. */
    expect_markup("a\xc3", "a\xef\xbf\xbd");
    expect_markup("\xc0\xaf<", "\xef\xbf\xbd\xef\xbf\xbd&lt;");
    expect_markup("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}
