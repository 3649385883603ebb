/* SPDX-License-Identifier: MIT */
/* Which results belong together, and what their parts are. */
#ifndef CONVBENCH_DIFF_MATCH_H
#define CONVBENCH_DIFF_MATCH_H

#include "diff.h"

/*
 * Fills in rows, ratios (but for what ratios_compare finds) and whether files took turns.  False if nothing can be
 * compared: that has been said on stderr.  Puts the files in the order of their times.
 */
bool diff_match(diff *d);
void diff_match_free(diff *d);

#endif
