/* SPDX-License-Identifier: MIT */
/* A plan in words, and a chain. */
#include "chain.h"
#include "text.h"
#include "tiles.h"

static void say_problem(text *t, const problem *p)
{
    say(t, "problem: batch %zu, groups %zu; per group %zu x %zu x %zu -> %zu x %zu x %zu; kernel %zu x %zu", p->batch,
        p->groups, p->in_channels, p->in_height, p->in_width, p->out_channels, p->out_height, p->out_width,
        p->kernel_height, p->kernel_width);
    say(t, ", stride %zu x %zu, dilation %zu x %zu, padding %zu above, %zu left%s\n", p->stride_h, p->stride_w,
        p->dilation_h, p->dilation_w, p->pad_top, p->pad_left,
        p->exchanged ? "; rows and columns have changed places" : "");
}

static void say_blocking(text *t, const ready_plan *plan)
{
    const blocking *b = &plan->blocking;
    if (plan->kernel->family == CONV2D_FAMILY_REFERENCE || plan->kernel->family == CONV2D_FAMILY_F)
        return;
    if (plan->kernel->family == CONV2D_FAMILY_D) {
        say(t, "blocking: %zu channels at a time", b->chunk_channels);
        if (b->band_rows)
            say(t, ", in bands of %zu x %zu outputs in the workspace%s", b->band_rows, b->band_columns,
                b->phases ? ", in phases of the dilation" : "");
        else if (b->phases)
            say(t, ", in %zu x %zu phases of the dilation", plan->problem.dilation_h, plan->problem.dilation_w);
        if (b->down)
            say(t,
                b->down == CONV2D_ACROSS ? ", down the rows, all channels of each" : ", down the rows, each read once");
        say(t, "\n");
        return;
    }
    if (b->subsampled_columns) {
        say(t, "blocking: the inputs of %zu outputs at a time copied to the workspace, as a dense 1x1\n",
            b->subsampled_columns);
        return;
    }
    say(t, "blocking: in_channels in %zu pieces", b->channel_blocks);
    if (plan->kernel->family == CONV2D_FAMILY_W) {
        say(t, ", %zu vectors of columns for all out_channels, these in %zu chunks", b->block_vectors, b->chunks);
        if (b->scratch_row)
            say(t, ", rows copied to the workspace in %zu pieces", b->row_tiles);
        if (b->panel_columns)
            say(t, ", their input copied to a panel of %zu columns", b->panel_columns);
    } else {
        say(t, ", %zu column tiles a row, all of them in %zu chunks%s", b->tiles_per_row, b->tile_chunks,
            b->scratch_column ? ", whose pixels are copied to the workspace" : "");
        if (b->groups_copied > 1)
            say(t, ", of %zu groups together", b->groups_copied);
        if (plan->kernel->three_taps && plan->problem.kernel_width == 3)
            say(t, ", inside the input with three unrolled taps");
        if (conv2d_k_turns(&plan->problem, plan->kernel))
            say(t, ", at its sides tiles that go down");
        if (k_halves(&plan->problem, plan->kernel))
            say(t, ", where two columns share the last vector of channels");
        if (b->groups_inside > 1)
            say(t, ", each visited by all groups in turn");
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

/* What speaks for 512 bits or against them, where the CPU has them. */
static void say_wide_fmas(text *t, const ready_plan *plan)
{
    const cpu_facts *const cpu = conv2d_cpu();
    if (plan->policy)
        say(t, "policy: %s\n", plan->policy);
    if (plan->isa == CONV2D_ISA_AVX512 || plan->policy)
        say(t, "cpu: begins %s of 512 bits in a cycle, %s\n",
            cpu->two_wide_fmas ? "two multiply-adds" : "one multiply-add",
            cpu->probed ? "as probed" : "known of its model");
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
        say_wide_fmas(&t, p);
        if (p->record)
            say(&t, "record: %s\n", p->record);
        say_blocking(&t, p);
        say_candidates(&t, p);
    }
    return t.length;
}

static void say_chain(text *t, const ready_chain *c)
{
    const problem *second = &c->image[1];
    say(t, "chain: %s, then %s; %zu images\n", conv2d_kernel_name(&c->plan[0]),
        c->pools ? "max-pooling" : conv2d_kernel_name(&c->plan[1]), c->batch);
    if (second->empty)
        return;
    const chain_bands bands = conv2d_chain_cut(c, 1);
    say(t, "between them: %zu x %zu x %zu, %s, in %zu bands of at most %zu rows, %zu floats\n",
        second->groups * second->in_channels, second->in_height, second->in_width,
        c->layout == CONV2D_NHWC ? "NHWC" : "NCHW", bands.count, bands.middle_rows, bands.middle_floats);
}

size_t conv2d_chain_explain(const conv2d_chain *opaque, char *buffer, size_t size)
{
    text t = text_in(buffer, size);
    const ready_chain *c = chain_of(opaque);
    if (!c)
        say(&t, "refused: this is no chain (conv2d_chain_init was not called)\n");
    else if (c->status != CONV2D_OK)
        say(&t, "refused: %s: %s\n", conv2d_status_string(c->status), c->fault);
    else
        say_chain(&t, c);
    return t.length;
}
