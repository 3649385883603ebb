/* SPDX-License-Identifier: MIT */
/*
 * Two steps of a network in one run: a convolution and another one that reads what the first writes, or a convolution
 * and 2x2 max-pooling.  What lies between them is never a tensor of the caller: it is made a band of rows at a time, in
 * the workspace, where it stays in cache until the second step has read it.  The result has the bits of two separate
 * runs, always; the promises of conv2d.h about sizes, alignment, errors and threads hold here too.
 */
#ifndef CONV2D_CHAIN_H
#define CONV2D_CHAIN_H

#include "conv2d.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two steps made ready to run: fixed size, in the caller's memory, may be copied, owns nothing, needs no freeing. */
typedef struct conv2d_chain {
    size_t opaque[320];
} conv2d_chain;

/* The tensors of one run.  out must not overlap any of the others, but may be the same tensor as residual[1]. */
typedef struct conv2d_chain_args {
    const float *in;          /* as the first descriptor says */
    const float *packed[2];   /* from conv2d_pack_weights with conv2d_chain_stage's plans; of a pooling NULL */
    const float *residual[2]; /* laid out and pitched as the outputs of the descriptors; NULL where they had none */
    float *out;               /* as the second descriptor says; pooled, as the first one says */
    float *workspace;         /* conv2d_chain_workspace_size floats; NULL is good when that is 0 */
} conv2d_chain_args;

/*
 * Plans `second` after `first`.  Batch and sizes of the second's input must be those of the first's output, or the
 * answer is CONV2D_INVALID.  The layout of what lies between is the library's choice: first->out_layout, its out_pitch
 * and second->in_layout, its in_pitch are ignored, unless there is a residual of the first: that one is laid out and
 * pitched as first->out_layout and out_pitch say.  options->kernel must be NULL: there are two kernels to choose.
 * As with conv2d_plan_init, options may be NULL, and *chain may be given to conv2d_chain_explain after a failure.
 */
CONV2D_API conv2d_status conv2d_chain_init(conv2d_chain *chain, const conv2d_desc *first, const conv2d_desc *second,
                                           const conv2d_options *options);

/*
 * Plans max-pooling after `first`: windows of 2x2, stride 2, no padding; a last odd row or column is left out (an
 * output of no rows or columns is CONV2D_EMPTY_OUTPUT).  The result is the largest of a window, row by row:
 * y = x[0]; for each further x[i]: y = x[i] > y or x[i] is NaN ? x[i] : y.  So a NaN anywhere in the window gives a
 * NaN, and of +0 and -0 the first one counts.  first->out_layout and out_pitch are those of the pooled tensor; a
 * residual has that layout, and is dense: with one, out_pitch must be 0.
 */
CONV2D_API conv2d_status conv2d_chain_init_max_pool(conv2d_chain *chain, const conv2d_desc *first,
                                                    const conv2d_options *options);

/* The plan of stage 0 or 1, of whole images, dense between the stages in the layout that conv2d_chain_explain tells:
 * for conv2d_packed_size, conv2d_pack_weights and conv2d_explain.  NULL for a pooling, and for a failed chain.  It
 * lives as long as *chain. */
CONV2D_API const conv2d_plan *conv2d_chain_stage(const conv2d_chain *chain, size_t stage);

/* How many floats of workspace a run split into so many parts, or fewer, needs (parts 0 means 1); SIZE_MAX if that many
 * cannot be addressed. */
CONV2D_API size_t conv2d_chain_workspace_size(const conv2d_chain *chain, size_t parts);

/* Runs the chain on the calling thread: no allocation, no lock, no I/O. */
CONV2D_API conv2d_status conv2d_chain_run(const conv2d_chain *chain, const conv2d_chain_args *args);

/*
 * Runs part `part` of `parts`, for callers with threads of their own.  The parts write disjoint outputs, may run in any
 * order and at the same time, and share one workspace of conv2d_chain_workspace_size(chain, parts).  A part may be
 * empty.  A part is some rows of some images: where windows overlap, neighbouring parts both compute what both need.
 */
CONV2D_API conv2d_status conv2d_chain_run_part(const conv2d_chain *chain, const conv2d_chain_args *args, size_t part,
                                               size_t parts);

/*
 * Runs the chain on as many threads of the pool as are useful and returns when all are done.  Where whole images stay
 * in cache the threads share the first step, then the second one, so that nothing is computed twice.  The workspace is
 * that of conv2d_pool_threads(pool) parts.
 */
CONV2D_API conv2d_status conv2d_chain_run_pool(conv2d_pool *pool, const conv2d_chain *chain,
                                               const conv2d_chain_args *args);

/* How many parts are worth having, as conv2d_useful_parts.  At least 1. */
CONV2D_API size_t conv2d_chain_useful_parts(const conv2d_chain *chain);

/*
 * In how many bands a run of one part makes each image; 1: whole images, which is what the library chooses where the
 * intermediate tensor of an image stays in cache, and where no band would.  0 for a failed chain.
 */
CONV2D_API size_t conv2d_chain_bands(const conv2d_chain *chain);

/* Writes what the chain will do, or why it was refused; cut and counted as conv2d_explain does. */
CONV2D_API size_t conv2d_chain_explain(const conv2d_chain *chain, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
