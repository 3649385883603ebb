/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdio.h>
#include <stdlib.h>

/* All that the library says of a plan, to be freed; NULL without memory. */
static char *explain_whole(const conv2d_plan *plan)
{
    const size_t size = conv2d_explain(plan, NULL, 0) + 1;
    char *const text = malloc(size);
    if (text)
        conv2d_explain(plan, text, size);
    return text;
}

static bool explain_one(const options *asked, const problem *p, conv2d_isa isa, bool first)
{
    const conv2d_options wanted = {
        .isa = isa, .kernel = asked->kernel, .records = asked->records.records, .record_count = asked->records.count};
    conv2d_desc desc = p->desc;
    const float any = 0; /* a plan looks only whether there is a bias, and a residual */
    desc.bias = p->with_bias ? &any : NULL;
    desc.residual = p->with_residual ? &any : NULL;
    conv2d_plan plan;
    const conv2d_status status = conv2d_plan_init(&plan, &desc, &wanted);
    char name[PROBLEM_TEXT_SIZE];
    problem_format(p, name, sizeof name);
    char *const text = explain_whole(&plan);
    printf("%s%s, isa at most %s: %s\n%s", first ? "" : "\n", name, conv2d_isa_name(isa), conv2d_status_string(status),
           text ? text : "no memory for the explanation\n");
    free(text);
    return status == CONV2D_OK && text;
}

int explain_run(options *asked)
{
    bool good = true;
    for (size_t i = 0; i < asked->problems.count * asked->isa_count; i++)
        good &= explain_one(asked, &asked->problems.problems[i / asked->isa_count], asked->isas[i % asked->isa_count],
                            i == 0);
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
