/* SPDX-License-Identifier: MIT */
/* What the machine can do, and what is a good idea on it. */
#ifndef CONV2D_CPU_H
#define CONV2D_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "conv2d.h"

typedef struct cpu_facts {
    conv2d_isa isa;     /* capability: CPU and operating system */
    bool prefer_256;    /* policy: AVX-512 exists but loses here */
    bool fma;           /* for the scalar reference */
    bool two_wide_fmas; /* two 512-bit FMAs per cycle; else AVX2 has the same peak */
    bool probed;        /* the last, which no table has for this CPU, by a measurement */
    size_t l1_bytes, l2_bytes;
    char name[80]; /* by which records know it: letters, digits, blanks and ()@.,-_/+ */
} cpu_facts;

/* Asked once, then cached; safe from any thread. */
const cpu_facts *conv2d_cpu(void);

/* The environment, read once (docs in conv2d.h): CONV2D_ISA as an upper bound, CONV2D_VERBOSE. */
conv2d_isa conv2d_environment_isa(void);
bool conv2d_environment_verbose(void);

#endif
