/* SPDX-License-Identifier: MIT */
/* Block sizes of family D: channels that a call runs through, bands and planes in the workspace. */
#include "run_d.h"

/* Tensors of half an L3 or more come from memory. */
enum { FAR_L2S = 16 };

/* D, NCHW, of one kernel row: no input is read twice, and calls may be so long that what it costs to start them no
 * longer counts (Zen 5, 512x1x1000 1x3, 8 channels a call instead of 2: 1.08; with a dilation, where a row takes three
 * calls, 1.11-1.13; AVX2, 4 instead of 2, 1.04-1.10).  Longer ones would only be harder to share out. */
static size_t line_channels(const problem *p, const conv2d_kernel *kernel, size_t least)
{
    enum { LONG_CALL = 500 }; /* vectors */
    const size_t vectors = divide_up(p->out_width, kernel->lanes);
    size_t channels = CONV2D_OC_BLOCK;
    while (channels > least && channels / 2 * vectors >= LONG_CALL)
        channels /= 2;
    return channels;
}

/*
 * D, NCHW: a call of a tile costs some 50 cycles, which many channels share; but the input rows that the next tile will
 * read again should stay in the L1 (Zen 4, 3x3 @56: 4 channels 79 % of peak, 2: 76, 16: 75; @7: 16 channels 72, 4: 66).
 * Where sums roll down, planes of memory are read one after the other (Zen 4, 3072x48x48 3x3 s2, 2 at once: 0.7).
 */
static size_t chunk_channels(const problem *p, const conv2d_kernel *kernel)
{
    const bool shared = groups_share_blocks(p);
    if (!shared && kernel->grouped) /* they have the same input */
        return CONV2D_OC_BLOCK;
    const size_t group = shared ? p->out_channels : 1;
    if (kernel->kernel_height == 1 && !kernel->rolls_down)
        return line_channels(p, kernel, group);
    if (kernel->rolls_down && exceeds_l2(p, FAR_L2S))
        return group;
    const d_spread rows = conv2d_spread_rows(kernel, p);
    const size_t high = kernel->rolls_down ? d_rows_down(p) : d_piece_at(&rows, 0).count;
    const size_t most = d_channels_that_stay(kernel, p, high);
    size_t channels = CONV2D_OC_BLOCK; /* the weights of a block's channels are neighbours */
    while (channels > group && channels * p->in_channels > most * group)
        channels /= 2;
    return channels;
}

/*
 * D, NHWC, in place: what tiles read and write at one place should stay in half the L1, for the next place reads much
 * of it again (Zen 5, AVX-512: 384x14x14 3x3 1.4, 960x7x7 1.25, 480x6x80 5x5 1.2 times as fast).  Groups, 7x7 and
 * looped taps have too many products for each input to gain by it, AVX2's 3x3 with stride 1 too short tiles; fewer
 * channels than MANY do not pay for a call.  What lies beyond half the last cache, or a fifth if there is little to
 * compute, is read once, a whole pixel at a time: parts of pixels are too many pages (Zen 5: 3072x64x64 3x3 s2 5.3,
 * 1024x48x48 3x3 1.5, 512x64x64 s2 1.27, 462x56x56 s2 1.17 times as fast; of 4 MB 0.96 to 1.1).  On Zen 3, AVX2, whole
 * pixels are better for stride 2, of which the next place reads little again (3x3, 160 to 1280 channels, @7 1.2, @14
 * 1.13, @28 1.1; 5x5 @7 1.15, @14 1.03), and for 5x5 while the L2 has most of the tensors (@7 1.07; larger ones 0.91 to
 * 1.05).
 */
static size_t chunk_pixels(const problem *p, const conv2d_kernel *kernel)
{
    enum { MANY = 3 * CONV2D_OC_BLOCK, WIDEST_KERNEL = 5, INPUTS = 4, FAR_LOADS_L2S = 6 };
    const bool quads = d_four_at_once(kernel, p);
    const size_t channels = p->groups * p->out_channels, unit = (size_t)(quads ? 4 : 1) * CONV2D_OC_BLOCK;
    const size_t rows = quads ? 1 : kernel->tile_channels, columns = kernel->tile_columns;
    const size_t l1 = conv2d_cpu()->l1_bytes / sizeof(float), written = rows * columns;
    const size_t read = ((rows - 1) * p->stride_h + p->kernel_height) * ((columns - 1) * p->stride_w + p->kernel_width);
    const size_t floats = channels * (p->in_height * p->in_width + p->out_height * p->out_width);
    const size_t l2s = d_computes_much(p) ? FAR_L2S : FAR_LOADS_L2S;
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float);
    const bool far = floats > l2s * l2;
    const bool whole = has_small_l2() && (p->stride_w > 1 || 2 * floats <= 3 * l2);
    const bool gains = !d_orders_lanes(p) && kernel->kernel_width && kernel->kernel_width <= WIDEST_KERNEL &&
                       (kernel->lanes == CONV2D_OC_BLOCK || read >= INPUTS * written);
    if (floats <= l1 || far || whole || !gains)
        return channels;
    const size_t chunks = max_size(channels / max_size(l1 / 2 / (read + written), MANY), 1);
    return divide_up(divide_up(channels, chunks), unit) * unit;
}

/*
 * Whether depthwise pixels crowd one set of the L1, so that what is fetched for the next channels is gone before it is
 * read (Zen 5, 1024 channels: 3x3 @7 1.05 to 1.6, @14 1.1, 5x5 @7 1.4, 7x7 @14 1.3, 5x5 s2 @14 1.8 times as fast from a
 * copy, AVX2 1.1, 1.1, 1.7, 2.0, 2.2), or two sets and AVX2's short tiles read much again (512@14 5x5 1.27; Zen 3, 512
 * channels with 3x3: @14 1.08, @28 1.17, but @10 0.91; with stride 2 two vectors at a time are better, spread_d.c). Not
 * worth a copy are few taps (1x3 0.65), few pixels, dilated ones (0.4 to 0.8) and 3x3 from memory (0.84).
 */
static bool crowds_sets(const problem *p, const conv2d_kernel *kernel)
{
    enum { SET_BYTES = 4096, FEW_TAPS = 9, USES = 300, HALF_FAR_L2S = 8, SOME_PIXELS = 14 * 14 };
    const size_t taps = p->kernel_height * p->kernel_width, pitch = (size_t)p->in.column * sizeof(float);
    const size_t pixels = p->in_height * p->in_width;
    const bool many = taps > FEW_TAPS, narrow = kernel->lanes < CONV2D_OC_BLOCK;
    const bool waits =
        waits_like_zen3(kernel) && p->stride_w == 1 && pixels >= SOME_PIXELS && !exceeds_l2(p, HALF_FAR_L2S);
    const bool two_sets = narrow && (many || waits);
    if (pitch % (two_sets ? SET_BYTES / 2 : SET_BYTES) != 0 || p->dilation_h > 1 || p->dilation_w > 1)
        return false;
    return taps >= FEW_TAPS && pixels > USES / taps && (many || !exceeds_l2(p, FAR_L2S));
}

/*
 * NCHW inputs, and pixels that share two sets of the L1, from which a group's vectors would be read again for each of
 * its channels (Zen 4, groups of 4 channels: 512@28 63 -> 71 % of peak, 1024@14 41 -> 62 %; but 256@56 94 -> 81 %).
 */
static bool copies_band(const problem *p, const conv2d_kernel *kernel)
{
    if (p->in.channel != 1)
        return true;
    if (!d_orders_lanes(p))
        return !d_four_at_once(kernel, p) && crowds_sets(p, kernel) && !conv2d_d_down(kernel, p);
    return d_shares_two_sets(p) && !conv2d_d_lines_crowd(kernel, p);
}

/* Pixels that a band of so many output rows and columns reads. */
static size_t band_inputs(const problem *p, const conv2d_kernel *kernel, size_t rows, size_t columns)
{
    const size_t height = min_size((rows - 1) * p->stride_h + rows_for_one(p), p->in_height);
    const size_t width = min_size((columns - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w + 1, p->in_width);
    return copies_band(p, kernel) ? height * width : 0;
}

/* And has in the workspace. */
static size_t band_pixels(const problem *p, const conv2d_kernel *kernel, size_t rows, size_t columns)
{
    return band_inputs(p, kernel, rows, columns) + (p->out.channel == 1 ? 0 : rows * columns);
}

bool conv2d_bands_fit(const problem *p, const conv2d_kernel *kernel)
{
    const size_t floats = conv2d_cpu()->l2_bytes / sizeof(float);
    return band_inputs(p, kernel, kernel->tile_channels, kernel->tile_columns) <= floats / CONV2D_OC_BLOCK;
}

bool conv2d_band_holds_image(const problem *p)
{
    const size_t pixels = conv2d_cpu()->l2_bytes * 3 / 4 / sizeof(float) / CONV2D_OC_BLOCK;
    size_t in, out;
    return !__builtin_mul_overflow(p->in_height, p->in_width, &in) &&
           !__builtin_mul_overflow(p->out_height, p->out_width, &out) && in <= pixels && out <= pixels - in;
}

/* Phases of a dilation are those of whole images: of few channels, so that there are bands for many parts. */
static void set_image_band(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const size_t inputs = copies_band(p, kernel) ? p->in_height * p->in_width : 0;
    const size_t outputs = p->out.channel == 1 ? 0 : p->out_height * p->out_width;
    b->chunk_channels = CONV2D_OC_BLOCK;
    b->band_rows = p->out_height;
    b->band_columns = p->out_width;
    b->copy_floats = inputs * b->chunk_channels;
    /* The store reads whole blocks of 16 pixels; and the copy begins at a cache line. */
    b->workspace = (inputs + outputs + 16) * b->chunk_channels + CONV2D_OC_BLOCK;
}

/* Cuts bands that take a quarter of the L2 from chunks of so many channels: the fewer there are, the fewer rows are
 * copied for two of them. */
static void cut_bands(blocking *b, const problem *p, const conv2d_kernel *kernel, size_t channels)
{
    const size_t budget = conv2d_cpu()->l2_bytes / 4 / sizeof(float) / channels;
    const d_spread across = conv2d_spread_columns(kernel, p, b->down);
    const size_t tile_rows = kernel->tile_channels, tile_columns = d_widest(&across);
    size_t columns = divide_up(p->out_width, tile_columns) * tile_columns;
    while (columns > tile_columns && band_pixels(p, kernel, tile_rows, columns) > budget)
        columns = divide_up(columns / 2, tile_columns) * tile_columns;
    const size_t first = band_pixels(p, kernel, tile_rows, columns);
    const size_t tile = max_size(band_pixels(p, kernel, 2 * tile_rows, columns) - first, 1);
    const size_t most = (1 + (budget > first ? (budget - first) / tile : 0)) * tile_rows;
    const size_t bands = divide_up(p->out_height, min_size(most, p->out_height));
    b->chunk_channels = channels;
    b->band_columns = columns;
    b->band_rows = divide_up(divide_up(p->out_height, bands), tile_rows) * tile_rows;
    b->copy_floats = band_inputs(p, kernel, b->band_rows, columns) * channels;
    /* The store reads whole blocks of 16 pixels; and the copy begins at a cache line. */
    b->workspace = (band_pixels(p, kernel, b->band_rows, columns) + 16) * channels + CONV2D_OC_BLOCK;
}

/*
 * Many channels share what it takes to call a tile, as long as their bands are high.  Pixels are an odd number of
 * lines apart, so that they use all sets of the L1.  Depthwise ones that are copied, not transposed, are eight lines,
 * which is as good for the L1 and better to copy (Zen 5, 1024 channels, 128 at a time beside 48 or 144: 1.15, 1.04).
 * Bands of copies need not be high (groups of 4 @112 s2 1.16, 1024@56 1.8).
 */
static void set_bands(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    enum { MANY = 3 * CONV2D_OC_BLOCK, MANY_COPIED = 8 * CONV2D_OC_BLOCK, HIGH = 14, HIGH_COPIED = 4 };
    const bool copied = p->in.channel == 1 && p->out.channel == 1;
    cut_bands(b, p, kernel, CONV2D_OC_BLOCK);
    if (p->groups * p->out_channels <= CONV2D_OC_BLOCK)
        return;
    blocking more = *b;
    cut_bands(&more, p, kernel, copied && !d_orders_lanes(p) ? MANY_COPIED : MANY);
    const bool high = more.band_rows >= min_size(b->band_rows, copied ? HIGH_COPIED : HIGH);
    if (more.band_columns == b->band_columns && high)
        *b = more;
}

/* An odd number of lines, so that planes use all sets of the L1; whole vectors are written behind the last row. */
size_t conv2d_plane_floats(const problem *p, size_t out_rows)
{
    const size_t rows = min_size((out_rows - 1) * p->stride_h + rows_for_one(p), p->in_height);
    return ((rows * p->in_width / CONV2D_OC_BLOCK + 2) | 1) * CONV2D_OC_BLOCK;
}

bool conv2d_wants_planes(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->family == CONV2D_FAMILY_D && kernel->grouped && !kernel->nhwc && p->in.column != 1 &&
           p->in.channel == 1 && p->out_channels == 1 && p->groups == 1;
}

bool conv2d_planes_fit(const problem *p, const conv2d_kernel *kernel)
{
    const size_t floats = 4 * conv2d_cpu()->l2_bytes / sizeof(float);
    return conv2d_plane_floats(p, kernel->tile_channels) <= floats / p->in_channels;
}

/* Bands whose planes take half the L2. */
static void set_planes(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const size_t budget = conv2d_cpu()->l2_bytes / 2 / sizeof(float) / p->in_channels, tile = kernel->tile_channels;
    b->band_rows = tile;
    while (b->band_rows < p->out_height && conv2d_plane_floats(p, b->band_rows + tile) <= budget)
        b->band_rows += tile;
    b->band_columns = p->out_width;
    b->workspace = conv2d_plane_floats(p, b->band_rows) * p->in_channels + CONV2D_OC_BLOCK;
}

void conv2d_set_d_blocking(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const bool bands = kernel->nhwc && (copies_band(p, kernel) || p->out.channel != 1);
    b->down = conv2d_d_down(kernel, p);
    b->chunk_channels = !kernel->nhwc ? chunk_channels(p, kernel)
                        : b->down     ? p->groups * p->out_channels
                                      : chunk_pixels(p, kernel);
    b->phases = conv2d_has_phases(p, kernel);
    if (bands && b->phases)
        set_image_band(b, p, kernel);
    else if (bands)
        set_bands(b, p, kernel);
    if (conv2d_wants_planes(p, kernel))
        set_planes(b, p, kernel);
}
