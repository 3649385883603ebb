/* SPDX-License-Identifier: MIT */
/*
 * The one check that most tests, conv2d-torture and a fuzz target are made of: run a problem in guarded memory and
 * compare every float of the output, gaps included, with the oracle, bit for bit.
 */
#ifndef CONV2D_STRESS_TRIAL_H
#define CONV2D_STRESS_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "conv2d.h"
#include "guarded.h"

/* A problem and everything about the way it is run. */
typedef struct conv_case {
    conv2d_desc desc; /* bias, residual: one of the marks below or NULL; prepare_case brings the values */
    conv2d_options options;
    size_t parts;      /* 0: conv2d_run; otherwise conv2d_run_part for each part, in a shuffled order */
    conv2d_pool *pool; /* if not NULL: conv2d_run_pool */
    guard_side side;
    size_t offset;    /* of the input; the other tensors' offsets follow from it */
    bool unprotected; /* saves the system calls that catch writes to the input and reads of what was packed */
    fill fill;
    uint64_t seed;
} conv_case;

/* Says in a conv_case that there is a bias. */
extern const float bias_given[1];
/* That there is a residual, and that it is the same tensor as the output. */
extern const float residual_given[1], residual_in_place[1];

/* A case that was planned, filled and packed.  The memory belongs to trial.c, until the next prepare_case. */
typedef struct prepared {
    conv2d_plan plan;
    conv2d_args args;
    size_t out_count;
    const float *expected; /* out_count floats, gaps included */
} prepared;

/* The case on one line, in memory that the next call overwrites. */
const char *describe_case(const conv_case *test);
/* The one that prepare_case saw last: for handlers of crashes. */
const conv_case *case_at_hand(void);
/* Plans; if that succeeds, places, fills, packs, and asks the oracle.  Any status is returned, none is insisted on. */
conv2d_status prepare_case(const conv_case *test, prepared *ready);
/* Fills the output with canaries, runs as the case says, insists on success, that nothing else was touched, and
 * that registers and modes are left as they were. */
void run_case(const conv_case *test, prepared *ready);
/* Insists that the output is what is expected. */
void compare_case(const conv_case *test, const prepared *ready);
/* All three.  try_case returns what the planning said and goes on if that was CONV2D_OK; check_case insists on it. */
conv2d_status try_case(const conv_case *test);
void check_case(const conv_case *test);

/* The options that reach the kernels of one instruction set: that cap, and no policy about wide vectors. */
conv2d_options options_for(conv2d_isa isa);
/* Whether it is one of family D's kernels for several input channels and one group. */
bool sums_channels(const conv2d_kernel_info *kernel);
/* Of one of family D's kernels with unrolled taps for NCHW: the height of the kernels that it is made for; whether it
 * takes a dilation; whether it shifts its taps in registers, and takes more padding for it. */
size_t unrolled_rows(const conv2d_kernel_info *kernel);
bool takes_dilation(const conv2d_kernel_info *kernel);
bool rolls_taps(const conv2d_kernel_info *kernel);
/* The vertical stride that its tiles of several output rows are made for; of those for any, 2. */
size_t row_stride(const conv2d_kernel_info *kernel);

/* A dense problem, stride and dilation 1, no padding, one group. */
conv2d_desc simple_desc(size_t in_channels, size_t in_height, size_t in_width, size_t out_channels,
                        size_t kernel_height, size_t kernel_width);
/* The rows (or columns) of input that give so many rows of output; at least 1, so wide padding may give some more. */
size_t input_for(size_t outputs, size_t kernel, size_t stride, size_t dilation, size_t pads);
/* How many floats the tensors of a valid descriptor span, gaps included. */
size_t in_extent(const conv2d_desc *desc);
size_t out_extent(const conv2d_desc *desc);
size_t weights_extent(const conv2d_desc *desc);

#endif
