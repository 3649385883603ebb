/* SPDX-License-Identifier: MIT */
/*
 * The grammar of chains: a problem, a +, and what follows it: the second problem without its input, which is what the
 * first one makes, or max2, pooling of 2x2 windows.
 *
 *   32x112x112 3x3 p1 g32 + 64x1x1         64x56x56 3x3 p1 relu + max2
 */
#ifndef CONVBENCH_CHAIN_PROBLEM_H
#define CONVBENCH_CHAIN_PROBLEM_H

#include "problem.h"

typedef struct chain_problem {
    problem first, second;
    bool pools; /* then second is the depthwise convolution of the same size as the pooling, which only has its sizes */
} chain_problem;

enum { CHAIN_TEXT_SIZE = 2 * PROBLEM_TEXT_SIZE };

/* Reads one chain; what is wrong with it is said on stderr. */
bool chain_parse(const char *text, chain_problem *chain);

/* Writes the canonical form, which chain_parse reads back to the same chain.  Length and cut as snprintf. */
size_t chain_format(const chain_problem *chain, char *text, size_t size);

#endif
