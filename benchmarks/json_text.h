/* SPDX-License-Identifier: MIT */
/* Writing JSON: the commas, the quotes, and a file of it. */
#ifndef CONVBENCH_JSON_TEXT_H
#define CONVBENCH_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A text in which the next member of an object or element of an array is still to come. */
typedef struct json {
    FILE *file;
    bool first; /* of the innermost object or array */
} json;

/* name: of the member, NULL in an array. */
void json_open(json *j, const char *name, char bracket);
void json_close(json *j, char bracket);
/* The first members of every file: which of its schemas it follows, and the version of all of them. */
enum { JSON_SCHEMA_VERSION = 2 };
void json_schema(json *j, const char *schema);
/* NULL is null. */
void json_string(json *j, const char *name, const char *value);
/* JSON has no infinities and NaNs: what was not measured is null. */
void json_number(json *j, const char *name, double value);
void json_numbers(json *j, const char *name, const double *values, size_t count);
/* Several members with their numbers. */
typedef struct json_figure {
    const char *name;
    double value;
} json_figure;
void json_figures(json *j, const json_figure *figures, size_t count);
void json_truth(json *j, const char *name, bool known, bool value);
/* The next element on a line of its own: easy on diff and grep. */
void json_new_line(json *j);

/* Has `add` write a whole text as file_write does. */
bool json_write_file(const char *path, void (*add)(json *j, const void *context), const void *context);

#endif
