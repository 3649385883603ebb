/* SPDX-License-Identifier: MIT */
/* What convbench can do instead of measuring: a row with the function that does it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "chains.h"
#include "dump_asm.h"
#include "explain.h"
#include "hash.h"
#include "option_help.h"
#include "option_man.h"
#include "option_table.h"
#include "overhead.h"
#include "report.h"
#include "tune.h"

static bool read_calls(options *o, scan *s)
{
    return scan_number(s, "the number of calls", 2, &o->calls) && scan_end_word(s);
}

static bool read_csv(options *o, scan *s)
{
    return option_read_path(&o->csv, s);
}

static bool read_chains(options *o, scan *s)
{
    o->chains = s->at;
    return true;
}

static bool read_records_out(options *o, scan *s)
{
    return option_read_path(&o->records_out, s);
}

/* 16 digits, as --hash prints them. */
static bool read_hash(options *o, scan *s)
{
    char *end = NULL;
    if (!*s->at)
        return true;
    o->expected_hash = strtoull(s->at, &end, 16);
    return (strspn(s->at, "0123456789abcdef") == 16 && *end == '\0') ||
           scan_fail(s, s->at, "a hash has 16 digits of 0 to 9 and a to f");
}

static int run_list(options *asked)
{
    (void)asked;
    report_kernels(stdout);
    return EXIT_SUCCESS;
}

static int run_version(options *asked)
{
    (void)asked;
    printf("convbench %s, libconv2d %s\n", CONV2D_VERSION, conv2d_version());
    return EXIT_SUCCESS;
}

static const option_row rows[] = {
    {"--explain", NULL, "print what the library would do with each problem, and why; run nothing",
     .action = {.run = explain_run, .needs_problems = true}},
    {"--dump-asm", NULL, "print the hot loop of the kernel that each problem runs, with its FMAs, loads and bytes",
     .action = {.run = dump_asm_run}},
    {"--tune", NULL, "measure which kernel and blocking is best, and how far from it the library's choice is",
     .action = {.run = tune_run, .needs_problems = true}},
    {"--records", "FILE", "write what --tune finds or --isa-ab decides: text, or C if the name ends in .h",
     .read = read_records_out},
    {"--calls", "N", "record so many single calls: what does their duration hang together with?", .read = read_calls,
     .action = {.run = calls_run, .needs_problems = true, .writes_json = true}},
    {"--csv", "FILE", "write what --calls records, a line for each call; - is standard output", .read = read_csv},
    {"--chains", "CHAIN",
     "time two steps fused and not: '8x9x9 3x3 + 16x1x1', '... + max2', or a file or suite of such",
     .read = read_chains, .action = {.run = chains_run, .writes_json = true}},
    {"--hash", "[=HASH]", "a hash of all outputs, which each ISA, layout and number of parts (--threads) must share",
     .read = read_hash, .is_optional = true, .action = {.run = hash_run, .needs_problems = true}},
    {"--overhead", NULL, "time planning, packing, a call of no work and the hand-off to threads",
     .action = {.run = overhead_run, .writes_json = true}},
    {"--list", NULL, "print the kernels of this build", .action = {.run = run_list}},
    {"--version", NULL, "print the version", .action = {.run = run_version}},
    {"--help", NULL, "print this", .action = {.run = help_run}},
    {"--man", NULL, NULL, .action = {.run = man_run}},
    {"--completion", NULL, NULL, .action = {.run = completion_run}},
};

const option_group options_of_actions = {"Other questions, answered instead", rows, sizeof rows / sizeof *rows};
