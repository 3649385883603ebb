/* SPDX-License-Identifier: MIT */
/*
 * A line on the terminal that says how far a long command is: what is measured, how many are done, the time left.
 * It is on standard error and only if that is a terminal; else all of this does nothing.  There is one such line, so
 * there is one of these.
 */
#ifndef CONVBENCH_PROGRESS_H
#define CONVBENCH_PROGRESS_H

#include <stddef.h>

/* From here on there are so many steps to take. */
void progress_begin(size_t steps);
/* Draws the line: `what` is next, or goes on. */
void progress_show(const char *what);
/* One step more is done. */
void progress_step(void);
/* So many are done, whatever was counted before. */
void progress_reach(size_t done);
/* Takes the line away, before anything else is written to the terminal. */
void progress_clear(void);

/* The time left as people say it, "1:05" or "2:03:00": at most 15 characters, "" if nothing is known. */
enum { PROGRESS_TIME_SIZE = 16 };
void progress_format_left(char text[PROGRESS_TIME_SIZE], double elapsed, size_t done, size_t steps);

#endif
