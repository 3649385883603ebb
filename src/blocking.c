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
static size_t weight_chunks(const problem *p)
{
    const size_t blocks = max_size(1, conv2d_cpu()->l2_bytes / 2 / sizeof(float) / packed_block_size(p));
    return divide_up(group_blocks(p), blocks);
}

/*
 * So many input channels that AVX2's small tiles of K find what they ask for again and again in the L1: a strip of the
 * input of a 1x1, and the weights (percent of peak, 160->960 @7 74 -> 86, 256->1024 @14 83 -> 88); the weights of 24
 * channels, which lie in two blocks of 16 (3x3: 256->256 @7 83 -> 87, 192->192 @10 84 -> 88; 16 channels lose).
 */
static size_t l1_channels(const problem *p, size_t tile)
{
    const size_t l1 = conv2d_cpu()->l1_bytes, weights = tile * p->kernel_height * p->kernel_width * sizeof(float);
    if (conv2d_is_pointwise(p))
        return l1 / (5 * 64 + weights);
    const bool pays = tile % CONV2D_OC_BLOCK && p->kernel_height * p->kernel_width <= 9;
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
    const bool nchw = p->in.column == 1 && p->out.column == 1;
    if (k && kernel->lanes == 8 && nchw && p->out_width > kernel->tile_columns)
        channels = min_size(channels, max_size(l1_channels(p, tile), 1));
    return divide_up(p->in_channels, channels);
}

bool conv2d_whole_rows(const problem *p, const conv2d_kernel *kernel)
{
    const size_t vectors = divide_up(p->out_width, kernel->lanes), most = 8;
    if (p->out_channels > most || vectors < 2 || vectors > MAX_EDGE_VECTORS || p->kernel_width < 2)
        return false;
    for (size_t oc = 0; oc < p->out_channels;) {
        const size_t channels = widest_edge(kernel, p->out_channels - oc, vectors);
        if (channels == 0)
            return false;
        oc += channels;
    }
    return true;
}

/* Tiles of few channels are wide: a group of vectors is as wide as the widest tile in use. */
size_t conv2d_group_vectors(const problem *p, const conv2d_kernel *kernel)
{
    size_t vectors = p->out_channels < CONV2D_OC_BLOCK ? 1 : kernel->tile_columns;
    for (size_t left = p->out_channels % CONV2D_OC_BLOCK; left > 0;) {
        const size_t channels = widest_channels(kernel, left, kernel->tile_channels);
        for (size_t width = CONV2D_MAX_TILE_COLUMNS; width > vectors; width--)
            if (has_tile(kernel, channels, width))
                vectors = width;
        left -= channels;
    }
    return vectors;
}

/* Bytes of one input channel that so many vectors of output columns read. */
static size_t channel_bytes(const problem *p, const conv2d_kernel *kernel, size_t vectors)
{
    return min_size(vectors * kernel->lanes, p->out_width) * p->stride_w * p->kernel_height * sizeof(float);
}

/*
 * A short block of columns lets all output channels find their input in L1.  A long one saves time between tiles, where
 * there is but one block of output channels or its input fits the L1 anyway; and with blocks of input channels it lets
 * each block of weights be used often.  A few vectors do so too, if tiles span all channels of a block and the input is
 * no more than an eighth of the L2 (1-3 %; with 384 channels of stride 2, where it is more, they lose 8 %).
 *
 * A group as long as the block saves what starts a tile (AVX2 3-10 % of a 1x1 from few channels), where the tiles of 16
 * channels that take turns over it find their input in L1, or where one tile has all 16.
 */
static void set_vectors(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const size_t most = divide_up(24, b->group_vectors) * b->group_vectors;
    const size_t few = divide_up(4, b->group_vectors) * b->group_vectors;
    const bool one_tile = kernel->tile_channels == CONV2D_OC_BLOCK;
    const bool fits = channel_bytes(p, kernel, most) <= conv2d_cpu()->l1_bytes / p->in_channels;
    const bool few_fit = channel_bytes(p, kernel, few) <= conv2d_cpu()->l2_bytes / 8 / p->in_channels;
    b->block_vectors = b->channel_blocks > 1 || p->out_channels <= CONV2D_OC_BLOCK || fits ? most
                       : one_tile && few_fit                                               ? few
                                                                                           : b->group_vectors;
    if (one_tile || fits)
        b->group_vectors = b->block_vectors;
}

/* Floats of a copied row: its columns by remainder modulo the stride, each remainder with room for whole vectors. */
static size_t scratch_phase(const problem *p, const conv2d_kernel *kernel)
{
    const size_t columns = divide_up(p->out_width, kernel->lanes) * kernel->lanes;
    return divide_up(columns + (p->kernel_width - 1) * p->dilation_w / p->stride_w, 16) * 16;
}

bool conv2d_rows_fit(const problem *p, const conv2d_kernel *kernel)
{
    const size_t limit = (size_t)PTRDIFF_MAX / sizeof(float) / 65536;
    size_t floats = scratch_phase(p, kernel) * p->stride_w;
    return !__builtin_mul_overflow(floats, rows_for_one(p) + p->stride_h, &floats) &&
           !__builtin_mul_overflow(floats, p->in_channels, &floats) && floats < limit;
}

bool conv2d_scratch_fits(const problem *p, const conv2d_kernel *kernel)
{
    return p->stride_w == 1 || conv2d_rows_fit(p, kernel);
}

/*
 * AVX2's four passes over a block of 16 channels have all its lines of weights and the block's columns of all input
 * channels compete for the L1; a panel takes no more of it than it must, and a plane whose size is a multiple of a
 * power of two no more than that (Zen 4, 1x1, percent of peak: 1024->256 @14 82 -> 94, 320->320 @64 53 -> 89).  Nor do
 * its loads wait for stores of the outputs just before, whose addresses have the same low 12 bits if both tensors begin
 * at the same place of a page (12->96 @160 28 -> 57, 16->32 @64 36 -> 59).  The copy costs what 5 output channels do.
 */
static bool wants_panel(const problem *p, const conv2d_kernel *kernel)
{
    if (conv2d_transposes_pixels(p))
        return true;
    if (kernel->lanes != 8 || !conv2d_is_pointwise(p))
        return false;
    const bool shares_sets = p->in_channels >= 8 && (size_t)p->in.channel * sizeof(float) % 1024 == 0;
    return p->out_channels >= (shares_sets ? 32 : 96) && (shares_sets || p->in_channels >= 128);
}

/* NHWC pixels of which few planes are made: K's lanes would be idle but for a few, and its sums wait for each other
 * (Zen 5: 16x4x8400 1x1x1 3.1, 64x56x56 1.4-1.6 times as fast). */
bool conv2d_transposes_pixels(const problem *p)
{
    return conv2d_is_pointwise(p) && p->in.channel == 1 && p->in.column != 1 && p->out.column == 1 &&
           p->out_channels <= 3;
}

void conv2d_set_panel(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    b->panel_columns = b->block_vectors * kernel->lanes;
    b->workspace = b->panel_columns * p->in_channels;
}

/* Rows are copied in tiles that take a quarter of the L2, and at least one output row at a time. */
void conv2d_set_scratch(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const size_t phase = scratch_phase(p, kernel), row = phase * p->stride_w, first_rows = rows_for_one(p);
    const size_t budget = conv2d_cpu()->l2_bytes / 4 / sizeof(float) / row / p->in_channels;
    const size_t more = budget > first_rows ? (budget - first_rows) / p->stride_h : 0;
    b->row_tiles = divide_up(p->out_height, min_size(more + 1, p->out_height));
    b->scratch_rows = (divide_up(p->out_height, b->row_tiles) - 1) * p->stride_h + first_rows;
    b->phase_pitch = (ptrdiff_t)phase;
    b->scratch_row = (ptrdiff_t)row;
    /* Channels a multiple of 4 KiB apart would share a few sets of the L1. */
    const size_t channel = b->scratch_rows * row;
    b->scratch_channel = (ptrdiff_t)(channel % 1024 == 0 ? channel + 16 : channel);
    b->workspace = (size_t)b->scratch_channel * p->in_channels;
}

/* K's tiles of more than few columns expect columns outside the input at one end of them only (gen/edge_columns.c). */
size_t conv2d_tiles_per_row(const problem *p, const conv2d_kernel *kernel)
{
    const size_t few = 6;
    return divide_up(p->out_width, min_size(kernel->tile_columns, max_size(few, p->in_width / p->stride_w + 1)));
}

/*
 * Pieces of the column tiles (over rows) whose input rows, all channels of them, take a quarter of the L2.  An input of
 * half the L2 stays whole: each piece has all weights read again (384->1408 @14 3x3: 24 %).  So does one of at most
 * four L2s and a quarter of the weights: it comes from the L3 instead of them (1024->1024 3x3 @13 AVX-512 1.06, AVX2
 * 1.67, @30 1.05 and 1.21 times as fast; but NHWC 256->256 @56 0.91, 256->512 @40 0.94; larger ones lose up to 25 %).
 */
static size_t tile_chunks(const problem *p, size_t tiles_per_row)
{
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float);
    const size_t weights = packed_block_size(p) * group_blocks(p);
    const size_t whole = max_size(l2 / 2, min_size(4 * l2, weights / 4));
    if (conv2d_rows_read(p) * p->in_width <= whole / p->in_channels)
        return 1;
    const size_t row_floats = p->in_channels * (p->in_width + 16), tiles = p->out_height * tiles_per_row;
    const size_t budget = conv2d_cpu()->l2_bytes / 4 / sizeof(float);
    size_t chunk;
    if (p->out_height == 1) {
        chunk = budget * tiles_per_row / row_floats;
    } else {
        const size_t rows = budget / row_floats;
        chunk = ((rows > p->kernel_height ? (rows - p->kernel_height) / p->stride_h : 0) + 1) * tiles_per_row;
    }
    return divide_up(tiles, min_size(max_size(chunk, 1), tiles));
}

/*
 * The pixels that a tile reads at a time, one cache line of each, over all kernel rows.  Pixels a multiple of a high
 * power of two apart share a few of the L1's sets, and evict each other before the next channel of their lines is read
 * (NHWC 1024->256 @14 1x1 on Zen 4: 68 % of peak in place, 95 % copied apart).  So do more rows a multiple of a page
 * apart than a set has lines (Zen 5, NHWC 32x64x64 32x15x1 2.0, AVX2 1.7 times as fast).
 */
static bool pixels_collide(const problem *p, const conv2d_kernel *kernel)
{
    enum { LINE = 64, SETS = 64 };
    const size_t pitch = (size_t)p->in.column * p->stride_w * sizeof(float), page = (size_t)LINE * SETS;
    const size_t row = (size_t)p->in.row * p->dilation_h * sizeof(float), lines = conv2d_cpu()->l1_bytes / page;
    const size_t columns = min_size(kernel->tile_columns, p->out_width) + (p->kernel_width - 1) / p->stride_w;
    size_t sets = SETS;
    while (sets > 1 && pitch % (page / sets * 2) == 0)
        sets /= 2;
    if (row % page == 0)
        sets = min_size(sets, columns);
    return sets * lines * 3 / 4 < columns * p->kernel_height;
}

/* A kernel for NCHW takes neighbouring columns for granted (one channel is both layouts). */
bool conv2d_copies_pixels(const problem *p, const conv2d_kernel *kernel)
{
    return p->in.channel == 1 && kernel->stride_w == 0;
}

/* Pixels an odd number of cache lines apart use all sets. */
void conv2d_set_pixel_scratch(blocking *b, const problem *p)
{
    const size_t lines = divide_up(p->in_channels, 16), tiles = p->out_height * b->tiles_per_row;
    const size_t chunk = divide_up(tiles, b->tile_chunks), columns = divide_up(p->out_width, b->tiles_per_row);
    const size_t rows = p->out_height == 1 ? 1 : min_size((chunk - 1) / b->tiles_per_row + 2, p->out_height);
    const size_t all_columns = p->out_height == 1 ? min_size(chunk * columns, p->out_width) : p->out_width;
    b->scratch_rows = min_size((rows - 1) * p->stride_h + rows_for_one(p), p->in_height);
    b->scratch_columns =
        min_size((all_columns - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w + 1, p->in_width);
    b->scratch_column = (ptrdiff_t)((lines + (lines % 2 == 0)) * 16);
    b->scratch_row = b->scratch_column * (ptrdiff_t)b->scratch_columns;
    if (b->scratch_row % 1024 == 0)
        b->scratch_row += 16;
    b->workspace = b->scratch_rows * (size_t)b->scratch_row;
}

blocking conv2d_choose_blocking(const problem *p, const conv2d_kernel *kernel)
{
    blocking b = {.row_tiles = 1, .chunks = 1, .block_vectors = 1, .group_vectors = 1, .channel_blocks = 1};
    if (p->empty)
        return b;
    if (kernel->family == CONV2D_FAMILY_D) {
        conv2d_set_d_blocking(&b, p, kernel);
        return b;
    }
    b.channel_blocks = channel_blocks(p, kernel);
    if (kernel->family == CONV2D_FAMILY_W) {
        b.group_vectors = conv2d_group_vectors(p, kernel);
        b.whole_rows = conv2d_whole_rows(p, kernel);
        if (b.whole_rows)
            b.group_vectors = divide_up(p->out_width, kernel->lanes);
        set_vectors(&b, p, kernel);
        b.chunks = weight_chunks(p);
        if (p->stride_w != 1)
            conv2d_set_scratch(&b, p, kernel);
        else if (wants_panel(p, kernel))
            conv2d_set_panel(&b, p, kernel);
    } else if (kernel->family == CONV2D_FAMILY_K) {
        b.tiles_per_row = conv2d_tiles_per_row(p, kernel);
        b.tile_chunks = tile_chunks(p, b.tiles_per_row);
        if (conv2d_copies_pixels(p, kernel) && pixels_collide(p, kernel))
            conv2d_set_pixel_scratch(&b, p);
    }
    return b;
}

size_t conv2d_workspace_per_part(const ready_plan *p)
{
    return p->status == CONV2D_OK ? p->blocking.workspace : 0;
}
