/* SPDX-License-Identifier: MIT */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_match.h"
#include "file.h"
#include "options.h"
#include "scan.h"

typedef struct request {
    diff *to;
    const char *json;
    bool help;
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

static bool set_help(request *r, scan *s)
{
    (void)s;
    return r->help = true;
}

static const struct option {
    const char *name, *value, *help;
    bool (*read)(request *r, scan *s);
} options_of_diff[] = {
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
          "       convbench diff [OPTION]... OLD.json... : NEW.json...\n\n"
          "Compares what convbench --json wrote, problem by problem.  One file a side: best of --rounds 5 or more.\n"
          "Several: one a process, at best written in turns (old, new, old, new, ...), which is noticed.\n\n",
          file);
    for (size_t i = 0; i < OPTIONS; i++)
        fprintf(file, "  %-12s %-8s %s\n", options_of_diff[i].name,
                options_of_diff[i].value ? options_of_diff[i].value : "", options_of_diff[i].help);
    fputs("\nExit code: 0 if nothing is slower; 1 if a problem or the geometric mean is slower, or a result wrong;\n"
          "2 if the files or arguments cannot be used.\n",
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

/* Takes the options away; what is left are files, and perhaps a colon. */
static bool read_options(request *r, int count, char **arguments, int *left)
{
    *left = 0;
    for (char **at = arguments; at < arguments + count; at++)
        if ((*at)[0] == '-' && (*at)[1]) {
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

static int compare(diff *d, const char *json)
{
    if (!diff_match(d))
        return EXIT_WRONG_ARGUMENT;
    if (!ratios_compare(d->ratios, d->count, &d->rules, &d->mean)) {
        fprintf(stderr, "convbench: no memory to compare so many problems\n");
        return EXIT_WRONG_ARGUMENT;
    }
    diff_print(d, json && strcmp(json, "-") == 0 ? stderr : stdout);
    if (json && !diff_json(d, json))
        return EXIT_WRONG_ARGUMENT;
    const bool slower = diff_count(d, RATIO_SLOWER) || d->mean.verdict == RATIO_SLOWER;
    return slower || diff_count_wrong(d) ? EXIT_WRONG_RESULT : EXIT_SUCCESS;
}

int diff_run(int argument_count, char **arguments)
{
    diff d = {.rules = {.threshold = 0.01, .noise = 0.005, .confidence = 0.95}};
    request r = {.to = &d};
    int left, code = EXIT_WRONG_ARGUMENT;
    if (read_options(&r, argument_count, arguments, &left)) {
        if (r.help) {
            diff_print_help(stdout);
            code = EXIT_SUCCESS;
        } else if ((!r.json || file_can_write(r.json)) && read_files(&d, arguments, left)) {
            code = compare(&d, r.json);
        }
    }
    release(&d);
    return code;
}
