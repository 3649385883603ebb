/* SPDX-License-Identifier: MIT */
/* convbench --repeatability: which differences can be told from chance on this machine now? */
#ifndef CONVBENCH_REPEATABILITY_H
#define CONVBENCH_REPEATABILITY_H

#include "options.h"

/* The action. */
int repeatability_run(options *asked);

#endif
