/* SPDX-License-Identifier: MIT */
#include "option_man.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "option_help.h"
#include "option_table.h"

/* Text as roff reads it: hyphens that can be copied, no requests by chance. */
static void put_text(const char *text)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
        at_start = *text == '\n';
    }
}

/* Lines as they are. */
static void put_lines(const char *text)
{
    fputs(".nf\n", stdout);
    put_text(text);
    fputs(".fi\n", stdout);
}

static void put_section(const char *title)
{
    fputs(".SH \"", stdout);
    for (; *title; title++)
        putchar(toupper((unsigned char)*title));
    fputs("\"\n", stdout);
}

static void put_option(const option_row *row)
{
    fputs(".TP\n.B ", stdout);
    put_text(row->name);
    if (row->value)
        printf(row->is_optional ? "\\fR%s" : " \\fI%s", row->value);
    fputs("\\fR\n", stdout);
    put_text(row->help);
    putchar('\n');
}

static void put_options(void)
{
    for (size_t g = 0; g < OPTION_GROUPS; g++) {
        put_section(option_groups[g]->title);
        for (size_t i = 0; i < option_groups[g]->count; i++)
            if (option_groups[g]->rows[i].help)
                put_option(&option_groups[g]->rows[i]);
    }
}

/* What convbench diff says of itself; false without memory for it. */
static bool put_diff(void)
{
    char *text = NULL;
    size_t size;
    FILE *const file = open_memstream(&text, &size);
    if (!file)
        return false;
    diff_print_help(file);
    const bool good = fclose(file) == 0 && text;
    if (good)
        put_lines(text);
    free(text);
    return good;
}

int man_run(options *asked)
{
    (void)asked;
    printf(".TH CONVBENCH 1 \"\" \"libconv2d %s\" \"User Commands\"\n", CONV2D_VERSION);
    put_section("name");
    fputs("convbench \\- verify and time 2\\-D convolutions\n", stdout);
    put_section("synopsis");
    fputs(".B convbench\n[\\fIOPTION\\fR]... \\fIPROBLEM\\fR...\n.br\n"
          ".B convbench diff\n[\\fIOPTION\\fR]... \\fIOLD\\fR... \\fINEW\\fR...\n.br\n"
          ".B convbench diff \\-\\-run\n[\\fIOPTION\\fR]... \\fIOLD\\fR \\fINEW\\fR \\-\\- \\fIARGUMENT\\fR...\n",
          stdout);
    put_section("description");
    put_text(
        "convbench compares the convolutions of libconv2d bit by bit with an oracle, and times them: how fast is each, "
        "and how near\nto what this CPU and its memory can do, both measured in the same run?  It also says which "
        "kernel runs and why, what\nsingle calls hang together with, and how other libraries do.\n");
    put_section("problems");
    put_lines(help_grammar);
    fputs(".PP\n", stdout);
    put_lines(help_columns);
    put_options();
    put_section("comparing results");
    const bool whole = put_diff();
    put_section("examples");
    put_lines(help_examples);
    put_section("exit status");
    put_text("0; 1 when a result is wrong or a run failed; 2 when an argument is wrong.  Those of convbench diff are "
             "above.\n");
    put_section("environment");
    fputs(".TP\n.B CONV2D_ISA\n", stdout);
    put_text("scalar, avx2 or avx512: an upper bound for every plan.\n");
    fputs(".TP\n.B CONV2D_VERBOSE\n", stdout);
    put_text(
        "If neither empty nor 0, the library writes a line to standard error for each plan and each part of a run.\n");
    return whole ? EXIT_SUCCESS : EXIT_FAILURE;
}
