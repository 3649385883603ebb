/* SPDX-License-Identifier: MIT */
/* A case as a command that others can run. */
#ifndef CONV2D_STRESS_REPRODUCER_H
#define CONV2D_STRESS_REPRODUCER_H

#include "trial.h"

/* Writes a convbench line that runs the case's problem with the same kernel and verifies it; what such a line cannot
 * say (pitches, places in memory, data, blocking) follows as a comment.  In memory that the next call overwrites. */
const char *reproducer(const conv_case *test);

#endif
