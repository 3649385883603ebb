/* SPDX-License-Identifier: MIT */
/*
 * Refuses each allocation that a node of conv2d_ggml asks for, from the cache to the second node.  The cache is then
 * NULL, or the node is ggml's and gives ggml's result; nothing is lost; and a node built again gives our bits.
 * usage: faults_ggml FOLDER_OF_BACKENDS
 */
#include "conv2d_ggml.h"
#include "faults/fail_allocation.h"
#include "ggml_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char this_program[] = "faults_ggml"; /* with libconv2d in it */
enum { THREADS = 2, WIDTH = 200, HEIGHT = 40, CHANNELS = 12, FILTERS = 16, TAPS = 3, STRIDE = 2, NODES = 2 };
enum { OUT_FLOATS = WIDTH / STRIDE * HEIGHT / STRIDE * FILTERS };

typedef struct tensors {
    ggml_backend_t cpu;
    struct ggml_context *ctx;
    struct ggml_tensor *kernel[NODES], *x; /* one of f32, one of f16 */
    float ours[NODES][OUT_FLOATS];
} tensors;

static int failures;

static void expect(bool good, const char *what, unsigned long number)
{
    if (good)
        return;
    printf("not so: %s (allocation %lu)\n", what, number);
    failures++;
}

/* A fraction. */
static float value_at(int64_t i)
{
    return (float)((uint32_t)i * 2654435761u >> 20) / 2048 - 1;
}

static ggml_backend_buffer_t fill_tensors(tensors *t)
{
    t->ctx = new_context();
    t->x = ggml_new_tensor_4d(t->ctx, GGML_TYPE_F32, WIDTH, HEIGHT, CHANNELS, 1);
    for (int i = 0; i < NODES; i++)
        t->kernel[i] = ggml_new_tensor_4d(t->ctx, i ? GGML_TYPE_F16 : GGML_TYPE_F32, TAPS, TAPS, CHANNELS, FILTERS);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(t->ctx, t->cpu);
    for (int64_t i = 0; i < ggml_nelements(t->x); i++)
        ((float *)t->x->data)[i] = value_at(i);
    for (int64_t i = 0; i < ggml_nelements(t->kernel[0]); i++) {
        ((float *)t->kernel[0]->data)[i] = value_at(i + 1);
        ((ggml_fp16_t *)t->kernel[1]->data)[i] = ggml_fp32_to_fp16(value_at(i + 2));
    }
    return memory;
}

static bool is_close(const float *a, const float *b)
{
    double worst = 0;
    for (size_t i = 0; i < OUT_FLOATS; i++)
        worst = fmax(worst, fabs((double)a[i] - b[i]));
    return worst < 0.05; /* ggml multiplies in f16: some hundred products of less than 1, each off by 2^-11 */
}

/* Computes the node with that kernel; whether it is ours, and gives what ours give, or ggml's. */
static bool compute_node(tensors *t, conv2d_ggml_cache *cache, int i, unsigned long number, bool known)
{
    struct ggml_context *ctx = new_context();
    struct ggml_tensor *node = conv2d_ggml(ctx, t->kernel[i], t->x, cache, STRIDE, STRIDE, 1, 1, 1, 1);
    const bool claimed = node->op == GGML_OP_CUSTOM;
    run r = prepare(ctx, t->cpu, node);
    expect(ggml_nelements(node) == OUT_FLOATS, "the size of the result", number);
    memset(node->data, 0xff, ggml_nbytes(node));
    compute_once(t->cpu, &r);
    if (!known)
        memcpy(t->ours[i], node->data, sizeof t->ours[i]);
    if (claimed)
        expect(memcmp(node->data, t->ours[i], sizeof t->ours[i]) == 0, "our bits", number);
    else
        expect(is_close(node->data, t->ours[i]), "about the same by ggml", number);
    release(&r);
    ggml_free(ctx);
    return claimed;
}

/* The number of allocations. */
static unsigned long compute_without(tensors *t, unsigned long number, bool known)
{
    const unsigned long held = allocations_held();
    fail_allocation(number, this_program);
    conv2d_ggml_cache *cache = conv2d_ggml_new(THREADS);
    expect(cache || number, "there is a cache", number);
    int left = !cache;
    for (int i = 0; cache && i < NODES; i++)
        left += !compute_node(t, cache, i, number, known);
    const unsigned long count = allocations_counted();
    fail_allocation(0, this_program);
    expect(left == (number > 0), "one thing fails for one allocation", number);
    if (!cache)
        cache = conv2d_ggml_new(THREADS);
    for (int i = 0; i < NODES; i++)
        expect(compute_node(t, cache, i, number, true), "then it is claimed", number);
    conv2d_ggml_free(cache);
    expect(allocations_held() == held, "nothing is lost", number);
    return count;
}

int main(int argc, char **argv)
{
    static tensors t;
    if (argc != 2) {
        fputs("usage: faults_ggml FOLDER_OF_BACKENDS\n", stderr);
        return 2;
    }
    fail_allocation(0, this_program);
    t.cpu = open_cpu(argv[1]);
    set_threads(t.cpu, THREADS);
    ggml_backend_buffer_t memory = fill_tensors(&t);
    const unsigned long count = compute_without(&t, 0, false);
    expect(count > 1 + NODES, "there are allocations", 0);
    for (unsigned long number = 1; number <= count; number++)
        compute_without(&t, number, true);
    printf("%lu allocations of %d nodes refused, %d failures\n", count, NODES, failures);
    ggml_backend_buffer_free(memory);
    ggml_free(t.ctx);
    ggml_backend_free(t.cpu);
    return failures > 0;
}
