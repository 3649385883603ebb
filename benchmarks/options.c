/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "isa_ab.h"
#include "option_help.h"
#include "option_table.h"
#include "session.h"
#include "tune.h"

static bool fail_at(const char *text, size_t offset, const char *message)
{
    scan_error error = {.offset = offset};
    snprintf(error.message, sizeof error.message, "%s", message);
    input_print_error("", text, &error);
    return false;
}

/* The option in **argument; steps *argument on to its value, if that is an argument of its own. */
static bool read_option(options *o, char ***argument)
{
    const char *const text = **argument, *const equals = strchr(text, '=');
    const option_row *const row = option_find(text);
    if (!row)
        return fail_at(text, 0, "no such option (--help prints them)");
    if (!row->value) {
        if (equals)
            return fail_at(text, (size_t)(equals - text), "this option takes no value");
        if (row->action.run)
            o->action = row->action;
        else
            *(bool *)((char *)o + row->flag) = row->flag_value;
        return true;
    }
    if (!equals && !row->is_optional && !(*argument)[1])
        return fail_at(text, strlen(text), "the value of this option is missing");
    const char *const value = equals ? equals + 1 : row->is_optional ? "" : *++*argument;
    /* An error points into the argument as it was written. */
    scan_error error;
    const char *const whole = equals ? text : value;
    scan s = {.text = whole, .at = value, .error = &error};
    if (!row->read(o, &s)) {
        input_print_error("", whole, &error);
        return false;
    }
    if (row->action.run)
        o->action = row->action;
    return true;
}

/* With --calls, --counters says what to count of each call; by itself it is an action. */
static void settle_action(options *o)
{
    if (o->calls && o->counters)
        o->action = option_find("--calls")->action;
}

/* What must be right about all options together. */
static bool check_together(const options *o)
{
    const char *wrong = NULL;
    if (o->kernel && o->every_kernel)
        wrong = "--kernel and --kernels exclude each other";
    else if (o->peers && (!o->time || o->every_kernel || o->fresh))
        wrong = "--peers compares times: --verify, --kernels and --fresh do not go with it";
    else if (o->rounds > 1 && (!o->time || o->peers || o->action.run != session_run))
        wrong = "--rounds spreads times over several rounds: --verify, --peers and other questions have none";
    else if ((o->html || o->svg) && o->action.run != session_run)
        wrong = "--html and --svg draw times of problems: other questions have no plots";
    else if (o->json && !o->action.writes_json)
        wrong = "--json writes what is measured: this question has no such answer";
    else if (o->svg && !o->time)
        wrong = "--svg draws times, and --verify measures none";
    else if (o->records_out && o->action.run != tune_run && o->action.run != isa_ab_run)
        wrong = "--records keeps what --tune finds or --isa-ab decides (--use reads them)";
    else if (o->csv && o->action.run != calls_run)
        wrong = "--csv keeps what --calls records";
    else if (!o->verify && !o->time)
        wrong = "--verify and --no-verify exclude each other";
    else if (o->problems.count == 0 && o->action.needs_problems)
        wrong = "no problem is given";
    if (wrong)
        fprintf(stderr, "convbench: %s\n", wrong);
    return !wrong;
}

bool options_read(options *o, int argument_count, char **arguments)
{
    *o = (options){.action = {.run = session_run, .needs_problems = true, .writes_json = true},
                   .isas = {CONV2D_ISA_ANY},
                   .isa_count = 1,
                   .threads = {1},
                   .thread_count = 1,
                   .verify = true,
                   .time = true,
                   .sample = 1,
                   .seconds = 0.5,
                   .rounds = 1};
    size_t size = 1;
    for (int i = 1; i < argument_count; i++)
        size += strlen(arguments[i]) + 1;
    /* What is no option, joined by blanks: a problem may be one argument or several. */
    char *const words = calloc(1, size), *end = words;
    bool good = words != NULL;
    for (char **argument = arguments + 1; good && argument < arguments + argument_count; argument++)
        if ((*argument)[0] == '-')
            good = read_option(o, &argument);
        else
            end += snprintf(end, size - (size_t)(end - words), "%s%s", end > words ? " " : "", *argument);
    settle_action(o);
    good = good && (end == words || input_read_text(&o->problems, "", words)) &&
           model_read_all(&o->models, &o->problems) && check_together(o);
    free(words);
    input_sample(&o->problems, o->sample);
    if (good && o->layout_count)
        good = input_repeat_in_layouts(&o->problems, o->layouts, o->layout_count);
    if (!good) {
        fprintf(stderr, "\n");
        fputs(help_grammar, stderr);
        fprintf(stderr, "convbench --help prints the options.\n");
        options_free(o);
    }
    return good;
}

void options_free(options *o)
{
    input_free(&o->problems);
    records_free(&o->records);
}

bool options_drop_missing_isas(options *o)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->isa_count; i++)
        if (o->isas[i] <= conv2d_cpu_isa())
            o->isas[kept++] = o->isas[i];
        else
            fprintf(stderr, "convbench: no %s here: this CPU, or CONV2D_ISA in the environment, allows %s\n",
                    conv2d_isa_name(o->isas[i]), conv2d_isa_name(conv2d_cpu_isa()));
    o->isa_count = kept;
    return kept > 0;
}
