/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "torture_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG_ARGUMENT = 2 };

static bool read_count(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static bool read_amount(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return *text && *end == '\0' && *value > 0 && *value < 1e12;
}

static bool read_seed(torture_options *o, const char *text)
{
    return read_count(text, &o->seed);
}

static bool read_first(torture_options *o, const char *text)
{
    return read_count(text, &o->first);
}

static bool read_cases(torture_options *o, const char *text)
{
    return read_count(text, &o->count);
}

static bool read_seconds(torture_options *o, const char *text)
{
    return read_amount(text, &o->seconds);
}

static bool read_work(torture_options *o, const char *text)
{
    return read_amount(text, &o->work);
}

static bool read_kernel(torture_options *o, const char *text)
{
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        if (strcmp(info.name, text) == 0) {
            o->kernel = text;
            o->isa = info.isa;
        }
    return o->kernel && o->isa <= conv2d_cpu_isa();
}

static bool read_isa(torture_options *o, const char *text)
{
    for (o->isa = CONV2D_ISA_SCALAR; o->isa <= conv2d_cpu_isa(); o->isa++)
        if (strcmp(conv2d_isa_name(o->isa), text) == 0)
            return true;
    return false;
}

static const struct option_row {
    const char *name, *value, *help, *wrong;
    bool (*read)(torture_options *o, const char *text);
} rows[] = {
    {"--seconds", "S", "stop after so long (default 60, or no limit with --count)", "a time in seconds", read_seconds},
    {"--count", "N", "stop after so many cases", "a number of cases", read_cases},
    {"--seed", "N", "which sequence of cases (default 1)", "a number", read_seed},
    {"--first", "N", "begin with this case of it (default 0): any case can be repeated alone", "a number", read_first},
    {"--work", "N", "multiply-adds of a case at most (default 4000; one case in 2000 has up to 2000000)", "a number",
     read_work},
    {"--isa", "ISA", "only this one: scalar, avx2, avx512", "an instruction set that this CPU has", read_isa},
    {"--kernel", "NAME", "only this one (convbench --list prints the names)", "a kernel that runs on this CPU",
     read_kernel},
};

static void print_help(void)
{
    printf("conv2d-torture: random convolutions by random kernels, each compared with the definition bit by bit\n"
           "usage: conv2d-torture [OPTION]...\n\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("  %-9s %-4s  %s\n", rows[i].name, rows[i].value, rows[i].help);
    printf("\nExit code: 0; 1 at the first difference, with the commands that repeat it; 2 when an argument is "
           "wrong.\n");
}

bool torture_options_read(torture_options *o, int argument_count, char **arguments, int *code)
{
    *o = (torture_options){.seed = 1, .work = 4000};
    *code = EXIT_WRONG_ARGUMENT;
    for (int i = 1; i < argument_count; i++) {
        if (strcmp(arguments[i], "--help") == 0) {
            print_help();
            *code = EXIT_SUCCESS;
            return false;
        }
        const struct option_row *row = rows, *const end = rows + sizeof rows / sizeof *rows;
        while (row < end && strcmp(row->name, arguments[i]) != 0)
            row++;
        if (row == end || ++i == argument_count || !row->read(o, arguments[i])) {
            if (row == end)
                fprintf(stderr, "conv2d-torture: %s is no option (--help prints them)\n", arguments[i]);
            else
                fprintf(stderr, "conv2d-torture: %s takes %s\n", row->name, row->wrong);
            return false;
        }
    }
    if (o->count == 0 && o->seconds <= 0)
        o->seconds = 60;
    return true;
}
