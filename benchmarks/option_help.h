/* SPDX-License-Identifier: MIT */
/* convbench --help. */
#ifndef CONVBENCH_OPTION_HELP_H
#define CONVBENCH_OPTION_HELP_H

#include "options.h"

/* How a problem is written; some command lines; the columns of --shapes: lines of text. */
extern const char help_grammar[], help_examples[], help_columns[];

/* The action: all of it. */
int help_run(options *asked);

#endif
