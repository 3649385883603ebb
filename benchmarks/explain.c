/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdio.h>
#include <stdlib.h>

int explain_run(options *asked)
{
    enum { MESSAGE_SIZE = 8192 };
    bool good = true;
    for (size_t i = 0; i < asked->problems.count * asked->isa_count; i++) {
        const problem *const p = &asked->problems.problems[i / asked->isa_count];
        const conv2d_options wanted = {.isa = asked->isas[i % asked->isa_count],
                                       .kernel = asked->kernel,
                                       .records = asked->records.records,
                                       .record_count = asked->records.count};
        conv2d_desc desc = p->desc;
        const float any = 0; /* a plan looks only whether there is a bias, and a residual */
        desc.bias = p->with_bias ? &any : NULL;
        desc.residual = p->with_residual ? &any : NULL;
        conv2d_plan plan;
        const conv2d_status status = conv2d_plan_init(&plan, &desc, &wanted);
        char name[PROBLEM_TEXT_SIZE], text[MESSAGE_SIZE];
        problem_format(p, name, sizeof name);
        conv2d_explain(&plan, text, sizeof text);
        printf("%s%s, isa at most %s: %s\n%s", i ? "\n" : "", name, conv2d_isa_name(wanted.isa),
               conv2d_status_string(status), text);
        good &= status == CONV2D_OK;
    }
    return good ? EXIT_SUCCESS : EXIT_WRONG_RESULT;
}
