/* SPDX-License-Identifier: MIT */
#include "chain_problem.h"

#include <stdio.h>
#include <string.h>

#include "input.h"
#include "oracle.h"

static bool parse(const char *text, problem *p)
{
    scan_error error;
    if (problem_parse(text, p, NULL, &error))
        return true;
    input_print_error("", text, &error);
    return false;
}

/* The first's output as the input of a problem, with a blank after it. */
static void output_as_input(const problem *p, char *text, size_t size)
{
    size_t height = 0, width = 0;
    oracle_output_size(&p->desc, &height, &width);
    snprintf(text, size, "%zux%zux%zux%zu ", p->desc.batch, p->desc.out_channels, height, width);
}

bool chain_parse(const char *text, chain_problem *chain)
{
    char first[PROBLEM_TEXT_SIZE], second[CHAIN_TEXT_SIZE];
    const char *const plus = strchr(text, '+');
    if (!plus || strlen(text) >= sizeof first) {
        fprintf(stderr, "convbench: a chain is a problem, a +, and a problem without input or max2: %s\n", text);
        return false;
    }
    snprintf(first, sizeof first, "%.*s", (int)(plus - text), text);
    if (!parse(first, &chain->first))
        return false;
    const char *rest = plus + 1 + strspn(plus + 1, " \t");
    output_as_input(&chain->first, second, sizeof second);
    chain->pools = strncmp(rest, "max2", 4) == 0 && strspn(rest + 4, " \t\r\n") == strlen(rest + 4);
    const size_t length = strlen(second);
    if (chain->pools)
        snprintf(second + length, sizeof second - length, "2x2 s2 g%zu", chain->first.desc.out_channels);
    else
        snprintf(second + length, sizeof second - length, "%s", rest);
    if (!parse(second, &chain->second))
        return false;
    if (chain->pools)
        chain->second.desc.in_layout = chain->second.desc.out_layout = chain->first.desc.out_layout;
    return true;
}

size_t chain_format(const chain_problem *chain, char *text, size_t size)
{
    char first[PROBLEM_TEXT_SIZE], second[PROBLEM_TEXT_SIZE];
    problem_format(&chain->first, first, sizeof first);
    problem_format(&chain->second, second, sizeof second);
    const char *const rest = chain->pools ? "max2" : strchr(second, ' ') + 1;
    const int length = snprintf(text, size, "%s + %s", first, rest);
    return length > 0 ? (size_t)length : 0;
}
