/* SPDX-License-Identifier: MIT */
/*
 * Times single convolutions in ggml's CPU backend: ggml_conv_2d, ggml_conv_2d_direct, conv2d_ggml, in turns.
 * usage: time_ggml FOLDER_OF_BACKENDS THREADS ROUNDS
 */
#include "conv2d_ggml.h"
#include "ggml_run.h"
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>

/* Square images and kernels; padding keeps the size. */
typedef struct layer {
    int size, in_channels, out_channels, kernel, stride;
} layer;

static const layer layers[] = {{56, 64, 64, 3, 1},   {28, 128, 128, 3, 1}, {14, 256, 256, 3, 1},  {7, 512, 512, 3, 1},
                               {56, 128, 128, 3, 2}, {56, 256, 64, 1, 1},  {14, 1024, 256, 1, 1}, {224, 3, 64, 7, 2},
                               {256, 16, 16, 3, 1},  {64, 320, 320, 3, 1}};
enum { LAYERS = sizeof layers / sizeof *layers, MAX_ROUNDS = 64, WAYS = 3 };

/* The median. */
static double microseconds(double *seconds, int count)
{
    return 1e6 * quartiles_of(seconds, (size_t)count).median;
}

static struct ggml_tensor *build(int way, struct ggml_context *ctx, const layer *l, struct ggml_tensor *kernel,
                                 struct ggml_tensor *x, conv2d_ggml_cache *cache)
{
    const int s = l->stride, p = l->kernel / 2;
    return way == 0   ? ggml_conv_2d(ctx, kernel, x, s, s, p, p, 1, 1)
           : way == 1 ? ggml_conv_2d_direct(ctx, kernel, x, s, s, p, p, 1, 1)
                      : conv2d_ggml(ctx, kernel, x, cache, s, s, p, p, 1, 1);
}

static void time_layer(ggml_backend_t cpu, const layer *l, conv2d_ggml_cache *cache, int rounds)
{
    static double seconds[WAYS][MAX_ROUNDS];
    struct ggml_context *values = new_context(), *ctx = new_context();
    struct ggml_tensor *kernel =
        ggml_new_tensor_4d(values, GGML_TYPE_F32, l->kernel, l->kernel, l->in_channels, l->out_channels);
    struct ggml_tensor *x = ggml_new_tensor_4d(values, GGML_TYPE_F32, l->size, l->size, l->in_channels, 1);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(values, cpu);
    for (int64_t i = 0; i < ggml_nelements(kernel); i++)
        ((float *)kernel->data)[i] = (float)(i % 17) * .01f;
    for (int64_t i = 0; i < ggml_nelements(x); i++)
        ((float *)x->data)[i] = (float)(i % 13) * .1f;
    run runs[WAYS];
    for (int way = 0; way < WAYS; way++) {
        runs[way] = prepare(ctx, cpu, build(way, ctx, l, kernel, x, cache));
        compute_once(cpu, &runs[way]);
    }
    for (int round = 0; round < rounds; round++) {
        for (int way = 0; way < WAYS; way++) {
            const double start = now();
            compute_once(cpu, &runs[way]);
            seconds[way][round] = now() - start;
        }
    }
    const double a = microseconds(seconds[0], rounds), b = microseconds(seconds[1], rounds);
    const double c = microseconds(seconds[2], rounds);
    char name[64];
    snprintf(name, sizeof name, "%dx%dx%d %dx%dx%d s%d", l->in_channels, l->size, l->size, l->out_channels, l->kernel,
             l->kernel, l->stride);
    printf("%-24s%10.0f%10.0f%10.0f%8.1f%8.1f\n", name, a, b, c, a / c, b / c);
    for (int way = 0; way < WAYS; way++)
        release(&runs[way]);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
    ggml_free(values);
    conv2d_ggml_forget(cache);
}

int main(int argc, char **argv)
{
    const int threads = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0,
              rounds = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (threads < 1 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: time_ggml FOLDER_OF_BACKENDS THREADS ROUNDS   (at most %d rounds)\n", MAX_ROUNDS);
        return 2;
    }
    ggml_backend_t cpu = open_cpu(argv[1]);
    conv2d_ggml_cache *cache = conv2d_ggml_new(threads);
    set_threads(cpu, threads);
    printf("ggml %s, us, medians of %d turns, %d threads\n", ggml_version(), rounds, threads);
    printf("%-24s%10s%10s%10s%8s%8s\n", "", "conv_2d", "direct", "ours", "times", "times");
    for (size_t i = 0; i < LAYERS; i++)
        time_layer(cpu, &layers[i], cache, rounds);
    conv2d_ggml_free(cache);
    ggml_backend_free(cpu);
    return 0;
}
