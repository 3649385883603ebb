/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void input_print_error(const char *where, const char *text, const scan_error *error)
{
    /* No more of a long text than fits in a line. */
    enum { BEFORE = 60, LINE = 100 };
    const size_t skipped = error->offset > BEFORE ? error->offset - BEFORE : 0;
    const char *const mark = skipped ? "..." : "";
    fprintf(stderr, "convbench: %s%s\n    %s%.*s\n%*s^\n", where, error->message, mark, LINE, text + skipped,
            (int)(4 + strlen(mark) + error->offset - skipped), "");
}

bool input_read_text(problem_list *list, const char *where, const char *text)
{
    scan_error error;
    do {
        problem *const grown = realloc(list->problems, (list->count + 1) * sizeof *grown);
        if (!grown) {
            fprintf(stderr, "convbench: no memory for so many problems\n");
            return false;
        }
        list->problems = grown;
        const char *const start = text;
        if (!problem_parse(start, &grown[list->count], &text, &error)) {
            input_print_error(where, start, &error);
            return false;
        }
        list->count++;
    } while (*text);
    return true;
}

bool input_read_file(problem_list *list, const char *path)
{
    const bool standard_input = strcmp(path, "-") == 0;
    FILE *const file = standard_input ? stdin : fopen(path, "r");
    if (!file) {
        fprintf(stderr, "convbench: %s: %s\n", path, strerror(errno));
        return false;
    }
    char *line = NULL, where[512];
    size_t size = 0;
    bool good = true;
    for (size_t number = 1; good && getline(&line, &size, file) >= 0; number++) {
        line[strcspn(line, "#\r\n")] = '\0';
        snprintf(where, sizeof where, "%s:%zu: ", standard_input ? "standard input" : path, number);
        good = line[strspn(line, " \t")] == '\0' || input_read_text(list, where, line);
    }
    if (good && ferror(file)) {
        fprintf(stderr, "convbench: %s: %s\n", path, strerror(errno));
        good = false;
    }
    free(line);
    if (!standard_input)
        fclose(file);
    return good;
}
