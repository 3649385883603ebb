/* SPDX-License-Identifier: MIT */
/* The files that were asked for: --json, --html, --svg. */
#ifndef CONVBENCH_REPORTS_H
#define CONVBENCH_REPORTS_H

#include "figures.h"
#include "peer_find.h"

/* Whether all of them can be written, to know before an hour of measuring; false: said on stderr. */
bool reports_can_write(const options *asked);

/* Whether one of them is standard output, which the table then leaves to it. */
bool reports_take_output(const options *asked);

/* Writes them all; peers: who they are, NULL without comparisons.  False if one failed: said on stderr. */
bool reports_write(const options *asked, const figure_source *source, const peer_list *peers);

#endif
