/* SPDX-License-Identifier: MIT */
/* convbench --calls: how long single calls take, and what that hangs together with. */
#ifndef CONVBENCH_CALLS_H
#define CONVBENCH_CALLS_H

#include "options.h"

/* The action: each problem under each ISA on each number of threads; writes the JSON and CSV files that are asked
 * for. */
int calls_run(options *asked);

#endif
