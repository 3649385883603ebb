/* SPDX-License-Identifier: MIT */
/* Closer looks at a run. */
#include <stdlib.h>

#include "count_calls.h"
#include "option_table.h"
#include "topdown_run.h"

static bool read_counters(options *o, scan *s)
{
    o->counters = s->at;
    return true;
}

static const option_row rows[] = {
    {"--counters", "[=LIST]", "count events a call: names, groups (basic, fp, ...), raw codes; =list prints them",
     .read = read_counters, .is_optional = true, .action = {count_run, .needs_problems = false}},
    {"--topdown", NULL, "where did the pipeline's slots go, how busy were the FMA pipes?",
     .action = {topdown_run, .needs_problems = true}},
};

const option_group options_of_instruments = {"Closer looks, instead of the table", rows, sizeof rows / sizeof *rows};
