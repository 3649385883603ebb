/* SPDX-License-Identifier: MIT */
/* This library against others: both run the same problem in turns. */
#ifndef CONVBENCH_PEER_COMPARE_H
#define CONVBENCH_PEER_COMPARE_H

#include "options.h"
#include "peer.h"
#include "report.h"

enum { PEER_ROUNDS = 5, PEER_TITLE_SIZE = PEER_NAME_SIZE + 32, PEER_NOTE_SIZE = 200 };

typedef enum peer_outcome { PEER_RIGHT, PEER_WRONG, PEER_UNCHECKED, PEER_NOT_RUN, PEER_OUTCOMES } peer_outcome;

/* One side of a comparison. */
typedef struct peer_side {
    quartiles seconds;           /* of one call, over the samples of all rounds */
    double medians[PEER_ROUNDS]; /* of each round */
    double began[PEER_ROUNDS];   /* by the clock of now() */
} peer_side;

/* A problem run by this library and by a peer in one of its modes. */
typedef struct peer_row {
    const char *problem;
    const char *kernel; /* of ours */
    size_t threads;
    conv2d_isa isa;              /* at most */
    char title[PEER_TITLE_SIZE]; /* NAME:MODE */
    char note[PEER_NOTE_SIZE];   /* what the peer ran, or why it did not */
    double flops;                /* taps inside the input, times two */
    double bytes;                /* of the tensors, as in struct measurement */
    peer_outcome outcome;        /* unless PEER_NOT_RUN, what follows is valid */
    size_t rounds;
    peer_side ours, theirs;
    double ratio; /* their median over ours: above 1 this library is faster */
    double error; /* the largest difference as a share of the tolerance; above 1 is wrong */
} peer_row;

typedef struct peer_rows {
    peer_row *rows;
    size_t count;
} peer_rows;

/* Runs and reports everything that was asked for; false if our result was wrong or something could not be run. */
bool peers_compare(const options *asked, const report *r, const char (*names)[PROBLEM_TEXT_SIZE]);

#endif
