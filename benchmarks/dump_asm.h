/* SPDX-License-Identifier: MIT */
/* convbench --dump-asm: the hot loop of the kernels that would run, out of this program's own file. */
#ifndef CONVBENCH_DUMP_ASM_H
#define CONVBENCH_DUMP_ASM_H

#include "options.h"

/* The action: for each problem under each ISA, each kernel once; or for --kernel alone.  Needs objdump. */
int dump_asm_run(options *asked);

#endif
