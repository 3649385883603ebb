/* SPDX-License-Identifier: MIT */
/* A job of a pool: whatever can be run in parts. */
#ifndef CONV2D_POOL_H
#define CONV2D_POOL_H

#include "conv2d.h"

typedef conv2d_status pool_part_fn(const void *plan, const void *args, size_t part, size_t parts);

/* Runs at most `useful` parts, as many as there are threads, and returns when all are done. */
conv2d_status conv2d_pool_run(conv2d_pool *pool, pool_part_fn *run_part, const void *plan, const void *args,
                              size_t useful);

#endif
