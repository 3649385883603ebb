/* SPDX-License-Identifier: MIT */
/* Family K, the pixels that are copied to the workspace: whether, and how many groups and rows of them at a time. */
#include "tiles.h"

/* Copies of half a line, of a group's pixels, are short ways for many taps (Zen 3, 256x32x32 3x3 g32 1.4, s2 1.6, with
 * all groups in turn 256x72x72 1.8, 256x56x56 s2 1.45 times as fast). */
static bool halves_of_lines(const problem *p, const conv2d_kernel *kernel)
{
    return has_small_l2() && kernel->lanes == 8 && p->groups > 1 && p->in_channels == LINE_FLOATS / 2 &&
           p->kernel_width > 1;
}

/*
 * AVX2, 1x1: pixels that just fill a set, which weights and sums pass through, too (Zen 3, 41 layers of 2048 channels
 * and more 1.18, 2048x7x7 1024 1.37; 1024x18x18 1024 1.16, 512x28x28 1024 s2 1.10; but 1024x7x7 512 0.98, 1024x28x28
 * 128 0.94, and 3x3 of 256 channels 1.00).
 */
static bool pixels_fill_sets(const problem *p, const conv2d_kernel *kernel)
{
    enum { MANY_IN = 2048, MANY_OUT = 512 };
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float);
    const bool far = conv2d_rows_read(p) * p->in_width * p->in_channels > l2 && p->out_channels >= MANY_OUT;
    return waits_like_zen3(kernel) && kernel->lanes == 8 && p->kernel_height * p->kernel_width == 1 &&
           (p->in_channels >= MANY_IN || far);
}

/*
 * The pixels that a tile reads at a time, one cache line of each, over all kernel rows.  Pixels a multiple of a high
 * power of two apart share a few of the L1's sets, and evict each other before the next channel of their lines is read
 * (NHWC 1024->256 @14 1x1 on Zen 4: 68 % of peak in place, 95 % copied apart).  So do more rows a multiple of a page
 * apart than a set has lines (Zen 5, NHWC 32x64x64 32x15x1 2.0, AVX2 1.7 times as fast).  Of few channels a copy would
 * have more lines than there are (3x384x384 768x32x32 s32 2.6, 8x256x256 64x16x16 s16 1.9 times as fast without).
 * Taps a dilation apart read pixels of their own (AVX2, measured on Zen 4: NHWC 256x33x33 256x3x3 d12 1.4 to 1.6).
 */
static bool pixels_collide(const problem *p, const conv2d_kernel *kernel)
{
    enum { LINE = 64, SETS = 64 };
    const size_t pitch = (size_t)p->in.column * p->stride_w * sizeof(float), page = (size_t)LINE * SETS;
    const size_t row = (size_t)p->in.row * p->dilation_h * sizeof(float), lines = conv2d_cpu()->l1_bytes / page;
    const size_t tile = min_size(kernel->tile_columns, p->out_width);
    const size_t taps_apart = kernel->lanes == 8 ? p->dilation_w : 1;
    const size_t columns = min_size(tile * p->kernel_width, tile + (p->kernel_width - 1) * taps_apart / p->stride_w);
    size_t sets = SETS;
    if (p->in_channels * sizeof(float) <= LINE / 2 && !halves_of_lines(p, kernel))
        return false;
    while (sets > 1 && pitch % (page / sets * 2) == 0)
        sets /= 2;
    if (row % page == 0)
        sets = min_size(sets, columns);
    return sets * lines * 3 / 4 < columns * p->kernel_height + pixels_fill_sets(p, kernel);
}

/* A kernel for NCHW takes neighbouring columns for granted (one channel is both layouts). */
bool conv2d_copies_pixels(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->stride_w == 0 &&
           (conv2d_transposes_planes(p, kernel) || (p->in.channel == 1 && pixels_collide(p, kernel)));
}

/*
 * Groups of half a line that visit the same pixels one after the other are copied together: two that share a line, or
 * with a stride, where tiles read little of a copy again, those of 1 KiB (Zen 3, AVX2, 3x3 s2, 8 channels a group:
 * two 256x56x56 1.13, 128x112x112 1.10, 512x40x40 1.12, without a stride 1.01 to 1.04; 1 KiB as fast again 14 layers
 * 1.13, 512x40x40 1.45, 256x112x112 1.3, 384x56x56 0.94, without a stride 0.85 to 1.14).
 */
static size_t groups_together(const blocking *b, const problem *p)
{
    enum { PAIR = 2, STRIDED = 32 };
    const bool halves = p->in.channel == 1 && p->in_channels == LINE_FLOATS / 2;
    const size_t most = p->stride_w > 1 ? STRIDED : PAIR;
    return halves && groups_follow(b) ? min_size(most, p->groups) : 1;
}

/* Pixels an odd number of cache lines apart use all sets; so do halves of lines. */
void conv2d_set_pixel_scratch(blocking *b, const problem *p)
{
    b->groups_copied = groups_together(b, p);
    const size_t channels = b->groups_copied * p->in_channels, lines = divide_up(channels, LINE_FLOATS);
    const size_t tiles = p->out_height * b->tiles_per_row;
    const size_t chunk = divide_up(tiles, b->tile_chunks), columns = divide_up(p->out_width, b->tiles_per_row);
    const size_t rows = p->out_height == 1 ? 1 : min_size((chunk - 1) / b->tiles_per_row + 2, p->out_height);
    const size_t all_columns = p->out_height == 1 ? min_size(chunk * columns, p->out_width) : p->out_width;
    b->scratch_rows = min_size((rows - 1) * p->stride_h + rows_for_one(p), p->in_height);
    b->scratch_columns =
        min_size((all_columns - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w + 1, p->in_width);
    const bool half = p->in.channel == 1 && channels == LINE_FLOATS / 2;
    b->scratch_column = half ? LINE_FLOATS / 2 : (ptrdiff_t)((lines + (lines % 2 == 0)) * LINE_FLOATS);
    b->scratch_row = b->scratch_column * (ptrdiff_t)b->scratch_columns;
    if (b->scratch_row % 1024 == 0)
        b->scratch_row += 16;
    b->workspace = b->scratch_rows * (size_t)b->scratch_row;
}
