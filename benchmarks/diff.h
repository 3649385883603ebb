/* SPDX-License-Identifier: MIT */
/* convbench diff: whether results got slower, with an exit code for CI. */
#ifndef CONVBENCH_DIFF_H
#define CONVBENCH_DIFF_H

#include <stdio.h>

#include "ratio.h"
#include "stored.h"

/* arguments: those after "diff".  Gives the exit code: 0 same or faster, 1 slower or wrong, 2 nothing to compare. */
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

typedef struct diff {
    diff_side before, after;
    ratio_rules rules;
    bool by_clock; /* times are multiplied by the peak: a slower clock is no change */
    bool paired;   /* the files took turns */
    diff_row *rows;
    ratio_row *ratios; /* of each */
    size_t count;
    ratio_row mean;
    size_t only_before, only_after; /* rows that the other side lacks */
} diff;

/* Prints everything; diff_json writes it as json_write_file does. */
void diff_print(const diff *d, FILE *file);
bool diff_json(const diff *d, const char *path);

/* How many rows have that verdict. */
size_t diff_count(const diff *d, ratio_verdict verdict);
size_t diff_count_wrong(const diff *d);

#endif
