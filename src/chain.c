/* SPDX-License-Identifier: MIT */
/* The public calls about chains: checks of their arguments, and no logic. */
#include "chain.h"

#include <stdint.h>

#include "hook.h"
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
    const size_t floats = runs(c) ? conv2d_chain_workspace(c, max_size(parts, 1)) : 0;
    return floats > PTRDIFF_MAX / sizeof(float) ? SIZE_MAX : floats;
}

/* What is wrong with a run, if it does anything at all. */
static conv2d_status check_run(const conv2d_chain *opaque, const conv2d_chain_args *args)
{
    const ready_chain *c = chain_of(opaque);
    if (!c)
        return opaque ? CONV2D_INVALID : CONV2D_NULL_POINTER;
    if (c->status != CONV2D_OK)
        return c->status;
    if (!args)
        return CONV2D_NULL_POINTER;
    if (!runs(c))
        return CONV2D_OK;
    if (!args->in || !args->packed[0] || (!c->pools && !args->packed[1]) || !args->out || !args->workspace)
        return CONV2D_NULL_POINTER;
    for (size_t i = 0; i < 2; i++)
        if (!args->residual[i] != !c->image[i].has_residual)
            return c->image[i].has_residual ? CONV2D_NULL_POINTER : CONV2D_INVALID;
    return CONV2D_OK;
}

static void begin_call(const conv2d_hook *hook, conv2d_call *call, const conv2d_chain *chain, size_t step, size_t part,
                       size_t parts)
{
    const conv2d_plan *plan = conv2d_chain_stage(chain, step);
    call->plan = plan ? plan : conv2d_chain_stage(chain, 0);
    call->chain = chain;
    call->args = NULL;
    call->part = part;
    call->parts = parts;
    conv2d_hook_begin(hook, call);
}

conv2d_status conv2d_chain_run_part(const conv2d_chain *chain, const conv2d_chain_args *args, size_t part, size_t parts)
{
    const conv2d_status status = check_run(chain, args);
    if (status != CONV2D_OK || part >= parts)
        return status != CONV2D_OK ? status : CONV2D_INVALID;
    if (!runs(chain_of(chain)))
        return CONV2D_OK;
    const conv2d_hook *hook = current_hook();
    conv2d_call call;
    if (hook)
        begin_call(hook, &call, chain, 0, part, parts);
    conv2d_chain_run_bands(chain_of(chain), args, part, parts);
    if (hook)
        conv2d_hook_end(hook, &call);
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

static conv2d_status run_step_part(const void *chain, const void *step, size_t part, size_t parts)
{
    const conv2d_hook *hook = current_hook();
    conv2d_call call;
    if (hook)
        begin_call(hook, &call, chain, ((const chain_step *)step)->step, part, parts);
    conv2d_chain_run_step(chain_of(chain), step, part, parts);
    if (hook)
        conv2d_hook_end(hook, &call);
    return CONV2D_OK;
}

conv2d_status conv2d_chain_run_pool(conv2d_pool *pool, const conv2d_chain *chain, const conv2d_chain_args *args)
{
    if (!pool || !chain)
        return CONV2D_NULL_POINTER;
    const ready_chain *c = chain_of(chain);
    const conv2d_status status = check_run(chain, args);
    const size_t useful = conv2d_chain_useful_parts(chain);
    if (status != CONV2D_OK || !runs(c))
        return status;
    if (!conv2d_chain_by_steps(c, min_size(useful, conv2d_pool_threads(pool))))
        return conv2d_pool_run(pool, run_part, chain, args, useful);
    for (size_t i = 0; i < 2 * c->batch; i++)
        conv2d_pool_run(pool, run_step_part, chain, &(chain_step){args, i / 2, i % 2},
                        divide_up(conv2d_useful_parts(&c->plan[i % 2]), c->batch));
    return CONV2D_OK;
}
