/* SPDX-License-Identifier: MIT */
/* Block sizes, derived from the cache sizes. */
#include <stdint.h>

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

bool conv2d_ends_soon(const problem *p, const conv2d_kernel *kernel)
{
    enum { SHORT_TAPS = 80 };
    return has_small_l2() && kernel->lanes == 8 && p->out.channel == 1 && p->groups == 1 &&
           p->in_channels * p->kernel_height * p->kernel_width <= SHORT_TAPS;
}

/* Zen 4 (404 layers of networks, NHWC): 3x3 and larger 1.03, the best 1.07, 1.00 from 12 MB on; 1x1 of less than 24
 * channels 1.03, of less than 48 1.01, of more 1.00, but 0.86 to 0.99 where tensors do not stay in the caches. */
bool conv2d_k_is_brief(const problem *p, const conv2d_kernel *kernel)
{
    enum { SHORT_TAPS = 96, SHORT_POINTWISE = 47 };
    const bool pointwise = conv2d_is_pointwise(p);
    const size_t most = pointwise ? SHORT_POINTWISE : SHORT_TAPS;
    return is_avx2_on_zen4(kernel) && kernel->stride_w == 0 && !(pointwise && exceeds_l2(p, 12)) &&
           p->in_channels * p->kernel_height * p->kernel_width <= most;
}

/*
 * 12 sums that end at once hold up the FMAs of the next tile for some 20 cycles on Zen 3, 8 hold up none, which counts
 * in short tiles that write NHWC at once (16x112x112 16x1x1 81 -> 95 % of peak, 32x112x112 16x1x1 87 -> 99, 3x224x224
 * 16x3x3 s2 86 -> 91; 128x55x55 16x1x1 0.93).  A 1x1 gains more by rounds of four channels and by what 12 sums fetch
 * (gen/family_k_short.c; 48x160x160 48x1x1 1.05, 64x56x56 128x1x1 1.04 to 1.19, 56x270x480 12x1x1 1.2 to 1.3; but
 * 32x27x27 128x1x1 0.92 to 1.02, 12x270x480 56x1x1 0.9).
 */
bool conv2d_ends_lightly(const problem *p, const conv2d_kernel *kernel)
{
    enum { LIGHT = 4, LONG_ROW = 6 * LIGHT, ROUNDS_PAY = 48 };
    const bool alike = p->out_width % LIGHT == 0 || p->out_width >= LONG_ROW; /* 3 columns are too few sums */
    const bool rounds = p->kernel_height * p->kernel_width == 1 && p->in_channels >= ROUNDS_PAY;
    return conv2d_ends_soon(p, kernel) && kernel->tile_channels == 2 && alike && !rounds;
}

/* K's tiles of more than few columns expect columns outside the input at one end of them only (gen/edge_columns.c). */
size_t conv2d_tiles_per_row(const problem *p, const conv2d_kernel *kernel)
{
    const size_t few = 6, light = 4, widest = conv2d_ends_lightly(p, kernel) ? light : kernel->tile_columns;
    return divide_up(p->out_width, min_size(widest, max_size(few, p->in_width / p->stride_w + 1)));
}

/* Strided rows of so many L2s and more become pixels, of fewer they are read in place. */
enum { STRIDED_L2S = 3 };

/*
 * Zen 3 waits for the lines of strided rows that come from the L3, of which a tile takes a few floats each (110 layers
 * of networks with a stride of 2 or 4: 1.07 times as fast on pixels, 32x256x256 64x3x3 s2 1.42, 384x56x56 768x2x2 s2
 * 1.26, 64x160x160 128x3x3 s2 1.08; but 64x96x96 64x3x3 s2 0.96, 192x8x8 s8 0.79; without a stride 60 layers 0.99).
 */
static bool strided_planes_scatter(const problem *p)
{
    enum { FEW_IN = 16, FEW_OUT = 32, MOST_TAPS = 16 };
    const size_t taps = p->kernel_height * p->kernel_width, floats = conv2d_rows_read(p) * p->in_width * p->in_channels;
    return has_small_l2() && p->in.channel != 1 && p->stride_w > 1 && p->in_channels >= FEW_IN &&
           p->out_channels >= FEW_OUT && p->kernel_height > 1 && taps <= MOST_TAPS &&
           floats >= STRIDED_L2S * (conv2d_cpu()->l2_bytes / sizeof(float));
}

/* Tiles of a 1x1 take a few floats of each line, too, and planes of small maps lie on many pages (Zen 3, on pixels
 * 256x7x7 768x1x1 1.07, 1152x7x7 384x1x1 1.3, 2048x7x7 768x1x1 1.5; but 64x7x7 64x1x1 0.95, 384x14x14 72x1x1 0.9). */
static bool pointwise_planes_scatter(const problem *p, const conv2d_kernel *kernel)
{
    enum { FEW_IN = 80, FEW_PIXELS = 64 };
    const size_t few_out = p->out_width <= FEW_PIXELS ? 64 : 96;
    return waits_like_zen3(kernel) && p->in.channel != 1 && p->in.column == 1 && conv2d_is_pointwise(p) &&
           p->in_channels >= FEW_IN && p->out_channels >= few_out;
}

/* K, NCHW: whether planes become pixels first, a chunk at a time. */
bool conv2d_transposes_planes(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->family == CONV2D_FAMILY_K && kernel->stride_w == 0 &&
           (strided_planes_scatter(p) || pointwise_planes_scatter(p, kernel) || conv2d_planes_thrash(p, kernel));
}

/*
 * Of many planes Zen 3 reads all rows for each tile of output channels sooner than all weights for each row (3x3:
 * 256x38x38 512 1.11, 256x56x56 512 1.09, 512x104x104 256 1.11, 288x35x35 384 s2 1.16 times as fast, with 128 channels
 * 0.99 to 1.04; NHWC 512x66x66 512 0.76), with a stride only if they come from near (256x76x76 512 s2 0.74).  So does
 * Emerald Rapids of more planes, those that become pixels excepted (512x54x54 512 1.13, 768x40x40 256 1.11, 512x104x104
 * 256 1.06; 256x56x56 512 0.99).
 */
static bool many_planes_stay_whole(const problem *p, const conv2d_kernel *kernel, size_t floats)
{
    enum { FAR_L2S = 64 };
    const size_t most = p->stride_w == 1 ? FAR_L2S : STRIDED_L2S, many = has_small_l2() ? 256 : 512;
    return (has_small_l2() || (has_large_l2() && !conv2d_planes_thrash(p, kernel))) && p->in.channel != 1 &&
           p->kernel_height > 1 && p->in_channels >= many && floats < most * (conv2d_cpu()->l2_bytes / sizeof(float));
}

/*
 * AVX2, NHWC: groups of less than a line have their turns in a chunk of rows whose pixels stay in the L2, or each line
 * would come from the L3 for every group that has a part of it (Zen 3, 3x3 of 8 channels: 192x64x64 1.2, 288x48x48
 * 1.22, 416x64x64 s2 1.3, 192x144x144 s2 1.5 times as fast; of 16 channels and more 1.0, and 4096x14x14 g32 0.4).
 */
static size_t groups_inside(const problem *p, const conv2d_kernel *kernel)
{
    const bool share_lines = p->groups > 1 && p->in.channel == 1 && p->in_channels < LINE_FLOATS;
    return has_small_l2() && kernel->lanes == 8 && share_lines && p->out_height > 1 ? p->groups : 1;
}

/* Output rows for which so many input rows are enough, `one` of them for the first; at least that one. */
static size_t rows_served(size_t rows, size_t one, size_t stride)
{
    return rows > one ? (rows - one) / stride + 1 : 1;
}

/* And the pieces of the rows; so few tiles would not pay for a turn (2112x16x16 3x3 s2 g264 0.87). */
static size_t shared_chunks(const problem *p, size_t tiles_per_row)
{
    enum { FEWEST_TILES = 4 };
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float),
                 row = p->groups * p->in_channels * max_size(p->in_width, 1);
    if (p->in_height <= l2 / row)
        return 1;
    const size_t fitting = rows_served(l2 * 3 / 4 / row, rows_for_one(p), p->stride_h);
    const size_t outputs = max_size(fitting, divide_up(FEWEST_TILES, tiles_per_row));
    return divide_up(p->out_height, min_size(outputs, p->out_height));
}

/*
 * Output rows for which those between are copied, too: a dilation's (Zen 3, NHWC 512x33x33 256 3x3 d18 3.1, d6 1.7,
 * 512x65x65 256 d12 1.12 times as fast as by rows), or a tall kernel's, twice as many if two L2s hold what they read
 * (Zen 3, NHWC 27 layers 1.05, 32x64x64 32x15x1 1.1, 2048x16x16 128x5x1 1.17 to 1.2, but 256x128x128 32x5x5 0.92 to
 * 0.95; by rows of three, 512x32x32 512x3x3 0.975).
 */
static size_t rows_worth_a_copy(const problem *p, const conv2d_kernel *kernel)
{
    enum { TALL = 4 };
    const bool tall = has_small_l2() && p->kernel_height >= TALL;
    if (!(tall || p->dilation_h > 1) || !conv2d_copies_pixels(p, kernel))
        return 1;
    if (p->dilation_h > 1)
        return rows_for_one(p) / 2;
    const size_t rows = p->kernel_height, row = p->in_channels * p->in_width;
    const size_t read = (2 * rows - 1) * p->stride_h + rows;
    return read <= 2 * conv2d_cpu()->l2_bytes / sizeof(float) / row ? 2 * rows : rows;
}

/*
 * Pieces of the column tiles (over rows) whose input rows, all channels of them, take a quarter of the L2.  An input of
 * half the L2 stays whole: each piece has all weights read again (384->1408 @14 3x3: 24 %).  So does one of at most
 * four L2s and a quarter of the weights: it comes from the L3 instead of them (1024->1024 3x3 @13 AVX-512 1.06, AVX2
 * 1.67, @30 1.05 and 1.21 times as fast; but NHWC 256->256 @56 0.91, 256->512 @40 0.94; larger ones lose up to 25 %).
 * Weights that half the last cache does not hold come from memory, so that larger pieces share them (Zen 5, 2904->2904
 * @24 1x1 NHWC 2.35, 1536->1536 @28 3x3 1.8, NCHW 1.18 times as fast; with weights of half the size 1.00).  So do
 * pixels that were planes: a copy of 1 MiB in the L3 is read in the order of its addresses (Zen 3, 1312->384 @14 1x1
 * 1.09, 2048->512 1.16, 3312->192 1.39, 512->512 0.99, but 288->512 @28 0.95).
 * Where tiles go down at the sides, there have to be rows that go down (Zen 3, NHWC 64x64x64 64x5x5 1.12, 256x20x20
 * 144x2x2 1.2, 256x28x28 256x3x3 d2 1.36, 24 layers of both layouts 1.09).
 */
static size_t input_chunks(const problem *p, const conv2d_kernel *kernel, size_t tiles_per_row)
{
    enum { FAR_L2S = 16 };
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float);
    const size_t weights = packed_block_size(p) * group_blocks(p);
    const bool far = weights > FAR_L2S * l2;
    const bool copied = kernel->stride_w == 0 && pointwise_planes_scatter(p, kernel);
    const bool turned = conv2d_k_turns(p, kernel);
    const size_t whole = far      ? 8 * l2
                         : copied ? 4 * l2
                                  : max_size(turned ? 2 * l2 : l2 / 2, min_size(4 * l2, weights / 4));
    const size_t plane = conv2d_rows_read(p) * p->in_width;
    if (plane <= whole / p->in_channels || many_planes_stay_whole(p, kernel, plane * p->in_channels))
        return 1;
    const size_t row_floats = p->in_channels * (p->in_width + 16), tiles = p->out_height * tiles_per_row;
    const size_t budget = far ? 4 * l2 : copied ? 2 * l2 : turned ? l2 : l2 / 4;
    size_t chunk;
    if (p->out_height == 1) {
        chunk = budget * tiles_per_row / row_floats;
    } else {
        const size_t fitting = rows_served(budget / row_floats, p->kernel_height, p->stride_h);
        chunk = max_size(fitting, min_size(rows_worth_a_copy(p, kernel), p->out_height)) * tiles_per_row;
    }
    return divide_up(tiles, min_size(max_size(chunk, 1), tiles));
}

/*
 * Pieces of pixels whose inputs and outputs take a quarter of an L2 of 2 MiB, if not all of them fit there and the sums
 * are short: the lines of a pixel are then written soon one after the other, instead of a few of all pixels in turn
 * (Emerald Rapids, NHWC: 12x160x160 96x1x1 1.27, 16x112x112 96x1x1 1.24, 64x56x56 256x1x1 1.12, 3x224x224 64x3x3 1.08;
 * AVX2 1.10, 1.07, 1.02, 1.02; 24x56x56 144x1x1, which all but fit, 1.00).  On Zen 5 sums have to be shorter
 * (12x270x480 56x1x1 1.07, 3x224x224 64x3x3 1.01, AVX2 1x572x572 64x3x3 1.12; from 48 products on 0.99 to 1.00), on
 * Zen 3 those of one channel (1x270x480 56x5x5 1.12 to 1.19, 1x572x572 64x3x3 1.07, 1x360x640 64x5x5 0.99 to 1.1; but
 * 1x256x256 32x5x5 and 8 MB and less 0.92 to 1.05, of more channels 0.96 to 1.02).  1 if nothing is gained.
 */
static size_t output_chunks(const problem *p, const conv2d_kernel *kernel, size_t tiles_per_row)
{
    enum { MANY_OUT = 48 };
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float), tiles = p->out_height * tiles_per_row;
    const size_t few_products = has_large_l2() ? 256 : 32;
    const size_t most = (has_large_l2() ? 1 : has_small_l2() ? 16 : 4) * l2;
    const bool pays =
        conv2d_cpu()->two_wide_fmas || (has_small_l2() && p->in_channels == 1 && p->out_channels >= MANY_OUT);
    const size_t channels = (size_t)kernel->tile_channels * kernel->lanes;
    const size_t floats =
        conv2d_rows_read(p) * p->in_width * p->in_channels + p->out_height * p->out_width * p->out_channels;
    const bool brief = p->in_channels * p->kernel_height * p->kernel_width <= few_products;
    const bool stay = packed_block_size(p) * group_blocks(p) <= l2 / 4;
    if (!pays || p->in.channel != 1 || p->out.channel != 1 || !brief || !stay)
        return 1;
    if (p->out_channels <= channels || floats <= most || conv2d_copies_pixels(p, kernel))
        return 1;
    return min_size(divide_up(floats, l2 / 4), tiles);
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
    if (kernel->family == CONV2D_FAMILY_W) {
        conv2d_set_w_blocking(&b, p, kernel);
    } else if (kernel->family == CONV2D_FAMILY_K) {
        b.tiles_per_row = conv2d_tiles_per_row(p, kernel);
        b.groups_inside = groups_inside(p, kernel);
        b.tile_chunks = b.groups_inside > 1 ? shared_chunks(p, b.tiles_per_row)
                                            : max_size(input_chunks(p, kernel, b.tiles_per_row),
                                                       output_chunks(p, kernel, b.tiles_per_row));
        if (conv2d_copies_pixels(p, kernel))
            conv2d_set_pixel_scratch(&b, p);
    }
    return b;
}

size_t conv2d_workspace_per_part(const ready_plan *p)
{
    return p->status == CONV2D_OK ? p->blocking.workspace : 0;
}
