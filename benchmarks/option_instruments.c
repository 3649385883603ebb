/* SPDX-License-Identifier: MIT */
/* Closer looks at a run. */
#include <stdlib.h>

#include "count_calls.h"
#include "isa_ab.h"
#include "option_table.h"
#include "phases.h"
#include "repeatability.h"
#include "topdown_run.h"

static bool read_counters(options *o, scan *s)
{
    o->counters = s->at;
    return true;
}

static const option_row rows[] = {
    {"--counters", "[=LIST]", "count events a call: names, groups (basic, fp, ...), raw codes; =list prints them",
     .read = read_counters, .is_optional = true, .action = {.run = count_run, .writes_json = true}},
    {"--topdown", NULL, "where did the pipeline's slots go, how busy were the FMA pipes?",
     .action = {.run = topdown_run, .needs_problems = true, .writes_json = true}},
    {"--isa-ab", NULL, "is avx512 faster than avx2 here, and what does it do to the clock? (--records FILE keeps it)",
     .action = {.run = isa_ab_run, .needs_problems = true, .writes_json = true}},
    {"--phases", NULL, "time planning, packing, the first call, calls with cold and warm caches and fresh outputs",
     .action = {.run = phases_run, .needs_problems = true, .writes_json = true}},
    {"--repeatability", NULL, "compare with itself, 20 times: which differences can this machine resolve now?",
     .action = {.run = repeatability_run, .needs_problems = true, .writes_json = true}},
};

const option_group options_of_instruments = {"Closer looks, instead of the table", rows, sizeof rows / sizeof *rows};
