/* SPDX-License-Identifier: MIT */
/* Tensors of gigabytes, most of them without memory of their own; all end at an inaccessible page. */
#ifndef CONV2D_STRESS_HUGE_MEMORY_H
#define CONV2D_STRESS_HUGE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers to read: one stretch of 16 MiB, mapped again and again.  Its length is an odd number of pages, so that what
 * lies 2^31 or 2^32 bytes (or elements) away, or a small multiple of that, is something else.
 */
float *huge_pattern(size_t count, uint64_t seed);

/* To be written: all of it (then in large pages), or little. */
float *huge_memory(size_t count, bool all);
/* NaN everywhere, also in what lies between the page on the left and the first float. */
void huge_fill_nan(float *data, size_t count);
/* Whether that is still there on the left. */
bool huge_intact(const float *data, size_t count);

/* Whether so many floats of addresses can be had; memory is another question. */
bool huge_is_possible(size_t count);

/* Of either, with the same count. */
void huge_free(float *data, size_t count);

#endif
