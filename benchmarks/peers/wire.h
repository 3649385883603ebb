/* SPDX-License-Identifier: MIT */
/* The problem line of the protocol (README.md), for both of its ends. */
#ifndef CONVBENCH_PEERS_WIRE_H
#define CONVBENCH_PEERS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

enum { WIRE_MODE_SIZE = 32, WIRE_LINE_SIZE = 4096 };

/* Writes the line that asks for this problem in this mode, without its end.  Length and cut as snprintf. */
size_t wire_format(const problem *p, const char *mode, char *line, size_t size);

/* Reads what follows the word "problem".  False if anything is missing, unknown or no number. */
bool wire_parse(const char *line, problem *p, char mode[WIRE_MODE_SIZE]);

/* "nchw-winograd" -> true, and the length of "nchw". */
bool wire_mode_is_winograd(const char *mode, size_t *layout_length);

#endif
