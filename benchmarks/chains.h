/* SPDX-License-Identifier: MIT */
/* Chains against their steps run one after the other. */
#ifndef CONVBENCH_CHAINS_H
#define CONVBENCH_CHAINS_H

#include "options.h"

/* Compares the results of, and times in turns, each of the chains: asked->chains is one, or a file or suite of them. */
int chains_run(options *asked);

#endif
