/* SPDX-License-Identifier: MIT */
/*
 * The loops of a chain: image, band of output rows.  The rows between the steps that the next band needs too stay: they
 * move to the beginning of the buffer, and the first step makes those that follow.
 */
#include "chain.h"

#include <string.h>

typedef struct chain_run {
    const ready_chain *chain;
    const conv2d_chain_args *args;
    chain_bands bands;
    problem image[2];
    ready_plan step[2]; /* of the slice at hand */
    size_t part, parts; /* of each slice */
    float *middle, *workspace;
    size_t held_image;
    tap_range held; /* rows of the first step's output that `middle` begins with */
} chain_run;

/* What two slices of an image may differ in. */
static bool same_rows(const problem *a, const problem *b)
{
    return a->out_height == b->out_height && a->in_height == b->in_height && a->pad_top == b->pad_top &&
           a->out_width == b->out_width && a->in_width == b->in_width;
}

static void run_slice(chain_run *run, size_t step, const problem *slice, const conv2d_args *args)
{
    ready_plan *plan = &run->step[step];
    if (run->chain->pools && step == 1) {
        conv2d_max_pool(slice, args->in, args->out);
        return;
    }
    if (!same_rows(&plan->problem, slice)) {
        plan->problem = *slice;
        plan->blocking = conv2d_choose_blocking(slice, plan->kernel);
    }
    conv2d_run_family(plan, args, run->part, run->parts);
}

/* `count` pieces of so many floats, so far apart. */
static void move_pieces(size_t count, size_t floats, const float *from, ptrdiff_t from_pitch, float *to,
                        ptrdiff_t to_pitch)
{
    for (size_t i = 0; i < count; i++)
        memmove(to + (ptrdiff_t)i * to_pitch, from + (ptrdiff_t)i * from_pitch, floats * sizeof *to);
}

/* Rows of the first step's output, from a tensor with these pitches into the buffer's. */
static void move_rows(const chain_run *run, size_t rows, const float *from, const pitches *p, float *to)
{
    const pitches *middle = &run->bands.middle;
    const problem *image = &run->image[0];
    const size_t channels = image->groups * image->out_channels, width = image->out_width;
    const bool nhwc = middle->channel == 1 && p->channel == 1;
    for (size_t row = 0; row < rows; row++, from += p->row, to += middle->row)
        if (nhwc)
            move_pieces(width, channels, from, p->column, to, middle->column);
        else
            move_pieces(channels, width, from, p->channel, to, middle->channel);
}

/* Rows [begin, end) of the first step's output, to row `at` of the buffer.  Its residual is added in place. */
static void make_slice(chain_run *run, size_t image, size_t begin, size_t end, size_t at)
{
    const problem *whole = &run->image[0];
    tap_range inputs;
    const problem slice = conv2d_slice_rows(whole, begin, end, &inputs);
    float *out = run->middle + (ptrdiff_t)at * run->bands.middle.row;
    if (whole->has_residual)
        move_rows(run, end - begin,
                  run->args->residual[0] + (ptrdiff_t)image * run->chain->residual.image +
                      (ptrdiff_t)begin * run->chain->residual.row,
                  &run->chain->residual, out);
    run_slice(run, 0, &slice,
              &(conv2d_args){
                  .in = run->args->in + (ptrdiff_t)image * whole->in.image + (ptrdiff_t)inputs.begin * whole->in.row,
                  .packed = run->args->packed[0],
                  .residual = whole->has_residual ? out : NULL,
                  .out = out,
                  .workspace = run->workspace,
              });
}

static void make_rows(chain_run *run, size_t image, size_t begin, size_t end, size_t at)
{
    for (; begin < end; begin += CHAIN_SLICE_ROWS, at += CHAIN_SLICE_ROWS)
        make_slice(run, image, begin, min_size(begin + CHAIN_SLICE_ROWS, end), at);
}

/* Has the buffer begin with the rows that are needed next. */
static void hold_rows(chain_run *run, size_t image, tap_range needed)
{
    const bool overlap = image == run->held_image && needed.begin < run->held.end;
    const size_t fresh = overlap ? max_size(run->held.end, needed.begin) : needed.begin;
    const ptrdiff_t row = run->bands.middle.row;
    if (overlap && needed.begin > run->held.begin)
        move_rows(run, fresh - needed.begin, run->middle + (ptrdiff_t)(needed.begin - run->held.begin) * row,
                  &run->bands.middle, run->middle);
    make_rows(run, image, fresh, needed.end, fresh - needed.begin);
    run->held_image = image;
    run->held = needed;
}

/* Output rows of the second step, from what is held. */
static void use_slice(chain_run *run, size_t image, share rows)
{
    const problem *whole = &run->image[1];
    tap_range needed;
    const problem slice = conv2d_slice_rows(whole, rows.begin, rows.end, &needed);
    const ptrdiff_t out = (ptrdiff_t)image * whole->out.image + (ptrdiff_t)rows.begin * whole->out.row;
    run_slice(run, 1, &slice,
              &(conv2d_args){
                  .in = run->middle + (ptrdiff_t)(needed.begin - run->held.begin) * whole->in.row,
                  .packed = run->args->packed[1],
                  .residual = whole->has_residual ? run->args->residual[1] + out : NULL,
                  .out = run->args->out + out,
                  .workspace = run->workspace,
              });
}

static void use_rows(chain_run *run, size_t image, share rows)
{
    for (; rows.begin < rows.end; rows.begin += CHAIN_SLICE_ROWS)
        use_slice(run, image, (share){rows.begin, min_size(rows.begin + CHAIN_SLICE_ROWS, rows.end)});
}

static tap_range needed_rows(const chain_run *run, share rows)
{
    tap_range needed;
    conv2d_slice_rows(&run->image[1], rows.begin, rows.end, &needed);
    return needed;
}

static chain_run start(const ready_chain *c, const conv2d_chain_args *args, size_t parts)
{
    chain_run run = {
        .chain = c,
        .args = args,
        .bands = conv2d_chain_cut(c, parts),
        .image = {c->image[0], c->image[1]},
        .step = {*plan_of(&c->plan[0])},
        .parts = 1,
        .middle = args->workspace,
    };
    if (!c->pools)
        run.step[1] = *plan_of(&c->plan[1]);
    run.image[0].out = run.image[1].in = run.bands.middle;
    run.step[0].problem.out_height = run.step[1].problem.out_height = 0; /* no slice yet */
    return run;
}

void conv2d_chain_run_bands(const ready_chain *c, const conv2d_chain_args *args, size_t part, size_t parts)
{
    chain_run run = start(c, args, parts);
    const size_t count = run.bands.count;
    const share units = share_of(c->batch * count, part, parts);
    if (units.begin == units.end)
        return;
    run.middle += part * run.bands.workspace;
    run.workspace = run.middle + run.bands.middle_floats;
    for (size_t unit = units.begin; unit < units.end; unit++) {
        const share rows = share_of(c->image[1].out_height, unit % count, count);
        hold_rows(&run, unit / count, needed_rows(&run, rows));
        use_rows(&run, unit / count, rows);
    }
}

void conv2d_chain_run_step(const ready_chain *c, const chain_step *at, size_t part, size_t parts)
{
    chain_run run = start(c, at->args, 1);
    run.workspace = run.middle + run.bands.middle_floats;
    run.part = part;
    run.parts = parts;
    const share rows = {0, c->image[1].out_height};
    run.held = needed_rows(&run, rows);
    if (at->step == 0)
        make_rows(&run, at->image, run.held.begin, run.held.end, 0);
    else
        use_rows(&run, at->image, rows);
}
