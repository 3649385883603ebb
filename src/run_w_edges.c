/* SPDX-License-Identifier: MIT */
/* Family W: which lanes of the vectors at the ends of a row lie inside the input, and inside the output. */
#include "run_w.h"

/*
 * The last vector of a 1x1 may begin earlier and compute some outputs again, which gives the same bits, rather than be
 * masked: a masked one takes 1.5 to 3.5 times as long.  Not where sums or activations pass through the output, or where
 * the residual may be the same tensor.
 */
static size_t last_shift(const w_run *run)
{
    const problem *p = run->p;
    const bool once = run->b->channel_blocks == 1 && p->curve == CONV2D_NONE && !p->has_residual;
    const size_t rest = p->out_width % run->lanes;
    return conv2d_is_pointwise(p) && once && rest && p->out_width > run->lanes ? run->lanes - rest : 0;
}

void conv2d_find_tap_columns(w_run *run)
{
    const problem *p = run->p;
    const ptrdiff_t stride = (ptrdiff_t)p->stride_w;
    size_t begin = 0, end = p->out_width;
    for (size_t tap = 0; tap < p->kernel_width; tap++) {
        const ptrdiff_t shift = (ptrdiff_t)(tap * p->dilation_w), phase = shift % stride;
        const tap_range columns = valid_taps(shift - (ptrdiff_t)p->pad_left, p->stride_w, p->out_width, p->in_width);
        run->column_begin[tap] = columns.begin;
        run->column_end[tap] = columns.end;
        begin = max_size(begin, columns.begin);
        end = min_size(end, columns.end);
        run->tap_offset[tap] = phase * run->b->phase_pitch + (shift - phase) / stride;
    }
    run->shift = last_shift(run);
    run->full_begin = min_size(divide_up(begin, run->lanes), run->vectors);
    run->full_end = max_size(end / run->lanes, run->full_begin);
}

/* The lanes of a vector for which a tap lies inside the input. */
static uint32_t lanes_inside(const w_run *run, size_t vector, size_t tap)
{
    const size_t column = vector * run->lanes;
    const size_t from = max_size(run->column_begin[tap], column) - column;
    const size_t to = max_size(min_size(run->column_end[tap], column + run->lanes), column) - column;
    return from < to ? ((1u << to) - 1) & ~((1u << from) - 1) : 0;
}

static uint32_t stored_lanes(const w_run *run, size_t vector)
{
    return (1u << min_size(run->p->out_width - vector * run->lanes, run->lanes)) - 1;
}

/* The input columns from a vector's first on that its taps read, 16 to a word, where a row is sorted as it is read. */
static void find_reads(const w_run *run, w_edge *edge)
{
    uint64_t reads = 0;
    for (size_t tap = 0; tap < run->p->kernel_width; tap++)
        for (size_t lane = 0; lane < run->lanes; lane++)
            reads |= (uint64_t)(edge->mask[tap] >> lane & 1) << (lane * run->p->stride_w + tap);
    for (size_t part = 0; part <= run->p->stride_w; part++)
        edge->mask[run->p->kernel_width + part] = (uint32_t)(reads >> (part * run->lanes)) & ((1u << run->lanes) - 1);
}

static void find_masks(const w_run *run, size_t vector, w_edge *edge)
{
    edge->vector = vector;
    edge->store_mask = stored_lanes(run, vector);
    edge->narrow = edge->partial = 0;
    for (size_t tap = 0; tap < run->p->kernel_width; tap++) {
        edge->mask[tap] = lanes_inside(run, vector, tap);
        edge->narrow |= (edge->mask[tap] != (1u << run->lanes) - 1 ? 1u : 0u) << tap;
        edge->partial |= (edge->mask[tap] != edge->store_mask ? 1u : 0u) << tap;
    }
    if (sorts_in_registers(run->kernel))
        find_reads(run, edge);
}

void conv2d_set_masks(w_run *run, size_t vector)
{
    w_edge *const edge = vector < run->full_begin ? &run->left : &run->right;
    if (edge->vector != vector)
        find_masks(run, vector, edge);
    run->tile.mask = edge->mask;
    run->tile.store_mask = edge->store_mask;
    run->tile.narrow = edge->narrow;
    run->tile.partial = edge->partial;
}

void conv2d_set_row_masks(w_run *run)
{
    run->tile.mask = run->row_mask;
    run->tile.store_mask = stored_lanes(run, run->vectors - 1);
    for (size_t tap = 0; tap < run->p->kernel_width; tap++)
        for (size_t vector = 0; vector < run->vectors; vector++)
            run->row_mask[tap * run->vectors + vector] = lanes_inside(run, vector, tap);
}
