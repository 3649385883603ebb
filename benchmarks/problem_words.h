/* SPDX-License-Identifier: MIT */
/* A part of the parser (problem.c): the words behind a problem's shape. */
#ifndef CONVBENCH_PROBLEM_WORDS_H
#define CONVBENCH_PROBLEM_WORDS_H

#include "problem.h"
#include "scan.h"

/* What a word sets, for "given twice": the input's N and the kernel's K count too. */
enum {
    SETS_BATCH = 1,
    SETS_OUT_CHANNELS = 2,
    SETS_STRIDE = 4,
    SETS_PADDING = 8,
    SETS_DILATION = 16,
    SETS_GROUPS = 32,
    SETS_BIAS = 64,
    SETS_ACTIVATION = 128,
    SETS_LAYOUT = 256,
    SETS_WEIGHTS_LAYOUT = 512,
    SETS_RESIDUAL = 1024,
    SETS_COUNT = 2048,
    SETS_BY_BENCHDNN = SETS_BATCH | SETS_OUT_CHANNELS | SETS_STRIDE | SETS_PADDING | SETS_DILATION | SETS_GROUPS
};

/* Reads words until the next problem begins.  already_set: what may not be set again.  *groups: where the groups were
 * read, if they are among them. */
bool words_read(scan *s, problem *p, unsigned already_set, const char **groups);

#endif
