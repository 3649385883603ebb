/* SPDX-License-Identifier: MIT */
/*
 * Times the convolutional part of ResNet-18 in ggml's CPU backend: with ggml's nodes (ggml_conv_2d or its direct form,
 * then bias, sum, relu), and with conv2d_ggml_fused, in turns.  Also compares the results.
 * usage: time_network FOLDER_OF_BACKENDS THREADS ROUNDS
 */
#include "conv2d_ggml.h"
#include "ggml_run.h"
#include "sample.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 4, BLOCKS = 2, MAX_LAYERS = 32, MAX_ROUNDS = 64, SIZE = 224 };
enum { BY_CONV_2D, BY_DIRECT, BY_OURS, WAYS };

typedef struct layer {
    struct ggml_tensor *kernel, *bias;
    int stride;
} layer;

/* The layers in the order in which they are used. */
typedef struct network {
    struct ggml_context *values;
    ggml_backend_buffer_t memory;
    struct ggml_tensor *image;
    layer layers[MAX_LAYERS];
    int count;
} network;

/* One graph that is being built. */
typedef struct builder {
    struct ggml_context *ctx;
    const network *net;
    conv2d_ggml_cache *cache;
    int way, next;
} builder;

static void add_layer(network *net, int in, int out, int kernel, int stride)
{
    net->layers[net->count++] = (layer){ggml_new_tensor_4d(net->values, GGML_TYPE_F32, kernel, kernel, in, out),
                                        ggml_new_tensor_1d(net->values, GGML_TYPE_F32, out), stride};
}

static void fill(struct ggml_tensor *t, float spread, uint32_t *state)
{
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        *state = *state * 1664525u + 1013904223u;
        ((float *)t->data)[i] = spread * ((float)(*state >> 8) / (1 << 23) - 1);
    }
}

static network make_network(ggml_backend_t cpu)
{
    network net = {.values = new_context()};
    uint32_t state = 1;
    int in = 64;
    net.image = ggml_new_tensor_4d(net.values, GGML_TYPE_F32, SIZE, SIZE, 3, 1);
    add_layer(&net, 3, in, 7, 2);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int block = 0; block < BLOCKS; block++) {
            const int out = 64 << stage, stride = stage > 0 && block == 0 ? 2 : 1;
            add_layer(&net, in, out, 3, stride);
            if (stride > 1)
                add_layer(&net, in, out, 1, stride);
            add_layer(&net, out, out, 3, 1);
            in = out;
        }
    }
    net.memory = ggml_backend_alloc_ctx_tensors(net.values, cpu);
    for (int i = 0; i < net.count; i++) {
        const int64_t *ne = net.layers[i].kernel->ne;
        fill(net.layers[i].kernel, sqrtf(3.f / (float)(ne[0] * ne[1] * ne[2])), &state);
        fill(net.layers[i].bias, .1f, &state);
    }
    fill(net.image, 1, &state);
    return net;
}

static struct ggml_tensor *convolve(builder *b, struct ggml_tensor *x, struct ggml_tensor *residual, bool relu)
{
    const layer *l = &b->net->layers[b->next++];
    const int s = l->stride, p = (int)l->kernel->ne[0] / 2;
    const conv2d_ggml_epilogue e = {
        .bias = l->bias, .residual = residual, .activation = relu ? CONV2D_RELU : CONV2D_NONE};
    if (b->way == BY_OURS)
        return conv2d_ggml_fused(b->ctx, l->kernel, x, b->cache, s, s, p, p, 1, 1, &e);
    struct ggml_tensor *y =
        (b->way == BY_DIRECT ? ggml_conv_2d_direct : ggml_conv_2d)(b->ctx, l->kernel, x, s, s, p, p, 1, 1);
    y = ggml_add_inplace(b->ctx, y, ggml_reshape_4d(b->ctx, l->bias, 1, 1, l->bias->ne[0], 1));
    y = residual ? ggml_add_inplace(b->ctx, y, residual) : y;
    return relu ? ggml_relu_inplace(b->ctx, y) : y;
}

static struct ggml_tensor *build(builder *b)
{
    struct ggml_tensor *x = convolve(b, b->net->image, NULL, true);
    x = ggml_pool_2d(b->ctx, x, GGML_OP_POOL_MAX, 3, 3, 2, 2, 1, 1);
    for (int block = 0; block < STAGES * BLOCKS; block++) {
        const bool smaller = b->net->layers[b->next].stride > 1;
        struct ggml_tensor *y = convolve(b, x, NULL, true);
        struct ggml_tensor *shortcut = smaller ? convolve(b, x, NULL, false) : x;
        x = convolve(b, y, shortcut, true);
    }
    return x;
}

/* The median. */
static double milliseconds(double *seconds, int count)
{
    return 1e3 * quartiles_of(seconds, (size_t)count).median;
}

/* The largest difference, as a share of the largest value. */
static double difference(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < ggml_nelements(a); i++) {
        const float x = ((float *)a->data)[i], y = ((float *)b->data)[i];
        worst = fmax(worst, fabs((double)x - y));
        largest = fmax(largest, fabs((double)x));
    }
    return worst / largest;
}

static void time_ways(ggml_backend_t cpu, const network *net, int threads, int rounds)
{
    static double seconds[WAYS][MAX_ROUNDS];
    struct ggml_context *ctx[WAYS];
    struct ggml_tensor *outputs[WAYS];
    run runs[WAYS];
    conv2d_ggml_cache *cache = conv2d_ggml_new(threads);
    for (int way = 0; way < WAYS; way++) {
        ctx[way] = new_context();
        builder b = {ctx[way], net, cache, way, 0};
        outputs[way] = build(&b);
        runs[way] = prepare(ctx[way], cpu, outputs[way]);
    }
    for (int round = -1; round < rounds; round++) { /* one to warm up */
        for (int way = 0; way < WAYS; way++) {
            const double start = now();
            compute_once(cpu, &runs[way]);
            if (round >= 0)
                seconds[way][round] = now() - start;
        }
    }
    const double a = milliseconds(seconds[BY_CONV_2D], rounds), d = milliseconds(seconds[BY_DIRECT], rounds);
    const double c = milliseconds(seconds[BY_OURS], rounds);
    printf(
        "%d threads, %d of %d convolutions ours: conv_2d %.1f ms, direct %.1f ms, ours %.1f ms: %.1f and %.1f times\n",
        threads, (int)conv2d_ggml_count(cache).claimed, net->count, a, d, c, a / c, d / c);
    printf("difference of the result, of its largest value: to conv_2d (f16) %.1e, to direct %.1e\n",
           difference(outputs[BY_OURS], outputs[BY_CONV_2D]), difference(outputs[BY_OURS], outputs[BY_DIRECT]));
    for (int way = 0; way < WAYS; way++) {
        release(&runs[way]);
        ggml_free(ctx[way]);
    }
    conv2d_ggml_free(cache);
}

int main(int argc, char **argv)
{
    const int threads = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0,
              rounds = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (threads < 1 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: time_network FOLDER_OF_BACKENDS THREADS ROUNDS   (at most %d rounds)\n", MAX_ROUNDS);
        return 2;
    }
    ggml_backend_t cpu = open_cpu(argv[1]);
    set_threads(cpu, threads);
    network net = make_network(cpu);
    time_ways(cpu, &net, threads, rounds);
    ggml_backend_buffer_free(net.memory);
    ggml_free(net.values);
    ggml_backend_free(cpu);
    return 0;
}
