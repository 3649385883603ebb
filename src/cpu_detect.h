/* SPDX-License-Identifier: MIT */
/* What an x86 CPU's own words mean.  They come from the CPU, or, in tests, from the description of another one. */
#ifndef CONV2D_CPU_DETECT_H
#define CONV2D_CPU_DETECT_H

#include <stdint.h>

#include "cpu.h"
#include "cpu_units.h"

typedef struct cpuid_leaf {
    uint32_t a, b, c, d;
} cpuid_leaf;

typedef struct cpu_source {
    cpuid_leaf (*cpuid)(uint32_t leaf, uint32_t subleaf); /* all 0 for a leaf that the CPU does not have */
    uint64_t (*xcr0)(void); /* the register states that the operating system saves; asked only where OSXSAVE is set */
    int (*probe_wide_fmas)(void); /* conv2d_probe_wide_fmas; asked only where AVX-512 may run */
} cpu_source;

/* cap: what the environment allows at most. */
cpu_facts conv2d_detect_cpu(const cpu_source *source, conv2d_isa cap);

#endif
