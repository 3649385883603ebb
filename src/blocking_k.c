/* SPDX-License-Identifier: MIT */
/* Block sizes of family K: tiles of a row, chunks of rows, pixels in the workspace. */
#include "tiles.h"

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
static bool copies_pixels(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->stride_w == 0 &&
           (conv2d_transposes_planes(p, kernel) || (p->in.channel == 1 && pixels_collide(p, kernel)));
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
    if (!(tall || p->dilation_h > 1) || !copies_pixels(p, kernel))
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
    if (p->out_channels <= channels || floats <= most || copies_pixels(p, kernel))
        return 1;
    return min_size(divide_up(floats, l2 / 4), tiles);
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

void conv2d_set_k_blocking(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    b->tiles_per_row = conv2d_tiles_per_row(p, kernel);
    b->groups_inside = groups_inside(p, kernel);
    b->tile_chunks = b->groups_inside > 1 ? shared_chunks(p, b->tiles_per_row)
                                          : max_size(input_chunks(p, kernel, b->tiles_per_row),
                                                     output_chunks(p, kernel, b->tiles_per_row));
    if (copies_pixels(p, kernel))
        conv2d_set_pixel_scratch(b, p);
}
