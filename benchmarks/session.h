/* SPDX-License-Identifier: MIT */
/* What convbench does unless asked for something else: verifies and times each problem, under each ISA, on each number
 * of threads. */
#ifndef CONVBENCH_SESSION_H
#define CONVBENCH_SESSION_H

#include "options.h"

/* The action. */
int session_run(options *asked);

#endif
