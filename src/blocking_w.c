/* SPDX-License-Identifier: MIT */
/* Block sizes of family W: vectors of columns, and what is copied to the workspace. */
#include "tiles.h"

bool conv2d_whole_rows(const problem *p, const conv2d_kernel *kernel)
{
    const size_t vectors = divide_up(p->out_width, kernel->lanes), most = 8;
    if (sorts_in_registers(kernel) || p->out_channels > most || vectors < 2 || vectors > MAX_EDGE_VECTORS ||
        p->kernel_width < 2)
        return false;
    for (size_t oc = 0; oc < p->out_channels;) {
        const size_t channels = widest_edge(kernel, p->out_channels - oc, vectors);
        if (channels == 0)
            return false;
        oc += channels;
    }
    return true;
}

/*
 * Tiles of few channels are wide: a group of vectors is as wide as the widest tile in use, and parts no pairs.  AVX2's
 * parts none of its main tiles, most of the work, either (Zen 3, 1x1: 40x38x38 85 1.13, 96x80x80 18 1.14, 64x28x28 21
 * 1.12 times as fast as with groups of 7 or 5).
 */
size_t conv2d_group_vectors(const problem *p, const conv2d_kernel *kernel)
{
    const size_t step = kernel->lanes == 8 && p->out_channels >= kernel->tile_channels ? kernel->tile_columns : 1;
    size_t vectors = p->out_channels < CONV2D_OC_BLOCK ? 1 : kernel->tile_columns;
    for (size_t left = p->out_channels % CONV2D_OC_BLOCK; left > 0;) {
        const size_t channels = widest_channels(kernel, left, kernel->tile_channels);
        for (size_t width = CONV2D_MAX_TILE_COLUMNS; width > vectors; width--)
            if (width % step == 0 && has_tile(kernel, channels, width))
                vectors = width;
        left -= channels;
    }
    return vectors + (takes_pairs(kernel) ? vectors % 2 : 0);
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
    enum { LONG = 40, ALONG = 1024, PAGES_ALONG = 4096 }; /* the latter on Zen 3: ten layers 1.04, 128x80x80 1.1 */
    if (conv2d_goes_along(p, kernel) && b->channel_blocks == 1) {
        b->block_vectors = (size_t)(has_small_l2() ? PAGES_ALONG : ALONG) / kernel->lanes;
        return;
    }
    const size_t row = divide_up(p->out_width, kernel->lanes),
                 usual = divide_up(24, b->group_vectors) * b->group_vectors;
    const size_t room = conv2d_cpu()->l1_bytes / p->in_channels;
    const size_t most = row > usual && row <= LONG && channel_bytes(p, kernel, row) <= room ? row : usual;
    const size_t few = divide_up(4, b->group_vectors) * b->group_vectors;
    const bool one_tile = kernel->tile_channels == CONV2D_OC_BLOCK;
    const bool fits = channel_bytes(p, kernel, most) <= room;
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

/*
 * NHWC: few output channels leave most of K's lanes idle, and its sums wait for each other.  W makes planes of the
 * pixels first, and pixels of its few planes of outputs (Zen 5: 64x256x256 3x9x9 3.7, 64x128x128 3x3x3 2.9
 * times as fast).
 */
enum { FEW_CHANNELS = CONV2D_OC_BLOCK - 1 };

bool conv2d_transposes_pixels(const problem *p)
{
    return p->in.channel == 1 && p->in.column != 1 && p->stride_w == 1 && p->groups == 1 &&
           p->out_channels <= FEW_CHANNELS;
}

bool conv2d_writes_pixels(const problem *p)
{
    return p->out.channel == 1 && p->out.column != 1 && p->groups == 1 && p->out_channels <= FEW_CHANNELS &&
           !p->has_residual;
}

/* Rows are copied for a stride, or to make planes of pixels. */
static bool wants_scratch(const problem *p, const conv2d_kernel *kernel)
{
    return (p->stride_w != 1 && !sorts_in_registers(kernel)) ||
           (conv2d_transposes_pixels(p) && !conv2d_is_pointwise(p));
}

bool conv2d_scratch_fits(const problem *p, const conv2d_kernel *kernel)
{
    return !wants_scratch(p, kernel) || conv2d_rows_fit(p, kernel);
}

/*
 * AVX2: whether what a tile visits of the planes and weights exceeds the L1, or half of it where planes come from
 * afar; or they share a set.  Zen 4, where the first tile fills the panel (run_w_panel.c): 160x15x15 67x1x1 1.08,
 * 128x104x104 64x1x1 1.15 to 1.18, 16x320x320 16x1x1 1.8, 24x160x160 24x1x1 1.5; near planes of up to 32 output
 * channels 0.96 to 1.00.
 */
static bool columns_crowd(const problem *p, const conv2d_kernel *kernel)
{
    enum { WAYS = 8, FAR_L2S = 2, FEW_CHANNELS_FAR = 16, FEW_CHANNELS_NEAR = 40, FEW_CHANNELS_OF_SET = 8 };
    const size_t line = LINE_FLOATS * sizeof(float), columns = (size_t)kernel->tile_columns * kernel->lanes;
    if ((size_t)p->in.channel * sizeof(float) % 4096 == 0 && p->in_channels > WAYS)
        return p->out_channels >= FEW_CHANNELS_OF_SET;
    const size_t weights = 1, shared = (size_t)p->in.channel % LINE_FLOATS != 0; /* a line with other columns */
    const size_t bytes = p->in_channels * (divide_up(columns, LINE_FLOATS) + shared + weights) * line;
    const bool far = exceeds_l2(p, FAR_L2S);
    return p->out_channels >= (size_t)(far ? FEW_CHANNELS_FAR : FEW_CHANNELS_NEAR) &&
           bytes >= conv2d_cpu()->l1_bytes / (far ? 2 : 1);
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
    if (!conv2d_is_pointwise(p))
        return false;
    if (conv2d_transposes_pixels(p))
        return true;
    if (conv2d_planes_thrash(p, kernel))
        return true;
    if (kernel->lanes != 8)
        return false;
    if (!differs_from_zen4() && columns_crowd(p, kernel))
        return true;
    /* The L1 of Zen 5 has 12 ways: planes an odd multiple of 1 KiB apart find room, and a panel is but in the way of
     * weights that fit the L2 with ease (1x1, 384x52x52 128 0.93, 128x56x56 128 0.96, 64x208x208 32 0.87). */
    const bool roomy = conv2d_cpu()->two_wide_fmas;
    const bool shares_sets = p->in_channels >= 8 && (size_t)p->in.channel * sizeof(float) % (roomy ? 2048 : 1024) == 0;
    if (roomy && !shares_sets && p->in_channels * p->out_channels * sizeof(float) <= conv2d_cpu()->l2_bytes / 4)
        return false;
    return p->out_channels >= (shares_sets ? 32 : 96) && (shares_sets || p->in_channels >= 128);
}

/* Whether such a panel and a block's weights are more than the L1: then the main tiles' width serves best (Zen 3,
 * 278x14x14 238x1x1 1.34, 182x14x14 818x1x1 1.29, 155x14x14 278x1x1 1.13; 126x14x14 818x1x1, which fits, 1.00). */
static bool panel_crowds(const problem *p, const conv2d_kernel *kernel, size_t vectors)
{
    const size_t floats = vectors * kernel->lanes + CONV2D_OC_BLOCK;
    return kernel->lanes == 8 && !conv2d_transposes_pixels(p) &&
           p->in_channels * floats * sizeof(float) > conv2d_cpu()->l1_bytes;
}

void conv2d_set_panel(blocking *b, const conv2d_kernel *kernel)
{
    b->panel_columns = b->block_vectors * kernel->lanes;
}

/* Rows are copied in tiles that take a quarter of the L2, and at least one output row at a time; those that become
 * planes in tiles of half the L2, and at least as many rows again as the first of them needs. */
void conv2d_set_scratch(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const size_t phase = scratch_phase(p, kernel), row = phase * p->stride_w, first_rows = rows_for_one(p);
    const bool planes = conv2d_transposes_pixels(p);
    const size_t rows = conv2d_cpu()->l2_bytes / (planes ? 2 : 4) / sizeof(float) / row / p->in_channels;
    const size_t budget = max_size(rows, planes ? 2 * first_rows : 0);
    const size_t more = budget > first_rows ? (budget - first_rows) / p->stride_h : 0;
    b->row_tiles = divide_up(p->out_height, min_size(more + 1, p->out_height));
    b->scratch_rows = (divide_up(p->out_height, b->row_tiles) - 1) * p->stride_h + first_rows;
    b->phase_pitch = (ptrdiff_t)phase;
    b->scratch_row = (ptrdiff_t)row;
    /* Channels a multiple of 4 KiB apart would share a few sets of the L1. */
    const size_t channel = b->scratch_rows * row + (planes ? CONV2D_OC_BLOCK : 0); /* transposes write whole vectors */
    b->scratch_channel = (ptrdiff_t)(channel % 1024 == 0 ? channel + 16 : channel);
}

/* Planes of a block's outputs, which may begin a vector before it. */
void conv2d_size_w_workspace(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const size_t vectors = b->whole_rows ? divide_up(p->out_width, kernel->lanes) : b->block_vectors;
    b->plane_columns = conv2d_writes_pixels(p) ? (vectors + 1) * kernel->lanes : 0;
    b->workspace = b->scratch_row ? (size_t)b->scratch_channel * p->in_channels : b->panel_columns * p->in_channels;
    b->workspace += b->plane_columns * p->out_channels;
}

void conv2d_set_w_blocking(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    const bool rows = wants_scratch(p, kernel), panel = !rows && wants_panel(p, kernel);
    b->group_vectors = conv2d_group_vectors(p, kernel);
    if (panel && panel_crowds(p, kernel, b->group_vectors))
        b->group_vectors = kernel->tile_columns;
    b->whole_rows = conv2d_whole_rows(p, kernel);
    if (b->whole_rows)
        b->group_vectors = divide_up(p->out_width, kernel->lanes);
    set_vectors(b, p, kernel);
    b->chunks = conv2d_weight_chunks(p);
    if (rows) {
        conv2d_set_scratch(b, p, kernel);
    } else if (panel) {
        /* Each chunk copies the panel again, and a block has work enough for weights that come from the L3; but from
         * memory they do not come fast enough (Zen 5, AVX2, 1x1: 2048->2048 @64 1.20, 0.89 as one chunk; 4096->4096
         * @16 1.16, 0.80; 2048->512 @32 1.15, 512->4096 @8 1.14, 1024->256 @64 1.06; 155 layers 1.01). */
        b->chunks = divide_up(b->chunks, 8);
        conv2d_set_panel(b, kernel);
    }
    conv2d_size_w_workspace(b, p, kernel);
}
