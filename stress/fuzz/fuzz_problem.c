/* SPDX-License-Identifier: MIT */
/* Text as a problem: convbench's grammar, benchdnn strings, ONEDNN_VERBOSE lines; and as a row of --shapes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "problem.h"

/* What is accepted is written in a form that is read back as the same problem, and planning knows what to say. */
static void check_problem(const problem *p)
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *const text = fuzz_string(bytes, size);
    const char *rest = text;
    problem p;
    scan_error error;
    while (*rest && problem_parse(rest, &p, &rest, &error))
        check_problem(&p);
    if (!problem_parse(text, &p, NULL, &error)) {
        REQUIRE(error.offset <= size);
        REQUIRE(strlen(error.message) > 0 && strlen(error.message) < sizeof error.message);
    }
    free(text);
    return 0;
}
