/* SPDX-License-Identifier: MIT */
#include "check_problem.h"

#include <string.h>

#include "fuzz.h"

void check_problem(const problem *p)
{
    char text[PROBLEM_TEXT_SIZE], again[PROBLEM_TEXT_SIZE];
    problem second;
    scan_error error;
    REQUIRE(problem_format(p, text, sizeof text) < sizeof text);
    REQUIRE(problem_parse(text, &second, NULL, &error));
    problem_format(&second, again, sizeof again);
    REQUIRE(strcmp(text, again) == 0);
    conv2d_plan plan;
    const conv2d_status status = conv2d_plan_init(&plan, &p->desc, NULL);
    REQUIRE(status == CONV2D_OK || status == CONV2D_OVERFLOW);
}

void check_problems(const problem_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        REQUIRE(list->problems[i].count >= 1 && list->problems[i].network <= list->network_count);
        check_problem(&list->problems[i]);
    }
}
