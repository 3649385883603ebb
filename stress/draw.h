/* SPDX-License-Identifier: MIT */
/* Cases made up from random numbers, or from the bytes that a fuzzer mutates. */
#ifndef CONV2D_STRESS_DRAW_H
#define CONV2D_STRESS_DRAW_H

#include "conv2d_tune.h"
#include "trial.h"

/* Where decisions come from: a repeatable sequence; or bytes, and zeros when they are used up. */
typedef struct choices {
    uint64_t state;
    const uint8_t *bytes; /* NULL: the sequence that `state` begins */
    size_t left;
} choices;

size_t choose_below(choices *from, size_t bound);
size_t choose_between(choices *from, size_t first, size_t last);

/* Those that this CPU (and CONV2D_ISA) allows, at most so many; their number. */
size_t kernels_here(conv2d_kernel_info *kernels, size_t most);

/* Any shape, layouts, pitches, epilogue, parts, place and data, of at most about so many multiply-adds; the library
 * chooses the kernel, up to isa. */
conv_case draw_case(choices *from, conv2d_isa isa, double most_work);

/* Changes the case towards one that the kernel accepts, and forces it. */
void draw_towards(choices *from, conv_case *test, const conv2d_kernel_info *kernel, double most_work);

/* Gives the case a record, kept in *record, that asks for the forced kernel with some other blocking. */
void draw_blocking(choices *from, conv_case *test, conv2d_record *record);

/* All of it: one of so many kernels, and mostly a case towards it, perhaps with another blocking; otherwise what the
 * library chooses up to the kernel's instruction set.  *kernel becomes its number. */
conv_case draw_any(choices *from, const conv2d_kernel_info *kernels, size_t count, double most_work,
                   conv2d_record *record, size_t *kernel);

#endif
