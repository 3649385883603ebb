/* SPDX-License-Identifier: MIT */
/* The words of JSON: what a text consists of below arrays and objects (json_value.c). */
#ifndef CONVBENCH_JSON_READER_H
#define CONVBENCH_JSON_READER_H

#include "json_value.h"

typedef struct json_reader {
    char *at, *end, *line_start; /* a 0 stands at the end */
    unsigned line;               /* counted from 1 */
    json_error *error;
} json_reader;

/* Notes the error here and returns false; the second one: that `what` is missing here. */
bool json_fail(json_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool json_expected(json_reader *r, const char *what);

/* The character that comes next; '\0' at the end, which no text may hold elsewhere. */
char json_next(const json_reader *r);
void json_skip_blanks(json_reader *r);
/* Steps over c, which must come next. */
bool json_skip(json_reader *r, char c, const char *what);

bool json_is_digit(char c);

/* All step over what they read.  The string lies in the text, in place: no escape is shorter than what it means. */
bool json_read_string(json_reader *r, const char **text);
bool json_read_number(json_reader *r, double *number);
/* null, false or true. */
bool json_read_word(json_reader *r, json_type *type);

#endif
