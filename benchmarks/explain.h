/* SPDX-License-Identifier: MIT */
/* convbench --explain: what the library would do with each problem, and why. */
#ifndef CONVBENCH_EXPLAIN_H
#define CONVBENCH_EXPLAIN_H

#include "options.h"

/* The action: prints it for each problem under each ISA; runs nothing. */
int explain_run(options *asked);

#endif
