/* SPDX-License-Identifier: MIT */
/* What tests add to stress/trial.h: a failed case fails the Criterion test. */
#ifndef CONV2D_TESTS_SUPPORT_H
#define CONV2D_TESTS_SUPPORT_H

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "conv2d_tune.h"
#include "trial.h"

/* Skips the test, aloud, if this CPU (or CONV2D_ISA) does not allow isa. */
void require_isa(conv2d_isa isa);
/* The parameters of a test that is repeated for each instruction set. */
struct criterion_test_params each_isa(void);

/* Sets what does not depend on the shape, by turns: bias, residual, parts, and where the tensors lie. */
void vary_case(conv_case *c, size_t number);

/* Checks the case, and leaves what the library says of its plan in text. */
void check_explained(const conv_case *c, char *text, size_t size);

/* Up to this instruction set, the plan says so of itself. */
void expect_explained(const conv2d_desc *desc, conv2d_isa isa, const char *expected);

/* Plans, packs and runs with the caller's data (desc->bias holds real values); asserts success. */
void convolve(const conv2d_desc *desc, conv2d_options options, const float *input, const float *filter, float *output);

/* Of this CPU, library and bound: the kernel is the best for the problem; the knobs are 0. */
conv2d_record record_of(const conv2d_desc *desc, const char *kernel);

#endif
