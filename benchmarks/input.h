/* SPDX-License-Identifier: MIT */
/* Problems from the command line and from files, and saying where they are wrong. */
#ifndef CONVBENCH_INPUT_H
#define CONVBENCH_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

enum { NETWORK_NAME_SIZE = 64 };

typedef struct problem_list {
    problem *problems;
    size_t count;
    char (*networks)[NETWORK_NAME_SIZE]; /* problem.network counts them from 1 */
    size_t network_count;
} problem_list;

/* These append; on false they have said on stderr what is wrong.  `where` goes before the message. */
bool input_read_text(problem_list *list, const char *where, const char *text);
/* One problem a line, # begins a comment, - is standard input.  A file whose first line is one of ONEDNN_VERBOSE is a
 * log (verbose_log.h): it becomes a network, and what is left out of it is said on stderr. */
bool input_read_file(problem_list *list, const char *path);
/* The same, and these problems make a network, named after the file. */
bool input_read_network(problem_list *list, const char *path);
/* A log of ONEDNN_VERBOSE, in which other lines may stand too, also in front. */
bool input_read_log(problem_list *list, const char *path);
bool input_add(problem_list *list, const problem *p);
/* One that is already there, from problem number `first` on, is counted once more instead. */
bool input_count(problem_list *list, size_t first, const problem *p);
/* The next network, named after the file, without any problems yet. */
bool input_add_network(problem_list *list, const char *path);

/* Keeps every step-th problem, beginning with the first. */
void input_sample(problem_list *list, size_t step);
/* Replaces each problem by one in each of these layouts (only those fields of a descriptor count). */
bool input_repeat_in_layouts(problem_list *list, const conv2d_desc *layouts, size_t count);
void input_free(problem_list *list);

/* Prints the error, and the text with a caret below the character at fault. */
void input_print_error(const char *where, const char *text, const scan_error *error);

#endif
