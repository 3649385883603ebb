/* SPDX-License-Identifier: MIT */
/* A program that knows nothing of the tracer: some runs of some plans, a signal to itself, then more runs by a pool. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d.h"

enum { SMALL_RUNS = 300, LARGE_RUNS = 20, POOL_RUNS = 10 };

static float in[64 * 40 * 40], packed[64 * 64 * 9 + 64], out[64 * 40 * 40], workspace[1 << 20];

static int run(size_t channels, size_t size, size_t kernel, int times, conv2d_pool *pool)
{
    const conv2d_desc desc = {.in_channels = channels,
                              .in_height = size,
                              .in_width = size,
                              .out_channels = channels,
                              .kernel_height = kernel,
                              .kernel_width = kernel};
    conv2d_plan plan;
    const conv2d_args args = {.in = in, .packed = packed, .out = out, .workspace = workspace};
    int good = conv2d_plan_init(&plan, &desc, NULL) == CONV2D_OK &&
               conv2d_workspace_size(&plan, 2) <= sizeof workspace / sizeof *workspace;
    for (int i = 0; i < times && good; i++)
        good = (pool ? conv2d_run_pool(pool, &plan, &args) : conv2d_run(&plan, &args)) == CONV2D_OK;
    /* The same memory will hold another plan: the tracer must not take one for the other. */
    memset(&plan, 0, sizeof plan);
    return good;
}

int main(int argument_count, char **arguments)
{
    conv2d_pool *const pool = conv2d_pool_create(2, NULL);
    int good = pool && run(3, 12, 3, SMALL_RUNS, NULL) && run(64, 40, 1, LARGE_RUNS, NULL);
    if (argument_count > 1 && strcmp(arguments[1], "--signal") == 0)
        good = good && raise(SIGUSR1) == 0;
    good = good && run(64, 40, 3, POOL_RUNS, pool) && run(3, 12, 3, SMALL_RUNS, NULL);
    conv2d_pool_destroy(pool);
    printf("%s\n", good ? "done" : "failed");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
