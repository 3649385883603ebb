/* SPDX-License-Identifier: MIT */
/*
 * The grammar of convolution problems, shared by convbench and the tests.
 *
 *   [N x] C x H x W   [K x] R x S   words     numbers joined by x, without blanks; N defaults to 1, K to C
 *
 *   sA  sAxB          stride (both; rows x columns)          gA    groups
 *   dA  dAxB          dilation, 1 is dense                   nA    batch, instead of N
 *   pA  pAxB          padding (all; rows x columns)          kA    output channels, instead of K
 *   pT,B,L,R          padding: top, bottom, left, right      b     a bias
 *   relu  clamp:LOW:HIGH  leaky:SLOPE  hswish  hsigmoid            an activation
 *   sigmoid  silu  tanh  gelu  mish
 *   nchw nhwc         layout of input and output             res   a residual tensor is added
 *   nchw-nhwc  nhwc-nchw           that of each              inplace   the same, and it is the output's memory
 *   oihw ohwi hwio    layout of the weights                  xA    how often it occurs in its network
 *
 * or a benchdnn string, mb1ic64ih56oc256oh56kh1ph0, or an ONEDNN_VERBOSE line holding one, read as benchdnn does:
 * mb defaults to 2, dilation 0 is dense, a missing padding follows from oh and ow, a name (n...) is ignored.
 */
#ifndef CONVBENCH_PROBLEM_H
#define CONVBENCH_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

#include "conv2d.h"
#include "scan.h"

typedef struct problem {
    conv2d_desc desc; /* every default resolved (batch, strides, dilations and groups are at least 1) */
    /* Whoever makes the tensors sets desc.bias and desc.residual, which are NULL here. */
    bool with_bias, with_residual;
    bool in_place;  /* the residual is the output's memory: with_residual too */
    size_t count;   /* how often it occurs in its network; 1 unless the text says otherwise */
    size_t network; /* which one: for lists of problems (input.h); 0 for none */
} problem;

/*
 * Reads one problem from text.  rest: where the next one begins (or the final 0); NULL if there must not be another.
 * What it accepts has groups that divide the channels, a kernel that fits the padded input, and tensors whose sizes in
 * bytes fit in a ptrdiff_t.  On false *error says why and where.
 */
bool problem_parse(const char *text, problem *p, const char **rest, scan_error *error);

/* Writes the canonical form, which problem_parse reads back to the same problem.  Length and cut as snprintf. */
size_t problem_format(const problem *p, char *text, size_t size);

/* The word for the layouts of input and output: "nchw", "nhwc", "nchw-nhwc" or "nhwc-nchw". */
const char *problem_layout_name(const conv2d_desc *desc);
/* Reads one that ends at a comma, a blank or the text's end into desc; false, without an error, for any other text. */
bool problem_read_layout(scan *s, conv2d_desc *desc);

/* The word for an activation, without parameters: "none", "relu", "clamp", "leaky", "hswish", ... */
const char *problem_activation_name(conv2d_activation activation);
/* Reads such a word, which ends at a blank or the text's end; false for any other text. */
bool problem_activation_named(const char *text, conv2d_activation *activation);

/* Enough for any canonical form. */
enum { PROBLEM_TEXT_SIZE = 256 };

/* Part of the parser: the benchdnn strings (benchdnn.c). */
bool benchdnn_starts(const char *word);
bool benchdnn_read(scan *s, problem *p);

#endif
