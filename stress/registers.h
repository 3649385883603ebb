/* SPDX-License-Identifier: MIT */
/* What a call has to leave in the CPU's registers as its caller had it. */
#ifndef CONV2D_STRESS_REGISTERS_H
#define CONV2D_STRESS_REGISTERS_H

#include <stdbool.h>

/* Rounding and denormals, without the sticky flags of exceptions. */
unsigned int float_modes(void);

/* The upper halves of the 16 vector registers that SSE code knows: clear, as callers have them, and whether they are so
 * still.  Else the caller's SSE code would be slow on Intel's CPUs. */
void clear_upper_halves(void);
bool upper_halves_are_clear(void);

#endif
