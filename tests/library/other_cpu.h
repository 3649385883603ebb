/* SPDX-License-Identifier: MIT */
/* Other facts about the CPU than the machine's: conv2d_cpu is wrapped (meson.build). */
#ifndef CONV2D_OTHER_CPU_H
#define CONV2D_OTHER_CPU_H

#include "cpu.h"

/* What the library sees; NULL: the machine's, which are real_cpu(). */
extern const cpu_facts *other_cpu;
cpu_facts real_cpu(void);

/* The machine's, with what choices ask of a Zen 3: its caches, and no 512-bit multiply-adds. */
cpu_facts zen3_cpu(void);

#endif
