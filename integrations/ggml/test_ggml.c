/* SPDX-License-Identifier: MIT */
/*
 * Builds the same convolutions by ggml and by conv2d_ggml and compares.  With small whole numbers both are exact,
 * ggml's f16 included, so they must be equal.  With any numbers ours must be the bits of conv2d_f32, and near ggml's:
 * of n taps and M = sum of |x||w|, ggml rounds both factors to f16, with u = 2^-11 an error of (1 + u)^2 - 1 of M, and
 * both sum in f32, n * 2^-24 of M each.
 * usage: test_ggml FOLDER_OF_BACKENDS
 */
#include "conv2d_ggml.h"
#include "ggml_run.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* in_channels 0: depthwise, out_channels channels. */
typedef struct shape {
    int width, height, in_channels, out_channels, images, kernel_width, kernel_height;
    int s0, s1, p0, p1, d0, d1;
    bool half; /* the kernel is f16 */
} shape;

static const shape shapes[] = {
    {56, 56, 64, 64, 1, 3, 3, 1, 1, 1, 1, 1, 1, false},  {56, 56, 64, 64, 1, 3, 3, 1, 1, 1, 1, 1, 1, true},
    {28, 30, 32, 48, 2, 1, 1, 1, 1, 0, 0, 1, 1, false},  {33, 17, 3, 16, 3, 7, 5, 2, 3, 3, 2, 1, 1, false},
    {40, 23, 8, 24, 1, 3, 3, 2, 1, 2, 1, 2, 3, true},    {1, 1, 96, 10, 4, 1, 1, 1, 1, 0, 0, 1, 1, false},
    {24, 24, 0, 40, 1, 3, 3, 1, 1, 1, 1, 1, 1, false},   {31, 24, 0, 17, 1, 5, 5, 2, 2, 2, 2, 1, 1, true},
    {100, 1, 16, 32, 1, 11, 1, 1, 1, 5, 0, 1, 1, false},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int failures;
static uint32_t state = 7;

static void expect(bool good, const char *what, size_t number)
{
    if (good)
        return;
    printf("not so: %s (%zu)\n", what, number);
    failures++;
}

/* Whole numbers from -4 to 4, or fractions. */
static float draw(bool whole)
{
    state = state * 1664525u + 1013904223u;
    return whole ? (float)((int)(state >> 16) % 9 - 4) : (float)(state >> 8) / (1 << 23) - 1;
}

static void fill(struct ggml_tensor *t, bool whole)
{
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        const float value = draw(whole);
        if (t->type == GGML_TYPE_F16)
            ((ggml_fp16_t *)t->data)[i] = ggml_fp32_to_fp16(value);
        else
            ((float *)t->data)[i] = value;
    }
}

/* The tensors of a shape, with values. */
typedef struct tensors {
    struct ggml_context *ctx;
    ggml_backend_buffer_t memory;
    struct ggml_tensor *kernel, *x, *bias;
} tensors;

static tensors make_tensors(const shape *s, ggml_backend_t cpu, bool whole)
{
    tensors t = {.ctx = new_context()};
    const bool depthwise = s->in_channels == 0;
    t.kernel = ggml_new_tensor_4d(t.ctx, s->half ? GGML_TYPE_F16 : GGML_TYPE_F32, s->kernel_width, s->kernel_height,
                                  depthwise ? 1 : s->in_channels, s->out_channels);
    t.x = ggml_new_tensor_4d(t.ctx, GGML_TYPE_F32, s->width, s->height, depthwise ? s->out_channels : s->in_channels,
                             s->images);
    t.bias = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, s->out_channels);
    t.memory = ggml_backend_alloc_ctx_tensors(t.ctx, cpu);
    fill(t.kernel, whole);
    fill(t.x, whole);
    fill(t.bias, whole);
    return t;
}

static void free_tensors(tensors *t)
{
    ggml_backend_buffer_free(t->memory);
    ggml_free(t->ctx);
}

static struct ggml_tensor *theirs(struct ggml_context *ctx, const shape *s, const tensors *t)
{
    return (s->in_channels ? ggml_conv_2d : ggml_conv_2d_dw)(ctx, t->kernel, t->x, s->s0, s->s1, s->p0, s->p1, s->d0,
                                                             s->d1);
}

static struct ggml_tensor *ours(struct ggml_context *ctx, const shape *s, const tensors *t, conv2d_ggml_cache *cache)
{
    return conv2d_ggml(ctx, t->kernel, t->x, cache, s->s0, s->s1, s->p0, s->p1, s->d0, s->d1);
}

/* Computes a node, and returns a copy of its values. */
static float *values_of(struct ggml_context *ctx, ggml_backend_t cpu, struct ggml_tensor *node)
{
    run r = prepare(ctx, cpu, node);
    float *copy = malloc(ggml_nbytes(node));
    if (!copy)
        exit(2);
    memset(node->data, 0xff, ggml_nbytes(node));
    compute_once(cpu, &r);
    memcpy(copy, node->data, ggml_nbytes(node));
    release(&r);
    return copy;
}

/* conv2d_f32 on the plain values; magnitudes: of their absolute values. */
static float *direct(const shape *s, const tensors *t, int64_t count, bool magnitudes)
{
    const int64_t weights = ggml_nelements(t->kernel), inputs = ggml_nelements(t->x);
    float *w = malloc(sizeof *w * (size_t)weights), *x = malloc(sizeof *x * (size_t)inputs);
    float *out = malloc(sizeof *out * (size_t)count);
    if (!w || !x || !out)
        exit(2);
    for (int64_t i = 0; i < weights; i++) {
        w[i] = s->half ? ggml_fp16_to_fp32(((ggml_fp16_t *)t->kernel->data)[i]) : ((float *)t->kernel->data)[i];
        w[i] = magnitudes ? fabsf(w[i]) : w[i];
    }
    for (int64_t i = 0; i < inputs; i++)
        x[i] = magnitudes ? fabsf(((float *)t->x->data)[i]) : ((float *)t->x->data)[i];
    const conv2d_desc desc = {.batch = (size_t)s->images,
                              .in_channels = (size_t)t->x->ne[2],
                              .in_height = (size_t)s->height,
                              .in_width = (size_t)s->width,
                              .out_channels = (size_t)s->out_channels,
                              .kernel_height = (size_t)s->kernel_height,
                              .kernel_width = (size_t)s->kernel_width,
                              .stride_h = (size_t)s->s1,
                              .stride_w = (size_t)s->s0,
                              .dilation_h = (size_t)s->d1,
                              .dilation_w = (size_t)s->d0,
                              .groups = s->in_channels ? 1 : (size_t)s->out_channels,
                              .pad_top = (size_t)s->p1,
                              .pad_bottom = (size_t)s->p1,
                              .pad_left = (size_t)s->p0,
                              .pad_right = (size_t)s->p0};
    if (conv2d_f32(&desc, x, w, out) != CONV2D_OK)
        exit(2);
    free(w);
    free(x);
    return out;
}

static void check_bound(const shape *s, const tensors *t, const float *a, const float *b, int64_t count, size_t number)
{
    float *sums = direct(s, t, count, true);
    const double half = ldexp(1, -11), taps = (double)(t->kernel->ne[0] * t->kernel->ne[1] * t->kernel->ne[2]);
    const double share = (1 + half) * (1 + half) - 1 + 2 * (taps + 1) * ldexp(1, -24) + ldexp(1, -22);
    double worst = 0;
    bool good = true;
    for (int64_t i = 0; i < count; i++) {
        /* The smallest normal f16 is 2^-14: what is below is rounded to multiples of 2^-24. */
        const double ratio = fabs((double)a[i] - b[i]) / (share * sums[i] + taps * ldexp(1, -24));
        good = good && ratio <= 1;
        worst = fmax(worst, ratio);
    }
    printf("shape %zu: difference to ggml at most %.3f of the bound\n", number, worst);
    expect(good, "within the bound of ggml's result", number);
    free(sums);
}

static void check_shape(ggml_backend_t cpu, size_t number, int threads)
{
    const shape *s = &shapes[number];
    conv2d_ggml_cache *cache = conv2d_ggml_new(threads);
    set_threads(cpu, threads);
    for (int whole = 0; whole < 2; whole++) {
        tensors t = make_tensors(s, cpu, whole);
        struct ggml_context *ctx = new_context();
        struct ggml_tensor *node = ours(ctx, s, &t, cache), *other = theirs(ctx, s, &t);
        const int64_t count = ggml_nelements(node);
        expect(ggml_are_same_shape(node, other), "the shape of ggml's result", number);
        expect(node->op == GGML_OP_CUSTOM, "claimed", number);
        float *a = values_of(ctx, cpu, node), *b = values_of(ctx, cpu, other), *c = direct(s, &t, count, false);
        expect(memcmp(a, c, sizeof *a * (size_t)count) == 0, "the bits of conv2d_f32", number);
        if (whole)
            expect(memcmp(a, b, sizeof *a * (size_t)count) == 0, "equal to ggml on whole numbers", number);
        else
            check_bound(s, &t, a, b, count, number);
        free(a);
        free(b);
        free(c);
        conv2d_ggml_forget(cache); /* the next weights may lie where these did */
        ggml_free(ctx);
        free_tensors(&t);
    }
    const conv2d_ggml_counts counts = conv2d_ggml_count(cache);
    expect(counts.claimed == 2 && counts.computed == 2 && counts.left == 0, "two nodes, each computed once", number);
    conv2d_ggml_free(cache);
}

/* The part of a tensor that a view of it shows, into a dense tensor. */
static void copy_view(const struct ggml_tensor *view, struct ggml_tensor *dense)
{
    float *to = dense->data;
    for (int64_t row = 0; row < ggml_nrows(view); row++, to += view->ne[0]) {
        const int64_t y = row % view->ne[1], channel = row / view->ne[1] % view->ne[2];
        const size_t image = (size_t)(row / view->ne[1] / view->ne[2]);
        const size_t offset = (size_t)y * view->nb[1] + (size_t)channel * view->nb[2] + image * view->nb[3];
        memcpy(to, (const char *)view->data + offset, (size_t)view->ne[0] * sizeof *to);
    }
}

/* conv + bias + residual + relu in one node, x a part of a larger tensor; against ggml's nodes, which need a copy of
 * that part: its im2col takes rows for dense. */
static void check_fused(ggml_backend_t cpu)
{
    const shape s = {20, 18, 12, 16, 2, 3, 3, 1, 1, 1, 1, 1, 1, false},
                small = {11, 9, 12, 16, 2, 3, 3, 1, 1, 1, 1, 1, 1, false};
    tensors t = make_tensors(&s, cpu, true), u = make_tensors(&small, cpu, true);
    struct ggml_context *ctx = new_context(), *values = new_context();
    struct ggml_tensor *residual = ggml_new_tensor_4d(values, GGML_TYPE_F32, 11, 9, 16, 2);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(values, cpu);
    conv2d_ggml_cache *cache = conv2d_ggml_new(2);
    struct ggml_tensor *view =
        ggml_view_4d(ctx, t.x, 11, 9, 12, 2, t.x->nb[1], t.x->nb[2], t.x->nb[3], 5 * sizeof(float));
    fill(residual, true);
    copy_view(view, u.x);

    const conv2d_ggml_epilogue e = {.bias = u.bias, .residual = residual, .activation = CONV2D_RELU};
    struct ggml_tensor *node = conv2d_ggml_fused(ctx, u.kernel, view, cache, 1, 1, 1, 1, 1, 1, &e);
    struct ggml_tensor *biased = ggml_add(ctx, theirs(ctx, &small, &u), ggml_reshape_4d(ctx, u.bias, 1, 1, 16, 1));
    float *a = values_of(ctx, cpu, node), *b = values_of(ctx, cpu, ggml_relu(ctx, ggml_add(ctx, biased, residual)));
    expect(memcmp(a, b, ggml_nbytes(node)) == 0, "a fused node is ggml's nodes", 0);
    free(a);
    free(b);
    expect(conv2d_ggml_fused(ctx, u.kernel, view, cache, 1, 1, 1, 1, 1, 1, &e) != node, "a new node", 0);
    expect(conv2d_ggml_count(cache).claimed == 2, "and it is claimed as well", 0);
    conv2d_ggml_free(cache);
    ggml_backend_buffer_free(memory);
    ggml_free(values);
    ggml_free(ctx);
    free_tensors(&u);
    free_tensors(&t);
}

/* What is left: a kernel without values, an x whose rows are not whole, numbers of no convolution. */
static void check_left(ggml_backend_t cpu)
{
    const shape s = {20, 18, 12, 16, 1, 3, 3, 1, 1, 1, 1, 1, 1, false};
    tensors t = make_tensors(&s, cpu, true), left = t;
    struct ggml_context *ctx = new_context();
    conv2d_ggml_cache *cache = conv2d_ggml_new(2);
    const conv2d_ggml_epilogue none = {0};
    left.kernel = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 3, 3, 12, 16);
    expect(ours(ctx, &s, &left, cache)->op != GGML_OP_CUSTOM, "a kernel without values is left", 0);
    left.kernel = t.kernel;
    left.x = ggml_permute(ctx, t.x, 1, 0, 2, 3);
    expect(!conv2d_ggml_fused(ctx, left.kernel, left.x, cache, 1, 1, 1, 1, 1, 1, &none), "transposed rows are left", 0);
    expect(!conv2d_ggml_fused(ctx, t.kernel, t.x, cache, 0, 1, 1, 1, 1, 1, &none), "a stride of 0 is left", 0);
    expect(!conv2d_ggml_fused(ctx, t.kernel, t.x, cache, 1, 1, 1, 1, 99, 1, &none), "an empty result is left", 0);
    expect(conv2d_ggml_count(cache).left == 4 && conv2d_ggml_count(cache).claimed == 0, "all are counted", 0);
    conv2d_ggml_free(cache);
    ggml_free(ctx);
    free_tensors(&t);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: test_ggml FOLDER_OF_BACKENDS\n", stderr);
        return 2;
    }
    ggml_backend_t cpu = open_cpu(argv[1]);
    for (size_t number = 0; number < SHAPES; number++) {
        for (int threads = 1; threads <= 3; threads++)
            check_shape(cpu, number, threads);
    }
    check_fused(cpu);
    check_left(cpu);
    ggml_backend_free(cpu);
    printf("ggml %s: %d shapes, %d failures\n", ggml_version(), (int)SHAPES, failures);
    return failures > 0;
}
