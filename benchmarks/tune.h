/* SPDX-License-Identifier: MIT */
/* convbench --tune: how far the library's static choices are from the best that can be found. */
#ifndef CONVBENCH_TUNE_H
#define CONVBENCH_TUNE_H

#include "options.h"

/* Tunes each problem under each ISA on one thread, prints a row for each and a summary, writes the records if they are
 * asked for.  A problem that could not be tuned, which is said on stderr, is a wrong result. */
int tune_run(options *asked);

#endif
