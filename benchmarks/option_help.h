/* SPDX-License-Identifier: MIT */
/* convbench --help. */
#ifndef CONVBENCH_OPTION_HELP_H
#define CONVBENCH_OPTION_HELP_H

#include <stdio.h>

#include "options.h"

/* How a problem is written. */
void help_print_grammar(FILE *file);

/* The action: all of it. */
int help_run(options *asked);

#endif
