/* SPDX-License-Identifier: MIT */
/* Where the lists of a network's convolutions are. */
#ifndef CONVBENCH_SUITES_H
#define CONVBENCH_SUITES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The file of a suite: a path if the name has a slash or a point in it, else NAME.txt in the folder `suites` beside
 * this program, else where they are installed.  False, and a sentence on stderr, if there is none.
 */
bool suite_find(const char *name, char *path, size_t size);

#endif
