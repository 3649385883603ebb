/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool model_read_input(model_input *input, scan *s)
{
    size_t sizes[4], count = 0;
    do {
        if (count == 4)
            return scan_fail(s, s->at, "the input is CxHxW or NxCxHxW");
        if (!scan_number(s, "the input's size", 1, &sizes[count++]))
            return false;
    } while (scan_skip(s, 'x'));
    if (count < 3)
        return scan_fail(s, s->at, "the input is CxHxW or NxCxHxW");
    *input = (model_input){count == 4 ? sizes[0] : 0, sizes[count - 3], sizes[count - 2], sizes[count - 1]};
    return scan_end_word(s);
}

bool model_add(model_list *list, model_reader *read, const char *path)
{
    if (list->count == MOST_MODELS)
        return false;
    list->models[list->count].read = read;
    list->models[list->count++].path = path;
    return true;
}

bool model_read_all(const model_list *list, problem_list *problems)
{
    bool good = true;
    for (size_t i = 0; i < list->count && good; i++)
        good = list->models[i].read(problems, list->models[i].path, &list->input);
    return good;
}

void model_note(model_notes *notes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (notes->length < notes->size) {
        const int length = vsnprintf(notes->text + notes->length, notes->size - notes->length, format, arguments);
        notes->length += length > 0 ? (size_t)length : 0;
    }
    va_end(arguments);
}

bool model_add_problem(problem_list *list, size_t first, const char *text, const char *where, model_notes *notes)
{
    problem p;
    scan_error error;
    if (!problem_parse(text, &p, NULL, &error)) {
        model_note(notes, "  %s is left out: %s (%s)\n", where, error.message, text);
        return true;
    }
    return input_count(list, first, &p);
}

bool model_finish(problem_list *list, size_t first, const char *path, const model_notes *notes)
{
    size_t executions = 0;
    if (!input_add_network(list, path))
        return false;
    for (size_t i = first; i < list->count; i++) {
        executions += list->problems[i].count;
        list->problems[i].network = list->network_count;
    }
    fprintf(stderr, "convbench: %s: %zu convolutions, %zu of them different\n%s", path, executions, list->count - first,
            notes->text);
    if (notes->length >= notes->size)
        fprintf(stderr, "\n  ... and more\n");
    return true;
}
