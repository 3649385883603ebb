/* SPDX-License-Identifier: MIT */
/* convbench --isa-ab: AVX2 against AVX-512 on this machine, with the core's clock after each burst. */
#ifndef CONVBENCH_ISA_AB_H
#define CONVBENCH_ISA_AB_H

#include "options.h"

/* The action; with --records it writes the record of the machine (conv2d_tune.h). */
int isa_ab_run(options *asked);

#endif
