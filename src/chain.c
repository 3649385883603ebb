/* SPDX-License-Identifier: MIT */
/* The public calls about chains: checks of their arguments, and no logic. */
#include "chain.h"

#include <stdint.h>

#include "pool.h"

const conv2d_plan *conv2d_chain_stage(const conv2d_chain *opaque, size_t stage)
{
    const ready_chain *c = chain_of(opaque);
    return c && c->status == CONV2D_OK && stage < (c->pools ? 1 : 2) ? &c->plan[stage] : NULL;
}

/* Whether a run does anything. */
static bool runs(const ready_chain *c)
{
    return c && c->status == CONV2D_OK && !c->image[1].empty;
}

size_t conv2d_chain_workspace_size(const conv2d_chain *opaque, size_t parts)
{
    const ready_chain *c = chain_of(opaque);
    size_t size;
    if (!runs(c))
        return 0;
    const bool wrong = __builtin_mul_overflow(conv2d_chain_cut(c, parts).workspace, parts ? parts : 1, &size);
    return wrong || size > PTRDIFF_MAX / sizeof(float) ? SIZE_MAX : size;
}

conv2d_status conv2d_chain_run_part(const conv2d_chain *opaque, const conv2d_chain_args *args, size_t part,
                                    size_t parts)
{
    const ready_chain *c = chain_of(opaque);
    if (!c)
        return opaque ? CONV2D_INVALID : CONV2D_NULL_POINTER;
    if (c->status != CONV2D_OK)
        return c->status;
    if (!args)
        return CONV2D_NULL_POINTER;
    if (part >= parts)
        return CONV2D_INVALID;
    if (!runs(c))
        return CONV2D_OK;
    if (!args->in || !args->packed[0] || (!c->pools && !args->packed[1]) || !args->out || !args->workspace)
        return CONV2D_NULL_POINTER;
    for (size_t i = 0; i < 2; i++)
        if (!args->residual[i] != !c->image[i].has_residual)
            return c->image[i].has_residual ? CONV2D_NULL_POINTER : CONV2D_INVALID;
    conv2d_chain_run_bands(c, args, part, parts);
    return CONV2D_OK;
}

conv2d_status conv2d_chain_run(const conv2d_chain *chain, const conv2d_chain_args *args)
{
    return conv2d_chain_run_part(chain, args, 0, 1);
}

size_t conv2d_chain_useful_parts(const conv2d_chain *opaque)
{
    size_t parts = 0;
    for (size_t i = 0; i < 2; i++) {
        const conv2d_plan *plan = conv2d_chain_stage(opaque, i);
        parts += plan ? conv2d_useful_parts(plan) : 0;
    }
    return parts ? parts : 1;
}

size_t conv2d_chain_bands(const conv2d_chain *opaque)
{
    const ready_chain *c = chain_of(opaque);
    return !c || c->status != CONV2D_OK ? 0 : runs(c) ? conv2d_chain_cut(c, 1).count : 1;
}

static conv2d_status run_part(const void *chain, const void *args, size_t part, size_t parts)
{
    return conv2d_chain_run_part(chain, args, part, parts);
}

conv2d_status conv2d_chain_run_pool(conv2d_pool *pool, const conv2d_chain *chain, const conv2d_chain_args *args)
{
    if (!pool || !chain)
        return CONV2D_NULL_POINTER;
    return conv2d_pool_run(pool, run_part, chain, args, conv2d_chain_useful_parts(chain));
}
