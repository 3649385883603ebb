/* SPDX-License-Identifier: MIT */
#include "shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

enum { IC, IH, IW, OC, KH, KW, NEEDED_COLUMNS, BATCH = NEEDED_COLUMNS, GROUPS, SH, SW, DH, DW, PT, PL, PB, PR, OH, OW };
/* Those with a text, and another name for the groups. */
enum { PADS = OW + 1, BIAS, OTHER_GROUPS, NAMED_COLUMNS };

static const char *const names[NAMED_COLUMNS] = {
    [IC] = "ic",
    [IH] = "ih",
    [IW] = "iw",
    [OC] = "oc",
    [KH] = "kh",
    [KW] = "kw",
    [BATCH] = "n",
    [GROUPS] = "g",
    [SH] = "sh",
    [SW] = "sw",
    [DH] = "dh",
    [DW] = "dw",
    [PT] = "pt",
    [PL] = "pl",
    [PB] = "pb",
    [PR] = "pr",
    [OH] = "oh",
    [OW] = "ow",
    [PADS] = "pads_rev_twice",
    [BIAS] = "bias",
    [OTHER_GROUPS] = "groups",
};

_Static_assert(sizeof names / sizeof *names <= SHAPES_COLUMNS, "a header has room for all columns");

static const char END[] = ",\r\n";

bool shapes_read_header(shapes_header *header, const char *line, char *message, size_t message_size)
{
    *header = (shapes_header){.field = {0}};
    size_t number = 1;
    for (const char *at = line; *at && *at != '\r' && *at != '\n'; number++) {
        const size_t length = strcspn(at, END);
        for (size_t i = 0; i < NAMED_COLUMNS; i++)
            if (strlen(names[i]) == length && strncmp(names[i], at, length) == 0)
                header->field[i] = number;
        at += length + (at[length] == ',');
    }
    for (size_t i = 0; i < NEEDED_COLUMNS; i++)
        if (!header->field[i]) {
            snprintf(message, message_size, "the header row has no column %s", names[i]);
            return false;
        }
    return true;
}

/* The field of that column, or an empty text. */
static const char *find_field(const shapes_header *header, const char *line, size_t column)
{
    const size_t number = header->field[column];
    for (size_t i = 1; number && i < number; i++) {
        line += strcspn(line, END);
        if (*line != ',')
            return "";
        line++;
    }
    return number ? line : "";
}

/* A number that ends where a field does, or a part of one at a semicolon; *at steps behind it. */
static bool read_number(const char **at, size_t *value)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(*at, &end, 10);
    const bool good = end != *at && **at != '-' && errno == 0 && (!*end || strchr(",;\r\n", *end));
    *at = *end == ';' ? end + 1 : end;
    *value = (size_t)number;
    return good;
}

/* All columns with numbers; those that are empty or missing get the usual value. */
static bool read_numbers(const shapes_header *header, const char *line, size_t values[PADS], size_t *wrong)
{
    for (size_t i = 0; i < PADS; i++) {
        const char *field = find_field(header, line, i == GROUPS && !header->field[i] ? OTHER_GROUPS : i);
        *wrong = i;
        values[i] = i >= BATCH && i <= DW;
        if ((i < NEEDED_COLUMNS || strcspn(field, END)) && !read_number(&field, &values[i]))
            return false;
    }
    const char *field = find_field(header, line, PADS);
    const size_t order[] = {PL, PR, PT, PB};
    *wrong = PADS;
    const size_t given = strcspn(field, END) ? sizeof order / sizeof *order : 0;
    for (size_t i = 0; i < given; i++)
        if (!read_number(&field, &values[order[i]]))
            return false;
    return true;
}

/* TensorFlow's SAME, which exports name by the output's size alone: the odd one of the padding goes behind. */
static void pad_as_same(size_t out, size_t in, size_t span, size_t stride, size_t *before, size_t *behind)
{
    const bool same = out && stride && !*before && !*behind && out == in / stride + (in % stride != 0);
    const size_t reach = same ? (out - 1) * stride + span : 0;
    if (reach > in) {
        *before = (reach - in) / 2;
        *behind = reach - in - *before;
    }
}

bool shapes_read_row(const shapes_header *header, const char *line, problem *p, char *message, size_t message_size)
{
    size_t v[PADS], wrong;
    if (!read_numbers(header, line, v, &wrong)) {
        snprintf(message, message_size, "column %s: a number is missing", names[wrong]);
        return false;
    }
    pad_as_same(v[OH], v[IH], (v[KH] - 1) * v[DH] + 1, v[SH], &v[PT], &v[PB]);
    pad_as_same(v[OW], v[IW], (v[KW] - 1) * v[DW] + 1, v[SW], &v[PL], &v[PR]);
    const char *const bias = find_field(header, line, BIAS);
    char text[2 * PROBLEM_TEXT_SIZE];
    snprintf(text, sizeof text, "%zux%zux%zux%zu %zux%zux%zu s%zux%zu d%zux%zu p%zu,%zu,%zu,%zu g%zu%s", v[BATCH],
             v[IC], v[IH], v[IW], v[OC], v[KH], v[KW], v[SH], v[SW], v[DH], v[DW], v[PT], v[PB], v[PL], v[PR],
             v[GROUPS], *bias == 'T' || *bias == '1' ? " b" : "");
    scan_error error;
    if (!problem_parse(text, p, NULL, &error)) {
        snprintf(message, message_size, "%s: %s", text, error.message);
        return false;
    }
    size_t height = 0, width = 0;
    oracle_output_size(&p->desc, &height, &width);
    if ((v[OH] && v[OH] != height) || (v[OW] && v[OW] != width)) {
        snprintf(message, message_size, "%s: the output is %zux%zu, not %zux%zu", text, height, width, v[OH], v[OW]);
        return false;
    }
    return true;
}

bool shapes_read_file(problem_list *list, const char *path)
{
    FILE *const file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "convbench: %s: %s\n", path, strerror(errno));
        return false;
    }
    char *line = NULL, message[3 * PROBLEM_TEXT_SIZE] = "there is no header row";
    size_t size = 0, number = 0;
    shapes_header header;
    bool good = getline(&line, &size, file) >= 0 && shapes_read_header(&header, line, message, sizeof message);
    for (number = 1; good && getline(&line, &size, file) >= 0; number++) {
        problem p;
        good = line[strspn(line, " \r\n")] == '\0' ||
               (shapes_read_row(&header, line, &p, message, sizeof message) && input_add(list, &p));
    }
    if (!good)
        fprintf(stderr, "convbench: %s:%zu: %s\n", path, number, message);
    free(line);
    fclose(file);
    return good;
}
