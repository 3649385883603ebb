/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

void runner_run(void *context)
{
    runner *const r = context;
    r->args.out = r->load->out + r->next_out * r->load->out_pitch;
    r->args.residual = r->load->in_place ? r->args.out : r->load->residual;
    r->next_out = r->next_out + 1 < r->load->out_count ? r->next_out + 1 : 0;
    const conv2d_status status =
        r->pool ? conv2d_run_pool(r->pool, &r->plan, &r->args) : conv2d_run(&r->plan, &r->args);
    if (status != CONV2D_OK)
        r->status = status;
}

void runner_free(runner *r)
{
    conv2d_pool_destroy(r->pool);
    free(r->packed);
    free(r->workspace);
}

conv2d_status runner_make(runner *r, const workload *load, size_t threads, const conv2d_options *options)
{
    *r = (runner){.load = load};
    conv2d_status status = conv2d_plan_init(&r->plan, &load->desc, options);
    r->planned = status == CONV2D_OK;
    if (!r->planned)
        return status;
    if (threads > 1 && !(r->pool = conv2d_pool_create(threads, &status)))
        return status;
    const size_t packed_floats = conv2d_packed_size(&r->plan);
    const size_t workspace_floats = conv2d_workspace_size(&r->plan, r->pool ? conv2d_pool_threads(r->pool) : 1);
    r->packed = allocate_floats(packed_floats);
    r->workspace = allocate_floats(workspace_floats);
    if (!r->packed || !r->workspace)
        return CONV2D_NO_MEMORY;
    /* Pages are mapped on the first touch, which is no part of packing. */
    memset(r->packed, 0, packed_floats * sizeof(float));
    memset(r->workspace, 0, workspace_floats * sizeof(float));
    const double start = now();
    status = conv2d_pack_weights(&r->plan, load->weights, load->desc.bias, r->packed);
    r->pack_seconds = now() - start;
    r->args = (conv2d_args){.in = load->in, .packed = r->packed, .workspace = r->workspace};
    return status;
}

void runner_explain(const runner *r, conv2d_status status, char *message, size_t message_size)
{
    if (r->planned)
        snprintf(message, message_size, "%s", conv2d_status_string(status));
    else
        conv2d_explain(&r->plan, message, message_size);
}
