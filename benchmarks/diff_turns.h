/* SPDX-License-Identifier: MIT */
/* convbench diff --run: has two programs measure the same in turns, until it is known whether one is slower. */
#ifndef CONVBENCH_DIFF_TURNS_H
#define CONVBENCH_DIFF_TURNS_H

#include "diff.h"

/*
 * Runs them as the first members of `turns` say, and fills in its others and all of the diff but for its rules, which
 * must be there.  False if they cannot be run or compared, or the new one's results are wrong: that has been said on
 * stderr.
 */
bool diff_take_turns(diff *d, diff_turns *turns);

#endif
