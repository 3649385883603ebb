/* SPDX-License-Identifier: MIT */
/* Problems from the command line and from files, and saying where they are wrong. */
#ifndef CONVBENCH_INPUT_H
#define CONVBENCH_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

typedef struct problem_list {
    problem *problems;
    size_t count;
} problem_list;

/* These append; on false they have said on stderr what is wrong.  `where` goes before the message. */
bool input_read_text(problem_list *list, const char *where, const char *text);
/* One problem a line, # begins a comment, - is standard input. */
bool input_read_file(problem_list *list, const char *path);

/* Prints the error, and the text with a caret below the character at fault. */
void input_print_error(const char *where, const char *text, const scan_error *error);

#endif
