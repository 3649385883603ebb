/* SPDX-License-Identifier: MIT */
/*
 * A number for the bits of all outputs of a list of problems, the same for every instruction set, layout and number of
 * parts, on every CPU and by every compiler; or else what differs is named.
 */
#ifndef CONVBENCH_HASH_H
#define CONVBENCH_HASH_H

#include "options.h"

/* The action: a hash for each ISA, layout and number of parts (--threads) that was asked for.  EXIT_WRONG_RESULT if the
 * bits of a problem differ between any two, or a hash from options.expected_hash. */
int hash_run(options *asked);

#endif
