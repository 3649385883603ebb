/* SPDX-License-Identifier: MIT */
/* What family W fetches ahead. */
#include "run_w.h"

/*
 * Where tiles find the input of the next output row; of a 1x1, which is one row in memory, that is the next channel's
 * next vector.  An input that stays in the L2 is better not fetched by a 1x1 before each of its output channels
 * (640x8x8 1920x1x1 4 %), so its tiles fetch the line at hand, which costs nothing.
 */
ptrdiff_t conv2d_w_prefetch_offset(const w_run *run)
{
    const problem *p = run->p;
    if (p->kernel_width == 1 && conv2d_input_stays(p))
        return -LINE_FLOATS;
    return run->scratch ? 0 : (ptrdiff_t)run->tile.kernel_rows * run->tile.in_row_pitch;
}

/*
 * Whether tensors are so large that caches lose them.  Then low tiles of a 1x1 fetch the outputs they write next, which
 * costs others 1 % (Zen 5, 47 layers; but 12x270x480 56x1x1 0.8 without), and with AVX-512 the input, for which they
 * would wait (64x304x304 32x1x1 1.5, 56x270x480 12x1x1 2.8 times as fast if it is fetched).  What the L3 still holds
 * comes soon enough, and the prefetches cost 1-8 %; but of tensors of this size part is gone when other layers have run
 * in between: 14 layers of 4-9 MiB lose 2 % if nothing else runs, but are 1.16 and 1.21 times as fast if three and
 * eight copies of their tensors take turns; 9 layers of 3-4 MiB lose 2 % and gain 4 %.
 */
static bool leaves_caches(const problem *p)
{
    enum { FETCHING_L2S = 3, FEWEST_CHANNELS = 8 };
    return p->out_channels >= FEWEST_CHANNELS && exceeds_l2(p, FETCHING_L2S);
}

/* Zen 3's columns of many channels come from the L3 sooner if a block fetches them at once, for tiles of all 16
 * outputs: 1024x30x30 18x1x1 1.34, 256x56x56 18x1x1 1.33, 96x80x80 18x1x1 1.18; but 96x170x170, from memory, 0.64, and
 * with less to do 64x150x150 6x1x1 0.83. */
static bool comes_in_blocks(const problem *p)
{
    enum { FAR_L2S = 18, MANY_CHANNELS = 72 };
    return has_small_l2() && p->in_channels > MANY_CHANNELS && p->out_channels >= CONV2D_OC_BLOCK &&
           !exceeds_l2(p, FAR_L2S);
}

/*
 * Few output channels have loads ask for much by themselves.  AVX-512: one or two lose by the prefetches (64x388x388
 * 2x1x1 0.9), three to seven gain where the tensors are larger (64x220x220 6x1x1 1.34, 64x300x300 6x1x1 2.6, 64x388x388
 * 5x1x1 1.46; three copies in turn 2.3, 1.6, 1.2; 64x150x150 6x1x1 0.86 and 1.33).  AVX2's tiles of three vectors visit
 * three lines of a plane and then one of another page: 64x388x388 2x1x1 2.3, 64x300x300 16x1x1 1.9, 64x1x1 1.3,
 * 56x270x480 12x1x1 2.2; 256x56x56 48x1x1, which is smaller, 0.91.
 */
static bool fetches_input(const w_run *run)
{
    enum { FETCHING_L2S = 5, FEWEST_CHANNELS = 3, FETCHING_L2S_OF_FEW = 10 };
    const problem *p = run->p;
    if (!run->pointwise || run->panel)
        return false;
    if (run->lanes == 8)
        return exceeds_l2(p, FETCHING_L2S) && !comes_in_blocks(p);
    return run->leaves || (p->out_channels >= FEWEST_CHANNELS && exceeds_l2(p, FETCHING_L2S_OF_FEW));
}

void conv2d_w_choose_fetches(w_run *run)
{
    const problem *p = run->p;
    run->leaves = run->pointwise && leaves_caches(p);
    run->low_fetches = fetches_input(run);
    run->fetches = run->lanes == 8 && run->pointwise && !run->low_fetches && !conv2d_input_stays(p);
}

void conv2d_w_fetch_columns(const w_run *run, const float *in, size_t columns)
{
    for (size_t ic = 0; ic < run->p->in_channels; ic++, in += run->p->in.channel)
        for (size_t i = 0; i < columns; i += LINE_FLOATS)
            __builtin_prefetch(in + i, 0, 2);
}
