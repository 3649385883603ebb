/* SPDX-License-Identifier: MIT */
/* What the library takes besides convolving. */
#ifndef CONVBENCH_OVERHEAD_H
#define CONVBENCH_OVERHEAD_H

#include "options.h"

/*
 * Times planning and packing of each problem (of some usual ones if none is asked for), a call whose work is one
 * product, and the hand-off to each number of threads; prints it, and writes the JSON file that is asked for.
 */
int overhead_run(options *asked);

#endif
