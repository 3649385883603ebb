/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbose_log.h"

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

/* But for how often they occur.  The parser sets a problem's bytes to 0 first, also those between its fields. */
static bool same_problem(const problem *a, const problem *b)
{
    return memcmp(&a->desc, &b->desc, sizeof a->desc) == 0 && a->with_bias == b->with_bias &&
           a->with_residual == b->with_residual && a->in_place == b->in_place;
}

bool input_count(problem_list *list, size_t first, const problem *p)
{
    for (size_t i = first; i < list->count; i++)
        if (same_problem(&list->problems[i], p)) {
            list->problems[i].count += p->count;
            return true;
        }
    return input_add(list, p);
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

bool input_add_network(problem_list *list, const char *path)
{
    char(*const grown)[NETWORK_NAME_SIZE] = realloc(list->networks, (list->network_count + 1) * sizeof *grown);
    if (!grown)
        return out_of_memory();
    list->networks = grown;
    const char *const slash = strrchr(path, '/'), *const base = slash ? slash + 1 : path;
    snprintf(grown[list->network_count++], sizeof *grown, "%.*s", (int)strcspn(base, "."), base);
    return true;
}

/* Where a file is read: whether it is a log, which the first line with something in it decides, unless it is known. */
typedef struct reading {
    problem_list *list;
    const char *name;
    size_t line;
    bool begun, is_log;
    verbose_log log;
} reading;

static bool read_line(reading *r, char *line)
{
    char where[512];
    r->line++;
    if (!r->begun && line[strspn(line, " \t\r\n")] != '\0' && line[strspn(line, " \t")] != '#') {
        r->begun = true;
        r->is_log |= verbose_log_starts(line);
    }
    if (r->is_log)
        return verbose_log_add(&r->log, line) || out_of_memory();
    line[strcspn(line, "#\r\n")] = '\0';
    snprintf(where, sizeof where, "%s:%zu: ", r->name, r->line);
    return line[strspn(line, " \t")] == '\0' || input_read_text(r->list, where, line);
}

static bool keep_log(reading *r)
{
    char notes[1024];
    verbose_log_describe(&r->log, notes, sizeof notes);
    fprintf(stderr, "convbench: %s: %zu executions of %zu different convolutions\n%s", r->name, r->log.executions,
            r->log.count, notes);
    bool good = input_add_network(r->list, r->name);
    for (size_t i = 0; i < r->log.count && good; i++) {
        r->log.problems[i].network = r->list->network_count;
        good = input_add(r->list, &r->log.problems[i]);
    }
    return good;
}

static bool read_lines(problem_list *list, const char *path, bool is_log)
{
    const bool standard_input = strcmp(path, "-") == 0;
    reading r = {.list = list, .name = standard_input ? "standard input" : path, .is_log = is_log};
    FILE *const file = standard_input ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    bool good = file != NULL;
    while (good && getline(&line, &size, file) >= 0)
        good = read_line(&r, line);
    if (!file || (good && ferror(file))) {
        fprintf(stderr, "convbench: %s: %s\n", r.name, strerror(errno));
        good = false;
    }
    good = good && (!r.is_log || keep_log(&r));
    verbose_log_free(&r.log);
    free(line);
    if (file && !standard_input)
        fclose(file);
    return good;
}

bool input_read_file(problem_list *list, const char *path)
{
    return read_lines(list, path, false);
}

bool input_read_network(problem_list *list, const char *path)
{
    const size_t before = list->count;
    if (!input_add_network(list, path) || !read_lines(list, path, false))
        return false;
    for (size_t i = before; i < list->count; i++)
        list->problems[i].network = list->network_count;
    return true;
}

bool input_read_log(problem_list *list, const char *path)
{
    return read_lines(list, path, true);
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
