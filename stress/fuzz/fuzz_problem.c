/* SPDX-License-Identifier: MIT */
/* Text as a problem: convbench's grammar, benchdnn strings, ONEDNN_VERBOSE lines; and as a row of --shapes. */
#include <stdlib.h>
#include <string.h>

#include "check_problem.h"
#include "fuzz.h"

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
