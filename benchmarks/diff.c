/* SPDX-License-Identifier: MIT */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_match.h"
#include "diff_turns.h"
#include "file.h"
#include "options.h"
#include "scan.h"

typedef struct request {
    diff *to;
    diff_turns turns;
    const char *json;
    bool run, help;
} request;

static bool read_percent(scan *s, double *share)
{
    const char *const start = s->at;
    float percent;
    if (!scan_real(s, "the percentage", &percent) || !scan_end_word(s))
        return false;
    *share = (double)percent / 100;
    return (percent >= 0 && percent < 100) || scan_fail(s, start, "a percentage from 0 to below 100 is expected");
}

static bool read_threshold(request *r, scan *s)
{
    return read_percent(s, &r->to->rules.threshold);
}

static bool read_confidence(request *r, scan *s)
{
    return read_percent(s, &r->to->rules.confidence);
}

static bool read_noise(request *r, scan *s)
{
    return read_percent(s, &r->to->rules.noise);
}

static bool read_detect(request *r, scan *s)
{
    return read_percent(s, &r->to->rules.detect);
}

static bool read_pairs(request *r, scan *s)
{
    const char *const start = s->at;
    return scan_number(s, "the number of pairs", 2, &r->turns.most_pairs) && scan_end_word(s) &&
           (r->turns.most_pairs <= MOST_LOOKED_AT || scan_fail(s, start, "at most %d pairs", MOST_LOOKED_AT));
}

static bool read_limit(request *r, scan *s)
{
    const char *const start = s->at;
    float seconds;
    if (!scan_real(s, "the number of seconds", &seconds) || !scan_end_word(s))
        return false;
    r->turns.limit = (double)seconds;
    return seconds > 0 || scan_fail(s, start, "a number above 0 is expected");
}

static bool read_json(request *r, scan *s)
{
    r->json = s->at;
    return *s->at || scan_fail(s, s->at, "the name of a file is missing here");
}

static bool set_clock(request *r, scan *s)
{
    (void)s;
    return r->to->by_clock = true;
}

static bool set_run(request *r, scan *s)
{
    (void)s;
    return r->run = true;
}

static bool set_help(request *r, scan *s)
{
    (void)s;
    return r->help = true;
}

static const struct option {
    const char *name, *value, *help;
    bool (*read)(request *r, scan *s);
} options_of_diff[] = {
    {"--run", NULL, "OLD and NEW are programs: run them in turns until it is known", set_run},
    {"--pairs", "N", "--run: at most so many pairs of runs (default 60)", read_pairs},
    {"--limit", "SECONDS", "--run: begin no pair that would take longer than that (default: no limit)", read_limit},
    {"--detect", "PERCENT", "undecided as long as such a change may be there (--run: default 3; files: any may)",
     read_detect},
    {"--threshold", "PERCENT", "a change by less is none (default 1)", read_threshold},
    {"--confidence", "PERCENT", "that none of the intervals misses its ratio (default 95)", read_confidence},
    {"--noise", "PERCENT", "standard deviation from process to process, where each side is one file (default 0.5)",
     read_noise},
    {"--clock", NULL, "compare multiples of the FMA peak measured beside: a slower clock is no change", set_clock},
    {"--json", "FILE", "write the comparison there too; - is standard output", read_json},
    {"--help", NULL, "print this", set_help},
};

enum { OPTIONS = sizeof options_of_diff / sizeof *options_of_diff };

void diff_print_help(FILE *file)
{
    fputs("convbench diff: did it get slower?\n"
          "usage: convbench diff [OPTION]... OLD.json NEW.json\n"
          "       convbench diff [OPTION]... OLD.json... : NEW.json...\n"
          "       convbench diff --run [OPTION]... OLD NEW -- CONVBENCH_OPTION... PROBLEM...\n\n"
          "Compares what convbench --json wrote, problem by problem.  One file a side: best of --rounds 5 or more.\n"
          "Several: one a process, at best written in turns (old, new, old, new, ...), which is noticed.\n\n"
          "--run has two programs write them, in turns, as often as it takes and no oftener: two builds of convbench,\n"
          "or commands for the shell such as 'CONV2D_ISA=avx2 convbench'.  Both are given what follows --, the first\n"
          "time with verification, and --time 0.1 --rounds 3 unless that says otherwise.  For example\n"
          "  convbench diff --run old/benchmarks/convbench new/benchmarks/convbench -- --suite headline\n\n",
          file);
    for (size_t i = 0; i < OPTIONS; i++)
        fprintf(file, "  %-12s %-8s %s\n", options_of_diff[i].name,
                options_of_diff[i].value ? options_of_diff[i].value : "", options_of_diff[i].help);
    fputs("\nExit code: 0 if nothing is slower; 1 if a problem or the geometric mean is slower, or a result wrong;\n"
          "2 if files, programs or arguments cannot be used; 3 if nothing is known to be slower, but something "
          "undecided.\n",
          file);
}

const char *diff_option_name(size_t number)
{
    return number < OPTIONS ? options_of_diff[number].name : NULL;
}

static bool fail_at(const char *text, size_t offset, const char *message)
{
    scan_error error = {.offset = offset};
    snprintf(error.message, sizeof error.message, "%s", message);
    input_print_error("diff: ", text, &error);
    return false;
}

/* The option in **argument; steps on to its value, if that is an argument of its own. */
static bool read_option(request *r, char ***argument)
{
    const char *const text = **argument;
    const size_t length = strcspn(text, "=");
    const struct option *o = options_of_diff;
    while (o < options_of_diff + OPTIONS && (strlen(o->name) != length || strncmp(o->name, text, length) != 0))
        o++;
    if (o == options_of_diff + OPTIONS)
        return fail_at(text, 0, "no such option (convbench diff --help prints them)");
    if (!o->value && text[length])
        return fail_at(text, length, "this option takes no value");
    if (o->value && !text[length] && !(*argument)[1])
        return fail_at(text, length, "the value of this option is missing");
    const char *const value = text[length] ? text + length + 1 : o->value ? *++*argument : text + length;
    const char *const whole = text[length] ? text : value;
    scan_error error;
    scan s = {.text = whole, .at = value, .error = &error};
    if (o->read(r, &s))
        return true;
    input_print_error("diff: ", whole, &error);
    return false;
}

/* Takes the options away; what is left are files, and perhaps a colon; or programs, and what follows --. */
static bool read_options(request *r, int count, char **arguments, int *left)
{
    *left = 0;
    for (char **at = arguments; at < arguments + count; at++)
        if (strcmp(*at, "--") == 0) {
            r->turns.arguments = at + 1;
            r->turns.argument_count = (size_t)(arguments + count - at - 1);
            break;
        } else if ((*at)[0] == '-' && (*at)[1]) {
            if (!read_option(r, &at))
                return false;
        } else {
            arguments[(*left)++] = *at;
        }
    return true;
}

static bool read_side(diff_side *side, char **paths, int count)
{
    side->files = calloc((size_t)count, sizeof *side->files);
    for (int i = 0; side->files && i < count; i++)
        if (!stored_read(&side->files[side->count++], paths[i]))
            return false;
    return side->files;
}

static bool read_files(diff *d, char **paths, int count)
{
    int colon = 0;
    while (colon < count && strcmp(paths[colon], ":") != 0)
        colon++;
    const bool two = colon == count && count == 2;
    const int before = two ? 1 : colon, first_after = two ? 1 : colon + 1;
    if (before < 1 || first_after >= count) {
        fprintf(stderr, "convbench: diff takes two files, or several and several with a : between (see diff --help)\n");
        return false;
    }
    return read_side(&d->before, paths, before) && read_side(&d->after, paths + first_after, count - first_after);
}

static void release(diff *d)
{
    const diff_side sides[] = {d->before, d->after};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < sides[side].count; i++)
            stored_free(&sides[side].files[i]);
        free(sides[side].files);
    }
    diff_match_free(d);
}

static bool compare_files(diff *d, char **paths, int count)
{
    if (!read_files(d, paths, count) || !diff_match(d))
        return false;
    if (ratios_compare(d->ratios, d->count, &d->rules, &d->mean))
        return true;
    fprintf(stderr, "convbench: no memory to compare so many problems\n");
    return false;
}

static bool compare_programs(request *r, char **programs, int count)
{
    if (count != 2 || !r->turns.argument_count) {
        fprintf(stderr, "convbench: diff --run takes two programs, then -- and what both are to measure (see diff "
                        "--help)\n");
        return false;
    }
    r->turns.programs[0] = programs[0];
    r->turns.programs[1] = programs[1];
    return diff_take_turns(r->to, &r->turns);
}

/* Options that say nothing of files. */
static bool check_files(const request *r)
{
    if (!r->turns.arguments && !r->turns.most_pairs && !(r->turns.limit > 0))
        return true;
    fprintf(stderr, "convbench: --pairs, --limit and -- belong to diff --run\n");
    return false;
}

static int compare(request *r, char **words, int count)
{
    diff *const d = r->to;
    if (d->rules.detect < 0)
        d->rules.detect = r->run ? 0.03 : 0;
    if (r->run && !r->turns.most_pairs)
        r->turns.most_pairs = 60;
    if (r->json && !file_can_write(r->json))
        return EXIT_WRONG_ARGUMENT;
    if (r->run ? !compare_programs(r, words, count) : !check_files(r) || !compare_files(d, words, count))
        return diff_count_wrong(d) ? EXIT_WRONG_RESULT : EXIT_WRONG_ARGUMENT;
    diff_print(d, r->json && strcmp(r->json, "-") == 0 ? stderr : stdout);
    if (r->json && !diff_json(d, r->json))
        return EXIT_WRONG_ARGUMENT;
    if (diff_count(d, RATIO_SLOWER) || d->mean.verdict == RATIO_SLOWER || diff_count_wrong(d))
        return EXIT_WRONG_RESULT;
    return diff_undecided(d) ? EXIT_UNDECIDED : EXIT_SUCCESS;
}

int diff_run(int argument_count, char **arguments)
{
    diff d = {.rules = {.threshold = 0.01, .noise = 0.005, .confidence = 0.95, .detect = -1}};
    request r = {.to = &d};
    int left, code = EXIT_WRONG_ARGUMENT;
    if (read_options(&r, argument_count, arguments, &left)) {
        if (r.help)
            diff_print_help(stdout);
        code = r.help ? EXIT_SUCCESS : compare(&r, arguments, left);
    }
    release(&d);
    return code;
}
