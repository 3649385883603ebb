/* SPDX-License-Identifier: MIT */
/* Text as a list of shapes: the first line as its titles, the others as rows. */
#include <stdlib.h>
#include <string.h>

#include "check_problem.h"
#include "fuzz.h"
#include "shapes.h"

static void read_rows(char *titles, char *lines)
{
    shapes_header header;
    char message[200] = "";
    if (!shapes_read_header(&header, titles, message, sizeof message)) {
        REQUIRE(strlen(message) > 0);
        return;
    }
    for (char *line = lines, *next; line; line = next) {
        problem p;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!shapes_read_row(&header, line, &p, message, sizeof message)) {
            REQUIRE(strlen(message) > 0);
            continue;
        }
        check_problem(&p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *const text = fuzz_string(bytes, size), *const end = strchr(text, '\n');
    if (end) {
        *end = '\0';
        read_rows(text, end + 1);
    }
    free(text);
    return 0;
}
