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

static bool out_of_memory(void)
{
    fprintf(stderr, "convbench: no memory for so many problems\n");
    return false;
}

bool input_add(problem_list *list, const problem *p)
{
    problem *const grown = realloc(list->problems, (list->count + 1) * sizeof *grown);
    if (!grown)
        return out_of_memory();
    list->problems = grown;
    grown[list->count++] = *p;
    return true;
}

bool input_read_text(problem_list *list, const char *where, const char *text)
{
    scan_error error;
    do {
        problem p;
        const char *const start = text;
        if (!problem_parse(start, &p, &text, &error)) {
            input_print_error(where, start, &error);
            return false;
        }
        if (!input_add(list, &p))
            return false;
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

bool input_read_network(problem_list *list, const char *path)
{
    const size_t before = list->count;
    char(*const grown)[NETWORK_NAME_SIZE] = realloc(list->networks, (list->network_count + 1) * sizeof *grown);
    if (!grown)
        return out_of_memory();
    list->networks = grown;
    const char *const slash = strrchr(path, '/'), *const base = slash ? slash + 1 : path;
    snprintf(grown[list->network_count++], sizeof *grown, "%.*s", (int)strcspn(base, "."), base);
    if (!input_read_file(list, path))
        return false;
    for (size_t i = before; i < list->count; i++)
        list->problems[i].network = list->network_count;
    return true;
}

void input_sample(problem_list *list, size_t step)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i += step)
        list->problems[kept++] = list->problems[i];
    list->count = kept;
}

bool input_repeat_in_layouts(problem_list *list, const conv2d_desc *layouts, size_t count)
{
    problem_list repeated = {.networks = list->networks, .network_count = list->network_count};
    bool good = true;
    for (size_t i = 0; i < list->count * count && good; i++) {
        problem p = list->problems[i / count];
        p.desc.in_layout = layouts[i % count].in_layout;
        p.desc.out_layout = layouts[i % count].out_layout;
        good = input_add(&repeated, &p);
    }
    free(list->problems);
    *list = repeated;
    return good;
}

void input_free(problem_list *list)
{
    free(list->problems);
    free(list->networks);
    *list = (problem_list){.count = 0};
}
