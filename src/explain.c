/* SPDX-License-Identifier: MIT */
/* A plan in words. */
#include "text.h"

static void say_problem(text *t, const problem *p)
{
    say(t, "problem: batch %zu, groups %zu; per group %zu x %zu x %zu -> %zu x %zu x %zu; kernel %zu x %zu", p->batch,
        p->groups, p->in_channels, p->in_height, p->in_width, p->out_channels, p->out_height, p->out_width,
        p->kernel_height, p->kernel_width);
    say(t, ", stride %zu x %zu, dilation %zu x %zu, padding %zu above, %zu left\n", p->stride_h, p->stride_w,
        p->dilation_h, p->dilation_w, p->pad_top, p->pad_left);
}

static void say_blocking(text *t, const ready_plan *plan)
{
    const blocking *b = &plan->blocking;
    if (plan->kernel->family == CONV2D_FAMILY_REFERENCE)
        return;
    if (plan->kernel->family == CONV2D_FAMILY_D) {
        if (!plan->kernel->nhwc)
            say(t, "blocking: %zu channels at a time\n", b->chunk_channels);
        return;
    }
    say(t, "blocking: in_channels in %zu pieces", b->channel_blocks);
    if (plan->kernel->family == CONV2D_FAMILY_W) {
        say(t, ", %zu vectors of columns for all out_channels, these in %zu chunks", b->block_vectors, b->chunks);
        if (b->scratch_row)
            say(t, ", rows copied to the workspace in %zu pieces", b->row_tiles);
    } else {
        say(t, ", %zu column tiles a row, all of them in %zu chunks", b->tiles_per_row, b->tile_chunks);
    }
    say(t, "\n");
}

static void say_candidates(text *t, const ready_plan *plan)
{
    for (size_t i = 0; i < conv2d_kernel_count; i++) {
        const conv2d_kernel *kernel = &conv2d_kernels[i];
        if (kernel == plan->kernel)
            continue;
        const char *refusal = conv2d_kernel_refusal(plan, kernel);
        if (refusal)
            say(t, "  not %s: %s\n", kernel->name, refusal);
        else
            say(t, "  not %s: predicted %.1f %% of peak%s\n", kernel->name,
                100 * conv2d_predict_efficiency(&plan->problem, kernel),
                plan->forced     ? ", another was forced"
                : plan->recorded ? ", a record says another"
                                 : "");
    }
}

size_t conv2d_explain(const conv2d_plan *opaque, char *buffer, size_t size)
{
    text t = text_in(buffer, size);
    const ready_plan *p = plan_of(opaque);
    if (!p) {
        say(&t, "refused: this is no plan (conv2d_plan_init was not called)\n");
    } else if (p->status != CONV2D_OK) {
        say(&t, "refused: %s: %s\n", conv2d_status_string(p->status), p->fault);
    } else {
        say_problem(&t, &p->problem);
        say(&t, "kernel: %s, %s, predicted %.1f %% of peak; instruction sets up to %s\n", p->kernel->name,
            p->forced     ? "forced"
            : p->recorded ? "recorded"
                          : "chosen",
            100 * p->efficiency, conv2d_isa_name(p->isa));
        if (p->record)
            say(&t, "record: %s\n", p->record);
        say_blocking(&t, p);
        say_candidates(&t, p);
    }
    return t.length;
}
