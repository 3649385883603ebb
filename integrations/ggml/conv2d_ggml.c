/* SPDX-License-Identifier: MIT */
#include "conv2d_ggml.h"

#include <ggml-backend.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Weights, in the order that depends on channels, groups and kernel size alone. */
typedef struct weights {
    struct weights *next;
    const void *kernel, *bias; /* where the values were; with the shape they tell weights apart */
    int64_t shape[4];
    enum ggml_type type;
    size_t groups;
    float *packed;
} weights;

/* What a node points to. */
typedef struct job {
    struct job *next;
    conv2d_ggml_cache *cache;
    conv2d_desc desc; /* its residual is a mark, see conv2d_plan_init */
    conv2d_plan plan;
    const weights *weights;
    int parts; /* at most; also what the workspace is for */
} job;

struct conv2d_ggml_cache {
    weights *weights;
    job *jobs;
    float *workspace; /* of the node that is computed: one at a time */
    size_t workspace_size;
    int threads;
    conv2d_ggml_counts counts;
};

conv2d_ggml_cache *conv2d_ggml_new(int threads)
{
    conv2d_ggml_cache *cache = calloc(1, sizeof *cache);
    if (cache)
        cache->threads = threads < 1 ? 1 : threads < GGML_MAX_N_THREADS ? threads : GGML_MAX_N_THREADS;
    return cache;
}

void conv2d_ggml_forget(conv2d_ggml_cache *cache)
{
    for (job *next, *j = cache->jobs; j; j = next) {
        next = j->next;
        free(j);
    }
    for (weights *next, *w = cache->weights; w; w = next) {
        next = w->next;
        free(w->packed);
        free(w);
    }
    cache->jobs = NULL;
    cache->weights = NULL;
}

void conv2d_ggml_free(conv2d_ggml_cache *cache)
{
    if (!cache)
        return;
    conv2d_ggml_forget(cache);
    free(cache->workspace);
    free(cache);
}

conv2d_ggml_counts conv2d_ggml_count(const conv2d_ggml_cache *cache)
{
    return cache->counts;
}

/* One thread's share; ggml calls it on all its threads at once, however few tasks a node has asked for. */
static void compute(struct ggml_tensor *dst, int ith, int nth, void *userdata)
{
    const job *j = userdata;
    const conv2d_args args = {.in = dst->src[1]->data,
                              .packed = j->weights->packed,
                              .residual = j->desc.residual ? dst->src[2]->data : NULL,
                              .out = dst->data,
                              .workspace = j->cache->workspace};
    const int parts = nth < j->parts ? nth : j->parts;
    if (ith >= parts)
        return;
    GGML_ASSERT(conv2d_run_part(&j->plan, &args, (size_t)ith, (size_t)parts) == CONV2D_OK);
    if (ith == 0)
        j->cache->counts.computed++;
}

/* Whether the values can be read now. */
static bool has_values(const struct ggml_tensor *t)
{
    return t->data && (!t->buffer || ggml_backend_buffer_is_host(t->buffer));
}

/* Distances between images, channels and rows of a tensor of floats whose rows are whole: false if they are not. */
static bool find_pitches(const struct ggml_tensor *t, size_t pitch[3])
{
    bool good = t->type == GGML_TYPE_F32 && (t->ne[0] == 1 || t->nb[0] == sizeof(float));
    size_t dense = (size_t)t->ne[0];
    for (int axis = 1; axis < 4; axis++) {
        /* Of an axis of one element the distance means nothing. */
        const size_t distance = t->ne[axis] > 1 ? t->nb[axis] / sizeof(float) : dense;
        good = good && distance >= dense && (t->ne[axis] == 1 || t->nb[axis] % sizeof(float) == 0);
        pitch[3 - axis] = distance;
        dense = distance * (size_t)t->ne[axis];
    }
    return good;
}

static bool fits(const struct ggml_tensor *kernel, const struct ggml_tensor *x, const conv2d_ggml_epilogue *e)
{
    const bool types = kernel->type == GGML_TYPE_F32 || kernel->type == GGML_TYPE_F16;
    const bool bias = !e->bias || (e->bias->type == GGML_TYPE_F32 && ggml_is_contiguous(e->bias) &&
                                   ggml_nelements(e->bias) == kernel->ne[3] && has_values(e->bias));
    return types && bias && ggml_is_contiguous(kernel) && has_values(kernel) && x->ne[2] % kernel->ne[2] == 0;
}

/* The weights as floats, packed: NULL if there is no memory. */
static float *pack(const conv2d_plan *plan, const struct ggml_tensor *kernel, const struct ggml_tensor *bias)
{
    const int64_t count = ggml_nelements(kernel);
    float *converted = kernel->type == GGML_TYPE_F16 ? malloc((size_t)count * sizeof *converted) : NULL;
    float *packed = aligned_alloc(64, (conv2d_packed_size(plan) * sizeof *packed + 63) / 64 * 64);
    if (!packed || (!converted && kernel->type == GGML_TYPE_F16)) {
        free(packed);
        packed = NULL;
    } else {
        if (converted)
            ggml_fp16_to_fp32_row(kernel->data, converted, count);
        conv2d_pack_weights(plan, converted ? converted : kernel->data, bias ? bias->data : NULL, packed);
    }
    free(converted);
    return packed;
}

static const weights *find_weights(conv2d_ggml_cache *cache, const job *j, const struct ggml_tensor *kernel,
                                   const struct ggml_tensor *bias)
{
    const weights wanted = {.kernel = kernel->data, .bias = bias ? bias->data : NULL, .type = kernel->type};
    for (const weights *w = cache->weights; w; w = w->next) {
        if (w->kernel == wanted.kernel && w->bias == wanted.bias && w->type == wanted.type &&
            w->groups == j->desc.groups && memcmp(w->shape, kernel->ne, sizeof w->shape) == 0)
            return w;
    }
    weights *made = malloc(sizeof *made);
    float *packed = made ? pack(&j->plan, kernel, bias) : NULL;
    if (!packed) {
        free(made);
        return NULL;
    }
    *made = wanted;
    memcpy(made->shape, kernel->ne, sizeof made->shape);
    made->groups = j->desc.groups;
    made->packed = packed;
    made->next = cache->weights;
    return cache->weights = made;
}

static bool reserve_workspace(conv2d_ggml_cache *cache, const job *j)
{
    const size_t size = conv2d_workspace_size(&j->plan, (size_t)j->parts);
    if (size <= cache->workspace_size)
        return true;
    float *larger = realloc(cache->workspace, size * sizeof *larger);
    if (larger) {
        cache->workspace = larger;
        cache->workspace_size = size;
    }
    return larger;
}

/* Plans a job; NULL if the library refuses, or there is no memory. */
static job *make_job(conv2d_ggml_cache *cache, const conv2d_desc *desc)
{
    job *made = calloc(1, sizeof *made);
    if (!made || conv2d_plan_init(&made->plan, desc, NULL) != CONV2D_OK) {
        free(made);
        return NULL;
    }
    const size_t useful = conv2d_useful_parts(&made->plan);
    made->cache = cache;
    made->desc = *desc;
    made->parts = useful < (size_t)cache->threads ? (int)useful : cache->threads;
    return made;
}

static job *find_job(conv2d_ggml_cache *cache, const conv2d_desc *desc, const struct ggml_tensor *kernel,
                     const struct ggml_tensor *bias)
{
    for (job *j = cache->jobs; j; j = j->next) {
        if (j->weights->kernel == kernel->data && memcmp(&j->desc, desc, sizeof *desc) == 0)
            return j;
    }
    job *made = make_job(cache, desc);
    if (!made || !reserve_workspace(cache, made) || !(made->weights = find_weights(cache, made, kernel, bias))) {
        free(made);
        return NULL;
    }
    made->next = cache->jobs;
    return cache->jobs = made;
}

/* Numbers of a descriptor that is set to zero before, so that descriptors can be compared as memory. */
static void describe(conv2d_desc *d, const struct ggml_tensor *kernel, const struct ggml_tensor *x,
                     const int numbers[6], const conv2d_ggml_epilogue *e)
{
    static const float mark = 0;
    memset(d, 0, sizeof *d);
    d->batch = (size_t)x->ne[3];
    d->in_channels = (size_t)x->ne[2];
    d->in_height = (size_t)x->ne[1];
    d->in_width = (size_t)x->ne[0];
    d->out_channels = (size_t)kernel->ne[3];
    d->kernel_height = (size_t)kernel->ne[1];
    d->kernel_width = (size_t)kernel->ne[0];
    d->groups = (size_t)(x->ne[2] / kernel->ne[2]);
    d->stride_w = (size_t)numbers[0];
    d->stride_h = (size_t)numbers[1];
    d->pad_left = d->pad_right = (size_t)numbers[2];
    d->pad_top = d->pad_bottom = (size_t)numbers[3];
    d->dilation_w = (size_t)numbers[4];
    d->dilation_h = (size_t)numbers[5];
    d->bias = e->bias ? e->bias->data : NULL;
    d->residual = e->residual ? &mark : NULL; /* its memory is known when it is computed */
    d->activation = e->activation;
    d->act_a = e->act_a;
    d->act_b = e->act_b;
}

static struct ggml_tensor *build(struct ggml_context *ctx, struct ggml_tensor *kernel, struct ggml_tensor *x,
                                 conv2d_ggml_cache *cache, const int numbers[6], const conv2d_ggml_epilogue *e)
{
    conv2d_desc desc;
    size_t height, width;
    for (int i = 0; i < 6; i++) {
        if (numbers[i] < (i == 2 || i == 3 ? 0 : 1))
            return NULL;
    }
    if (!fits(kernel, x, e))
        return NULL;
    describe(&desc, kernel, x, numbers, e);
    if (!find_pitches(x, desc.in_pitch) || conv2d_output_size(&desc, &height, &width) != CONV2D_OK)
        return NULL;
    const int64_t shape[4] = {(int64_t)width, (int64_t)height, kernel->ne[3], x->ne[3]};
    if (e->residual && (e->residual->type != GGML_TYPE_F32 || !ggml_is_contiguous(e->residual) ||
                        memcmp(e->residual->ne, shape, sizeof shape) != 0))
        return NULL;
    job *j = find_job(cache, &desc, kernel, e->bias);
    if (!j)
        return NULL;
    /* The kernel and the bias are arguments too, so that a graph knows them and tools can show them. */
    struct ggml_tensor *arguments[4] = {kernel, x};
    int count = 2;
    if (e->residual)
        arguments[count++] = e->residual;
    if (e->bias)
        arguments[count++] = e->bias;
    return ggml_custom_4d(ctx, GGML_TYPE_F32, shape[0], shape[1], shape[2], shape[3], arguments, count, compute,
                          j->parts, j);
}

struct ggml_tensor *conv2d_ggml_fused(struct ggml_context *ctx, struct ggml_tensor *kernel, struct ggml_tensor *x,
                                      conv2d_ggml_cache *cache, int s0, int s1, int p0, int p1, int d0, int d1,
                                      const conv2d_ggml_epilogue *epilogue)
{
    const int numbers[6] = {s0, s1, p0, p1, d0, d1};
    struct ggml_tensor *node = build(ctx, kernel, x, cache, numbers, epilogue);
    if (node)
        cache->counts.claimed++;
    else
        cache->counts.left++;
    return node;
}

struct ggml_tensor *conv2d_ggml(struct ggml_context *ctx, struct ggml_tensor *kernel, struct ggml_tensor *x,
                                conv2d_ggml_cache *cache, int s0, int s1, int p0, int p1, int d0, int d1)
{
    const conv2d_ggml_epilogue none = {0};
    struct ggml_tensor *node = conv2d_ggml_fused(ctx, kernel, x, cache, s0, s1, p0, p1, d0, d1, &none);
    return node ? node : ggml_conv_2d(ctx, kernel, x, s0, s1, p0, p1, d0, d1);
}
