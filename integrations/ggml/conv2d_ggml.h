/* SPDX-License-Identifier: MIT */
/*
 * libconv2d in ggml: a graph builder that stands where ggml_conv_2d stands, on the CPU backend and its threads.
 *
 *   conv2d_ggml_cache *cache = conv2d_ggml_new(threads);
 *   struct ggml_tensor *y = conv2d_ggml(ctx, kernel, x, cache, s0, s1, p0, p1, d0, d1);
 *   ... build and compute graphs, as often as you like ...
 *   conv2d_ggml_free(cache);
 *
 * The cache owns packed weights and plans: building the same node again, as ggml's users do for each evaluation, finds
 * them there.  It must outlive every graph built with it, and one graph at a time may be built or computed with it.
 *
 * Tensors as for ggml_conv_2d: kernel [width, height, in_channels / groups, out_channels], f32 or f16, contiguous; x
 * [width, height, in_channels, images], f32, with any strides that keep rows whole; the result is contiguous f32.
 * Groups follow from the shapes, so this stands for ggml_conv_2d_dw's depthwise convolutions, too.  Sums are of f32
 * products, not of f16 ones as in ggml_conv_2d.
 *
 * The kernel must have its values when the node is built: weights are loaded first.  They are read once.  After
 * changing them, or freeing their memory, call conv2d_ggml_forget.
 */
#ifndef CONV2D_GGML_H
#define CONV2D_GGML_H

#include <conv2d.h>
#include <ggml.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct conv2d_ggml_cache conv2d_ggml_cache;

/* Nodes will use at most so many of the threads that compute a graph.  NULL if there is no memory. */
conv2d_ggml_cache *conv2d_ggml_new(int threads);
/* NULL is ignored. */
void conv2d_ggml_free(conv2d_ggml_cache *cache);
/* Drops plans and packed weights; graphs built before must not be computed again. */
void conv2d_ggml_forget(conv2d_ggml_cache *cache);

/* A node as ggml_conv_2d's, with the arguments in its order.  What libconv2d does not do (other types, a kernel without
 * values or not in the host's memory, no memory left) becomes ggml_conv_2d's node. */
struct ggml_tensor *conv2d_ggml(struct ggml_context *ctx, struct ggml_tensor *kernel, struct ggml_tensor *x,
                                conv2d_ggml_cache *cache, int s0, int s1, int p0, int p1, int d0, int d1);

/* What may follow the sums in the same node. */
typedef struct conv2d_ggml_epilogue {
    struct ggml_tensor *bias;     /* f32, out_channels values, with its values as the kernel; or NULL */
    struct ggml_tensor *residual; /* f32, contiguous, of the result's shape; or NULL */
    conv2d_activation activation;
    float act_a, act_b;
} conv2d_ggml_epilogue;

/* The same with an epilogue; NULL where libconv2d does not do it. */
struct ggml_tensor *conv2d_ggml_fused(struct ggml_context *ctx, struct ggml_tensor *kernel, struct ggml_tensor *x,
                                      conv2d_ggml_cache *cache, int s0, int s1, int p0, int p1, int d0, int d1,
                                      const conv2d_ggml_epilogue *epilogue);

/* Nodes that were built for libconv2d, nodes that were left to ggml, and computations of the former. */
typedef struct conv2d_ggml_counts {
    size_t claimed, left, computed;
} conv2d_ggml_counts;
conv2d_ggml_counts conv2d_ggml_count(const conv2d_ggml_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
