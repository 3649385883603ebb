/* SPDX-License-Identifier: MIT */
/* What the build makes of the table of options: the page of the manual, and bash's completion. */
#ifndef CONVBENCH_OPTION_MAN_H
#define CONVBENCH_OPTION_MAN_H

#include "options.h"

/* Actions that --help does not tell of: they write to standard output. */
int man_run(options *asked);
int completion_run(options *asked);

#endif
