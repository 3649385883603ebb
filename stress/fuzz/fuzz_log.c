/* SPDX-License-Identifier: MIT */
/* Text as what ONEDNN_VERBOSE wrote. */
#include <stdlib.h>
#include <string.h>

#include "check_problem.h"
#include "fuzz.h"
#include "verbose_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *const text = fuzz_string(bytes, size), description[1000];
    verbose_log log = {.count = 0};
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        verbose_log_starts(line);
        REQUIRE(verbose_log_add(&log, line));
    }
    REQUIRE(log.executions >= log.count);
    for (size_t i = 0; i < log.count; i++)
        check_problem(&log.problems[i]);
    verbose_log_describe(&log, description, sizeof description);
    REQUIRE(strlen(description) < sizeof description);
    verbose_log_free(&log);
    free(text);
    return 0;
}
