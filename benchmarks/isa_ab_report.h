/* SPDX-License-Identifier: MIT */
/* What --isa-ab finds, and how it is told. */
#ifndef CONVBENCH_ISA_AB_REPORT_H
#define CONVBENCH_ISA_AB_REPORT_H

#include "count_calls.h"
#include "paired.h"
#include "ratio.h"

/* What the clock must not differ by, and the times must, to be worth a word. */
#define AB_THRESHOLD 0.01

/* The two arms, and what was found of each run. */
enum { NARROW, WIDE, ARMS };
extern const conv2d_isa ab_isas[ARMS];

typedef struct ab_row {
    char problem[PROBLEM_TEXT_SIZE];
    size_t threads;
    paired_arm arms[ARMS];
    const char *kernels[ARMS];
    double median[ARMS], clock[ARMS];
    counter_set *licences[ARMS]; /* cycles of a call under each turbo licence; NULL where the CPU has no such events */
    interference disturbed;
} ab_row;

/* A problem for which the library takes an AVX2 kernel even where it may take others: there is nothing to compare. */
typedef struct ab_same {
    char problem[PROBLEM_TEXT_SIZE];
    size_t threads;
    const char *kernel;
} ab_same;

typedef struct ab_session {
    options *asked;
    counter_host host;
    ab_row *rows;
    ratio_row *ratios, mean; /* mean: what they say together */
    size_t count;
    ab_same *same;
    size_t same_count;
    double wide_fmas;
} ab_session;

/* Whether this CPU counts cycles under turbo licences; if not, why. */
bool has_licences(const counter_host *host, const char **reason);

/* The isa that is better: NARROW or WIDE; of a verdict that is not RATIO_SAME. */
int ab_winner(const ab_session *s);

void print_ab(FILE *file, const ab_session *s);

/* A row of the JSON file, and the other members, of an ab_session. */
void json_ab_row(json *j, const ab_row *row, const ratio_row *ratio);
void json_ab_conclusion(json *j, const void *context);

#endif
