/* SPDX-License-Identifier: MIT */
/* convbench diff: whether results got slower, with an exit code for CI. */
#ifndef CONVBENCH_DIFF_H
#define CONVBENCH_DIFF_H

#include <stdio.h>

#include "looks.h"
#include "ratio.h"
#include "stored.h"

/*
 * arguments: those after "diff".  Gives the exit code: 0 same or faster, 1 slower or wrong, 2 nothing to compare, 3
 * undecided.
 */
enum { EXIT_UNDECIDED = 3 };
int diff_run(int argument_count, char **arguments);

/* For the manual and the completion: all of --help, and the name of each option, NULL behind the last one. */
void diff_print_help(FILE *file);
const char *diff_option_name(size_t number);

/* Files of the same program: one, or one of each of several processes. */
typedef struct diff_side {
    stored_results *files;
    size_t count;
} diff_side;

typedef struct diff_row {
    const stored_row *before, *after;     /* of the first files */
    bool wrong;                           /* in any of the new files */
    double before_seconds, after_seconds; /* lower quartiles of the parts */
} diff_row;

/* How both sides came to be run here, in pairs. */
typedef struct diff_turns {
    const char *programs[2]; /* old and new, for command.h */
    char **arguments;        /* that both are given */
    size_t argument_count;
    size_t most_pairs;
    double limit; /* seconds; 0: none */

    /* What diff_take_turns finds. */
    looks looks;
    size_t pairs;
    double seconds; /* that they took */
} diff_turns;

typedef struct diff {
    diff_side before, after;
    ratio_rules rules;
    bool by_clock; /* times are multiplied by the peak: a slower clock is no change */
    bool paired;   /* the files took turns: the first old one and the first new one, then the second ones */
    diff_row *rows;
    ratio_row *ratios; /* of each */
    size_t count;
    ratio_row mean;
    size_t only_before, only_after; /* rows that the other side lacks */
    size_t untimed_wrong;           /* rows of the new side that were not timed, as they were wrong */
    const diff_turns *turns;        /* NULL: the files were there */
} diff;

/* Prints everything; diff_json writes it as json_write_file does. */
void diff_print(const diff *d, FILE *file);
bool diff_json(const diff *d, const char *path);

/* "slower". */
const char *diff_verdict_name(ratio_verdict verdict);

/* How many rows have that verdict. */
size_t diff_count(const diff *d, ratio_verdict verdict);
bool diff_undecided(const diff *d);     /* whether any has, or the mean */
size_t diff_count_wrong(const diff *d); /* also those that were not timed */

#endif
