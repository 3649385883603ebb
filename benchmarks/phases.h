/* SPDX-License-Identifier: MIT */
/* convbench --phases: what of a problem's time is planning, packing, the first call, cold calls and warm ones. */
#ifndef CONVBENCH_PHASES_H
#define CONVBENCH_PHASES_H

#include "options.h"

/* The action. */
int phases_run(options *asked);

#endif
