/* SPDX-License-Identifier: MIT */
/* How many 512-bit multiply-adds a core begins in a cycle, which CPUID does not tell. */
#ifndef CONV2D_CPU_UNITS_H
#define CONV2D_CPU_UNITS_H

/* Who the CPU is. */
typedef struct cpu_identity {
    char vendor[13]; /* "GenuineIntel" */
    unsigned family, model;
    char brand[49]; /* the marketing name, which hypervisors change */
} cpu_identity;

/* Intel's first cores with AVX-512 (Skylake-SP, Cascade Lake, Cooper Lake), whose clock suffers from it. */
int conv2d_is_skylake_x(const cpu_identity *cpu);

/* 1 or 2 by the tables; 0 for CPUs that are in none of them. */
int conv2d_known_wide_fmas(const cpu_identity *cpu);

/*
 * 1 or 2, measured in some 100 us, for CPUs with AVX-512: bursts of multiply-adds of 512 and of 256 bits in turns.
 * It is their ratio that counts: a busy other thread of the core, or a low clock, slows both.
 */
int conv2d_probe_wide_fmas(void);

#endif
