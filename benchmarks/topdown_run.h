/* SPDX-License-Identifier: MIT */
/* convbench --topdown: where the cycles of a run went. */
#ifndef CONVBENCH_TOPDOWN_RUN_H
#define CONVBENCH_TOPDOWN_RUN_H

#include "options.h"

/* The action. */
int topdown_run(options *asked);

#endif
