/* SPDX-License-Identifier: MIT */
/* Block sizes, derived from the cache sizes. */
#include "tiles.h"

bool conv2d_is_pointwise(const problem *p)
{
    return p->kernel_height == 1 && p->kernel_width == 1 && p->stride_w == 1 && p->out_width == p->in_width;
}

/* A 1x1 with stride 2 reads every other row. */
size_t conv2d_rows_read(const problem *p)
{
    return min_size(p->in_height, p->out_height * p->kernel_height);
}

bool conv2d_input_stays(const problem *p)
{
    return conv2d_rows_read(p) * p->in_width * p->in_channels <= conv2d_cpu()->l2_bytes / 2 / sizeof(float);
}

/* The output channels are visited in chunks whose weights fill half the L2; the rest is for what passes through. */
size_t conv2d_weight_chunks(const problem *p)
{
    const size_t blocks = max_size(1, conv2d_cpu()->l2_bytes / 2 / sizeof(float) / packed_block_size(p));
    return divide_up(group_blocks(p), blocks);
}

/* So many input channels that the L1 still has a tile's lines for the next one (Zen 3, 3x3: 256->256 @56 83 -> 92 %,
 * 512->512 @28 86 -> 90 %, 1024->256 @14 79 -> 82 %; half as many lose 1-5 %). */
static size_t line_channels(const problem *p)
{
    return conv2d_cpu()->l1_bytes * 3 / 4 / LINE_FLOATS / sizeof(float) / p->kernel_height;
}

/*
 * Planes a multiple of 128 KiB apart share a few sets of all caches.  Where a last cache of 16 ways of 2 MiB has no
 * room for one line of each, they are read from memory again and again.
 */
bool conv2d_planes_crowd(const problem *p)
{
    enum { APART = 128 << 10, LAST_WAY = 2 << 20, LAST_WAYS = 16 };
    const size_t plane = (size_t)p->in.channel * sizeof(float), power = plane & (~plane + 1);
    return has_small_l2() && p->in.channel != 1 && power >= APART &&
           p->in_channels + p->out_channels >= LAST_WAYS * divide_up(LAST_WAY, power);
}

/*
 * Planes whose lines of one row want more than the sets of an L2 of 2 MiB that they share, as they lie a multiple of a
 * power of two apart, or which lie on so many pages that their translations do not stay either: tiles of all output
 * channels wait for the L3 (Emerald Rapids, read in place, times the copy's speed: 1x1 512x32x32 512 0.54, 2048x32x32
 * 512 0.35, 1024x16x32 512 0.54, 384x32x32 512 0.83, 2064x25x25 2400 0.67, 1536x24x24 512 0.86; but 512x32x32 16 1.3,
 * 1024x16x16 512 1.0, 1024x24x24 256 1.07; 3x3 512x32x32 512 0.66, 64 0.69, s2 0.6, 1024x56x56 512 0.75; but 256x32x32
 * 256 1.09, 1024x24x24 256 1.06, 2048x20x20 256 1.02).  AVX2's panels of 1x1 are wide enough for many pages (2048x17x17
 * 512 0.86 by such copies).
 */
bool conv2d_planes_thrash(const problem *p, const conv2d_kernel *kernel)
{
    enum { PAGE = 4096, FEW_OUT = 32, SOME_OUT = 128, MANY = 1024, PAGE_L2S = 1536 };
    if (!has_large_l2() || p->in.channel == 1 || p->out_channels < FEW_OUT)
        return false;
    const size_t l2 = conv2d_cpu()->l2_bytes, plane = (size_t)p->in.channel * sizeof(float);
    const size_t power = min_size(plane & (~plane + 1), PAGE), rows = conv2d_rows_read(p);
    const double bytes = (double)(rows * p->in_width * sizeof(float)) * (double)p->in_channels;
    const bool dense = p->kernel_height > 1, many = dense ? p->in_channels >= MANY : kernel->lanes == 16;
    const bool pages = many && p->out_channels >= SOME_OUT &&
                       bytes * (double)p->in_channels >= (dense ? 2.0 : 1.0) * PAGE_L2S * (double)l2;
    return p->in_channels * power >= l2 * 3 / 4 || pages;
}

/* Unless so few have their turn that the sets of the L1 hold their kernel rows (Zen 3, 3x3: 32->32 @512 46 -> 76 %,
 * 64->64 @512 44 -> 78 %, @256 53 -> 81 %, 16->16 @512 67 -> 80 %; but 32->32 @64x512, which the last cache holds, 89
 * -> 85 %). */
static size_t uncrowded_channels(const problem *p)
{
    enum { L1_SETS = 64 };
    if (!conv2d_planes_crowd(p))
        return p->in_channels;
    const size_t row_lines = (size_t)p->in.row / LINE_FLOATS % L1_SETS;
    size_t sets = 1; /* of all kernel rows: as they are so far apart, or as a power of two brings them round again */
    while (sets < p->kernel_height && sets * row_lines % L1_SETS != 0)
        sets++;
    const size_t ways = conv2d_cpu()->l1_bytes / sizeof(float) / LINE_FLOATS / L1_SETS;
    return max_size(sets * ways * 5 / 4 / p->kernel_height, 1);
}

/*
 * So many input channels that AVX2's small tiles of K find what they ask for again and again in the L1: a strip of the
 * input of a 1x1, and the weights (percent of peak, 160->960 @7 74 -> 86, 256->1024 @14 83 -> 88); the weights of 24
 * channels, which lie in two blocks of 16 (3x3: 256->256 @7 83 -> 87, 192->192 @10 84 -> 88; 16 channels lose).  Zen 5
 * has those of many input channels from the L2 in time (512->1024 @16 s2 1.06, 512->1024 @13 1.04), Zen 4 those of
 * fewer taps (26 layers of 2x2 s2, 1x3 and 3x1 1.02, 384->384 @14 2x2 s2 1.05, but 1536->3072 @16 0.93).
 */
static size_t l1_channels(const problem *p, size_t tile)
{
    const size_t l1 = conv2d_cpu()->l1_bytes, weights = tile * p->kernel_height * p->kernel_width * sizeof(float);
    if (conv2d_is_pointwise(p))
        return l1 / (5 * 64 + weights);
    if (has_small_l2() && (tile % CONV2D_OC_BLOCK == 0 || p->out_width > LINE_FLOATS))
        return min_size(line_channels(p), uncrowded_channels(p));
    const size_t taps = p->kernel_height * p->kernel_width;
    const bool in_time = conv2d_cpu()->two_wide_fmas ? p->in_channels >= 384 : !has_small_l2() && taps < 9;
    const bool pays = tile % CONV2D_OC_BLOCK && taps <= 9 && !in_time;
    return pays ? l1 / 2 / weights : p->in_channels;
}

/* The weights that a tile sweeps must stay in L2 from one tile to the next: where they would take more than 3/8 of it,
 * the input channels are cut into blocks, and the sums pass through memory in between (1024->1024 @13 3x3 on Zen 4:
 * AVX2 44 -> 56 %, AVX-512 90 -> 92 %; smaller blocks lose). */
static size_t channel_blocks(const problem *p, const conv2d_kernel *kernel)
{
    const bool k = kernel->family == CONV2D_FAMILY_K;
    /* Sums that pass through the output would overwrite a residual that is the same tensor; K's stay in its buffer. */
    if (p->has_residual && !k)
        return 1;
    const size_t tile = k ? (size_t)kernel->tile_channels * kernel->lanes : CONV2D_OC_BLOCK;
    const size_t floats = conv2d_cpu()->l2_bytes * 3 / 8 / sizeof(float);
    size_t channels = max_size(floats / tile / p->kernel_height / p->kernel_width, 1);
    const bool nchw = p->in.column == 1 && p->out.column == 1 && !conv2d_transposes_planes(p, kernel);
    if (k && kernel->lanes == 8 && nchw && p->out_width > kernel->tile_columns)
        channels = min_size(channels, max_size(l1_channels(p, tile), 1));
    return divide_up(p->in_channels, channels);
}

blocking conv2d_choose_blocking(const problem *p, const conv2d_kernel *kernel)
{
    blocking b = {
        .row_tiles = 1, .chunks = 1, .block_vectors = 1, .group_vectors = 1, .channel_blocks = 1, .groups_inside = 1};
    if (p->empty)
        return b;
    if (kernel->family == CONV2D_FAMILY_D) {
        conv2d_set_d_blocking(&b, p, kernel);
        return b;
    }
    if (conv2d_subsamples(p, kernel)) {
        conv2d_set_subsampled(&b, p, kernel);
        return b;
    }
    b.channel_blocks = channel_blocks(p, kernel);
    if (kernel->family == CONV2D_FAMILY_W)
        conv2d_set_w_blocking(&b, p, kernel);
    else if (kernel->family == CONV2D_FAMILY_K)
        conv2d_set_k_blocking(&b, p, kernel);
    return b;
}

size_t conv2d_workspace_per_part(const ready_plan *p)
{
    return p->status == CONV2D_OK ? p->blocking.workspace : 0;
}
