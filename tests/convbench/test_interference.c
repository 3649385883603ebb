/* SPDX-License-Identifier: MIT */
/* What counts as a disturbance, and the words for it. */
#include <string.h>

#include "interference.h"
#include "support.h"

static const interference quiet = {.seconds = 1, .cpu_seconds = 0.999, .switches = 1, .slow = 3.69e9, .fast = 3.7e9};

static void expect_words(const interference *i, unsigned kinds, const char *words)
{
    char text[200];
    cr_expect_eq(interference_kinds(i), kinds, "%s", words);
    interference_describe(i, text, sizeof text);
    cr_expect_str_eq(text, words);
}

Test(interference, each_kind_has_its_words)
{
    interference i = quiet;
    expect_words(&i, 0, "-");
    i.cpu_seconds = 0.62;
    i.switches = 31;
    expect_words(&i, DISTURBED_CPU, "ran 62 % of the time, switched 31x");
    i.switches = 0; /* it waited for threads of its own */
    expect_words(&i, 0, "-");
    i = quiet;
    i.stolen = 0.04;
    expect_words(&i, DISTURBED_STOLEN, "40 ms stolen");
    i.stolen = 0.01;
    expect_words(&i, 0, "-");
    i = quiet;
    i.slow = 3.1e9;
    expect_words(&i, DISTURBED_CLOCK, "clock 3.10-3.70 GHz");
    i.cpu_seconds = 0.5;
    i.switches = 2;
    i.stolen = 0.5;
    expect_words(&i, DISTURBED_CPU | DISTURBED_STOLEN | DISTURBED_CLOCK,
                 "ran 50 % of the time, switched 2x, 500 ms stolen, clock 3.10-3.70 GHz");
    /* A CPU without a probe, and nothing watched. */
    i = quiet;
    i.slow = i.fast = 0;
    expect_words(&i, 0, "-");
    expect_words(&(interference){.seconds = 0}, 0, "-");
}

Test(interference, words_are_cut_where_there_is_no_room)
{
    interference i = quiet;
    i.cpu_seconds = 0.5;
    i.stolen = 0.5;
    i.slow = 1e9;
    for (size_t size = 1; size < 60; size++) {
        char text[64];
        memset(text, 'x', sizeof text);
        interference_describe(&i, text, size);
        cr_expect_lt(strlen(text), size);
        cr_expect_eq(text[size], 'x', "size %zu", size);
    }
}

Test(interference, stolen_ticks)
{
    cr_expect_eq(interference_stolen_ticks("cpu  2801052 714069 252051 2961904 5404 0 1136 3258 0 0\n"), 3258);
    cr_expect_eq(interference_stolen_ticks("cpu  1 2 3 4 5 6 7\n"), 0, "an old kernel");
    cr_expect_eq(interference_stolen_ticks(""), 0);
    cr_expect_eq(interference_stolen_ticks("intr 1 2 3 4 5 6 7 8 9\n"), 0);
}

/* Spans add up, and what the thread does between them does not count. */
Test(interference, spans_add_up)
{
    interference i = {.seconds = 0};
    for (int span = 0; span < 2; span++) {
        interference_begin(&i);
        for (volatile int spin = 0; spin < 1000000; spin++)
            continue;
        interference_end(&i);
    }
    cr_expect_gt(i.seconds, 0);
    cr_expect_gt(i.cpu_seconds, 0);
    cr_expect_leq(i.cpu_seconds, i.seconds + 1e-3);
    cr_expect_leq(i.slow, i.fast);
    cr_expect_geq(i.stolen, 0);
}
