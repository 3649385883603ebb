/* SPDX-License-Identifier: MIT */
/*
 * Lists of shapes with a header row, in comma-separated columns of any order, of which these have a meaning:
 *
 *   ic ih iw oc kh kw            channels, the input's size and the kernel's: needed
 *   n                            batch, 1 if empty or missing          g groups   groups, 1 if missing
 *   sh sw dh dw                  strides and dilations (1 is dense), 1 if missing
 *   pt pl pb pr                  padding, 0 if missing
 *   pads_rev_twice               padding as LEFT;RIGHT;TOP;BOTTOM, instead
 *   oh ow                        the output's size: if given, it must be what the others say
 *   bias                         True or 1: there is one
 *
 * Other columns are ignored.  No quotes.
 */
#ifndef CONVBENCH_SHAPES_H
#define CONVBENCH_SHAPES_H

#include "input.h"

/* Appends the problems of a file; on false it has said on stderr what is wrong and in which line. */
bool shapes_read_file(problem_list *list, const char *path);

/* Which column means what: a line's fields by number. */
enum { SHAPES_COLUMNS = 24 };
typedef struct shapes_header {
    size_t field[SHAPES_COLUMNS]; /* 1 is the first of a line; 0: not there */
} shapes_header;

/* The parts of it: on false, message says why. */
bool shapes_read_header(shapes_header *header, const char *line, char *message, size_t message_size);
bool shapes_read_row(const shapes_header *header, const char *line, problem *p, char *message, size_t message_size);

#endif
