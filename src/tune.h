/* SPDX-License-Identifier: MIT */
/* The inside of conv2d_tune: what is measured (tune.c), and how (tune_race.c). */
#ifndef CONV2D_TUNE_INSIDE_H
#define CONV2D_TUNE_INSIDE_H

#include "conv2d_tune.h"
#include "plan.h"

typedef struct candidate {
    const conv2d_kernel *kernel;
    blocking blocking;
    size_t knobs[CONV2D_KNOBS]; /* those that are not the library's choice */
    double seconds;             /* of its fastest run */
} candidate;

enum { MOST_CANDIDATES = 64 };

typedef struct tuner {
    conv2d_plan opaque;
    ready_plan *plan; /* the same */
    conv2d_args args;
    size_t calls;                      /* in a sample, so that the clock can be read */
    candidate usual;                   /* the library's choice */
    candidate rivals[MOST_CANDIDATES]; /* behind a race in order, the fastest first */
    size_t count;
} tuner;

/* How often one sample has to call. */
void conv2d_choose_calls(tuner *t);
/* Runs the rivals in turns and halves their number until `keep` are left, for so many seconds in all. */
void conv2d_race(tuner *t, size_t keep, double seconds);

typedef struct duel_result {
    double usual_seconds; /* the median */
    double gain;          /* its time over the rival's, the median of pairs; 1 if that is not beyond the noise */
} duel_result;
/* The library's choice and the first rival in pairs. */
duel_result conv2d_duel(tuner *t, double seconds);

#endif
