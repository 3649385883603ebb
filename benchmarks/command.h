/* SPDX-License-Identifier: MIT */
/* A program that is started, waited for, and read. */
#ifndef CONVBENCH_COMMAND_H
#define CONVBENCH_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

typedef struct command {
    const char *program; /* a file, a name in PATH, or words for the shell: "CONV2D_ISA=avx2 convbench" */
    char *const *arguments;
    size_t argument_count;
} command;

/*
 * What it writes to its standard output, and a final 0, which *length does not count; free() it.  *code is its exit
 * code.  NULL if it could not be started, was ended by a signal, or wrote too much: that has been said on stderr.  What
 * it says on its own standard error is shown by command_explain.  It reads nothing, and leaves no file behind.
 *
 * A signal that asks this process to end (SIGINT, SIGTERM, SIGHUP) goes to the program and what it has started first.
 */
char *command_run(const command *c, size_t *length, int *code);

/* The last lines that the program of the last command_run said, on stderr. */
void command_explain(void);

#endif
