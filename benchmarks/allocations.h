/* SPDX-License-Identifier: MIT */
/* How often this program, the library in it included, has asked for memory: the linker leads its calls through here. */
#ifndef CONVBENCH_ALLOCATIONS_H
#define CONVBENCH_ALLOCATIONS_H

#include "sample.h"

/* Of malloc, calloc, realloc, aligned_alloc and posix_memalign in one of `calls` calls, on all threads; not a number
 * where the linker cannot do that. */
double allocations_of(timed_call *call, void *context, size_t calls);

#endif
