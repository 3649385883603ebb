/* SPDX-License-Identifier: MIT */
/* The tracer's report: plans and kernels, the most time first. */
#ifndef CONV2D_TRACE_REPORT_H
#define CONV2D_TRACE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes it to a file descriptor: text, or a comma-separated line for each plan.  Safe in a signal handler: it calls
 * nothing of libc but write, and allocates nothing.  Not to be called by two threads at a time.  False if not all of it
 * could be written.
 */
bool trace_report(int file, bool as_csv, const char *occasion, uint64_t elapsed);

#endif
