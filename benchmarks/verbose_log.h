/* SPDX-License-Identifier: MIT */
/*
 * What a program that uses oneDNN wrote with ONEDNN_VERBOSE=1: each different forward convolution becomes a problem, in
 * the order of first use, with the number of its executions as its count.  Everything else in the text is passed over.
 *
 *   onednn_verbose[,v1][,TIME][,primitive],exec,ENGINE,
 *       convolution,IMPLEMENTATION,PROP,DESCRIPTORS,ATTRIBUTES,AUXILIARY,SIZES,MILLISECONDS
 */
#ifndef CONVBENCH_VERBOSE_LOG_H
#define CONVBENCH_VERBOSE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

typedef struct verbose_log {
    problem *problems;
    char (*texts)[PROBLEM_TEXT_SIZE]; /* of the problems, to find them again */
    size_t count, executions;
    /* Executions: of other data types, timed as f32; with post-ops that are left out; passed over: convolutions
     * backward and of three dimensions or wrong sizes, and deconvolutions. */
    size_t other_types, other_post_ops, backward, unreadable, deconvolutions;
    char example[200]; /* why the first of the unreadable ones is */
} verbose_log;

/* Whether a text begins a line of such a log. */
bool verbose_log_starts(const char *line);

/* Takes one line, whatever it is; it may be changed.  False without memory, or with too many different problems. */
bool verbose_log_add(verbose_log *log, char *line);

/* What was left out, as lines for a person; "" if nothing was. */
void verbose_log_describe(const verbose_log *log, char *text, size_t size);

void verbose_log_free(verbose_log *log);

#endif
