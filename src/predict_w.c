/* SPDX-License-Identifier: MIT */
/* The cost model of family W, as in predict.c. */
#include "predict.h"

/* AVX-512, two FMAs a cycle: neither starts nor stores of tiles are waited for (run_w_through.c). */
static bool goes_fast(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->lanes == 16 && conv2d_goes_through(p, kernel);
}

/* Many planes are many pages, which a tile of few channels visits more often than K's do (Zen 5, K's time to W's:
 * 1024x50x50 1x1 0.95, 1536 0.88, 2048 0.74, 3072 0.55; 2048x24x24 0.94, 3072x16x16 0.92). */
static double w_page_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const double few = 900, plane = (double)p->in.channel * sizeof(float), most = 8192;
    if (kernel->lanes != 16 || !conv2d_cpu()->two_wide_fmas || real(p->in_channels) < few)
        return 0;
    return (real(p->in_channels) - few) / 250 * (plane < most ? plane / most : 1);
}

/*
 * AVX-512, two FMAs a cycle: how far pairs of vectors are better or worse than threes.  24 sums that end at once hold
 * up the FMAs of the next tile for some 26 cycles, 16 for none (Zen 5, 24x56x56 144x1x1 1.05 times as fast in pairs,
 * 120x14x14 30x1x1 1.07, 3x224x224 64x3x3 s2 1.03).  But they read weights and pages more often (1x1: 240x30x30 40
 * 0.986, 960x16x16 128 0.98, 256x56x56 512 0.99), and more so from the L3 (3x600x600 64x3x3 s2 0.96).
 */
static bool pairs_end_lightly(const problem *p, const conv2d_kernel *kernel)
{
    const size_t few = 128;
    const bool suits = p->kernel_width == 1 ? goes_fast(p, kernel) && p->in_channels > 8 : conv2d_cpu()->two_wide_fmas;
    return takes_pairs(kernel) && suits && p->in_channels <= few &&
           (sorts_in_registers(kernel) || !exceeds_l2(p, 12)); /* the others of a strided row copy it, too */
}

static double pair_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const size_t few = 192, floats = p->in_channels * p->in_height * p->in_width;
    if (!takes_pairs(kernel) || p->in_channels <= few)
        return 0;
    const bool fits = floats <= conv2d_cpu()->l2_bytes * 3 / 4 / sizeof(float);
    return !fits ? 0.4 : divide_up(p->out_width, kernel->lanes) > 16 ? 0.3 : 0.1;
}

/* Whole vectors cross cache lines, broadcasts never do. */
static double w_tile_cycles(const problem *p, const conv2d_kernel *kernel, size_t channels, size_t columns, bool panel)
{
    const double vector_load = kernel->lanes == 16 ? 1.5 : 1.0, crossing = kernel->lanes == 16 ? 0.1 : 0;
    const double loads = vector_load * real(columns) + 0.5 * real(channels);
    /* All channels in one set of the L1, and 8 lanes come back for the rest of their lines (64x64 planes).  Zen 5 with
     * 16 hardly waits (256x28x28 256x1x1 1.05, 256x20x20 256x1x1 1.04 times K's speed). */
    const bool one_set = kernel->lanes == 8 && (size_t)p->in.channel * sizeof(float) % 4096 == 0;
    const double line = one_set ? 0.6 : goes_fast(p, kernel) ? 0.15 : 0.4;
    const double bytes = real(columns * kernel->lanes * sizeof(float));
    const bool pointwise = conv2d_is_pointwise(p);
    const double pages = pointwise && p->in.column == 1 && !panel ? w_page_cycles(p, kernel) : 0;
    const bool in_place = p->stride_w == 1 || sorts_in_registers(kernel);
    const double misses = pages + (in_place && !panel ? conv2d_miss_cycles(p, bytes * real(p->stride_w), line) : 0);
    /* The passes of an AVX2 tile over a block of 16 channels read all its lines of weights each time, between lines of
     * the input. */
    const double competing = real(p->in_channels * p->kernel_height) * (p->kernel_width == 1 ? bytes + 32 : 0);
    const bool weights_miss = kernel->lanes == 8 && !panel &&
                              real(packed_block_size(p) * sizeof(float)) + competing > real(conv2d_cpu()->l1_bytes);
    return tap_cycles(real(channels * columns), loads, kernel) + crossing * real(columns) + misses +
           (weights_miss ? 0.8 : 0) + (columns == 2 ? pair_cycles(p, kernel) : 0);
}

/* Rows of few channels, each in one masked tile: masked loads take two cycles. */
static double w_row_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const size_t vectors = divide_up(p->out_width, kernel->lanes);
    const double taps = conv2d_valid_rows(p) * real(p->in_channels * p->kernel_width);
    double cycles = 0;
    for (size_t oc = 0; oc < p->out_channels;) {
        const size_t channels = widest_edge(kernel, p->out_channels - oc, vectors);
        const double loads = 2 * real(vectors) + 0.5 * real(channels);
        cycles += taps * tap_cycles(real(channels * vectors), loads, kernel) +
                  real(p->out_height) * (40 + 2.5 * real(channels * vectors));
        oc += channels;
    }
    return cycles;
}

/* What it takes to sort a row's columns by their remainders (strides 2 and 4: in vectors), for all rows; those of many
 * planes are waited for if they come from the L3 (Zen 5, cycles a float: 32x128x128 0.6, 16x320x320 0.9, 64x224x224
 * 1.9). */
static double w_copy_cycles(const problem *p, const conv2d_kernel *kernel)
{
    if (p->stride_w == 1 || sorts_in_registers(kernel))
        return 0;
    const size_t floats = p->in_channels * p->in_height * p->in_width;
    const bool waits =
        differs_from_zen4() && p->in_channels >= CONV2D_OC_BLOCK && floats > conv2d_cpu()->l2_bytes / sizeof(float);
    const bool fours = p->stride_w == 4 && kernel->lanes == 16; /* AVX2, 3x256x256 24x4x4 s4, 0.8 times K's speed */
    const double each = (p->stride_w == 2 ? 0.2 : fours ? 0.4 : 1) + (waits ? 0.8 : 0);
    return real(p->in_channels * p->in_height) * (15 + each * real(p->in_width));
}

/* Of a row's tiles: cycles a tap, and at their starts and ends. */
typedef struct w_cost {
    double taps, ends;
    bool panel;
} w_cost;

/* So many times `vectors` vectors of columns in the widest tiles of so many channels. */
static void add_tiles(w_cost *cost, const problem *p, const conv2d_kernel *kernel, size_t channels, size_t vectors,
                      double times, double slow)
{
    /* Tiles of a block's 16 channels follow each other along a long group (blocking.c). */
    const bool fast = channels == kernel->tile_channels && goes_fast(p, kernel);
    const double light = pairs_end_lightly(p, kernel) ? 12 : 0;
    const double start = (fast || kernel->tile_channels == CONV2D_OC_BLOCK || kernel->lanes == 8 ? 12 : 25) - light;
    /* More planes that share a set than it has lines (Zen 5, 3x128x128 64x1x1 2.3 times as long as with 8 planes). */
    const bool evict = kernel->tile_channels == CONV2D_OC_BLOCK && p->kernel_width == 1 && planes_collide(p);
    const double store = (fast ? 1.0 : 2.5) + (evict && conv2d_cpu()->two_wide_fmas ? 4 : 0);
    while (vectors > 0) {
        const size_t width = next_columns(kernel, channels, vectors), left = vectors - width;
        size_t alike = left && next_columns(kernel, channels, left) == width ? vectors / width : 1;
        if (alike > 1 && next_columns(kernel, channels, vectors - (alike - 1) * width) != width)
            alike--; /* the last four are two and two */
        const double tiles = times * real(alike);
        cost->taps += tiles * slow * w_tile_cycles(p, kernel, channels, width, cost->panel);
        cost->ends += tiles * (start + store * real(channels * width));
        vectors -= alike * width;
    }
}

/* Edge vectors are slower by a twentieth (masks) or by a half (blends); in 1x1, and with 8 lanes, by more where all
 * weights come from the L2 for this one vector. */
static double w_edge_cost(const problem *p, const conv2d_kernel *kernel, const blocking *b)
{
    if (conv2d_is_pointwise(p) && b->channel_blocks == 1 && p->curve == CONV2D_NONE && !p->has_residual)
        return kernel->lanes == 16 ? 1.02 : 1.2; /* not masked but computed again (run_w_edges.c) */
    const bool weights_miss = packed_block_size(p) * group_blocks(p) * sizeof(float) > conv2d_cpu()->l1_bytes;
    if (kernel->lanes == 16)
        return weights_miss && p->kernel_width == 1 ? 1.5 : sorts_in_registers(kernel) ? 1.12 : 1.05;
    /* Few output channels need but a part of them (Zen 5, 32x64x64 3x5x5 2.5; Zen 3, 64x64x64 1x7x7 2.8, 64x128x128
     * 2x3x3 1.3). */
    const bool few = p->out_channels <= 3 && differs_from_zen4();
    return weights_miss && !few ? 3.5 : 1.5;
}

/* The vectors of a row that have tiles of their own.  Of a row that is sorted as it is read, the left edge may be one
 * of a pair. */
static size_t row_edges(const problem *p, const conv2d_kernel *kernel, size_t vectors)
{
    if (!sorts_in_registers(kernel))
        return min_size(p->kernel_width > 1 ? 2 : p->out_width % kernel->lanes != 0, vectors);
    const bool padded = (p->out_width - 1) * p->stride_w + p->kernel_width > p->pad_left + p->in_width;
    const size_t right = padded || p->out_width % kernel->lanes != 0, left = p->pad_left > 0 && vectors > right;
    return right + (left && (vectors - right) % 2 == 1);
}

/* So many of a block's channels of a row, as run_w.c cuts it; the edges have their own tiles. */
static void add_row(w_cost *cost, const problem *p, const conv2d_kernel *kernel, const blocking *b, size_t in_block,
                    size_t channels, double times)
{
    const size_t vectors = divide_up(p->out_width, kernel->lanes);
    const size_t edges = row_edges(p, kernel, vectors), inner = vectors - edges, last = inner % b->block_vectors;
    const size_t groups = inner / b->block_vectors * (b->block_vectors / b->group_vectors) + last / b->group_vectors;
    const size_t rest = b->block_vectors % b->group_vectors;
    add_tiles(cost, p, kernel, channels, b->group_vectors, times * real(groups), 1);
    add_tiles(cost, p, kernel, channels, rest, times * real(inner / b->block_vectors), 1);
    add_tiles(cost, p, kernel, channels, last % b->group_vectors, times, 1);
    const size_t at_edge = widest_edge(kernel, in_block, 1);
    add_tiles(cost, p, kernel, at_edge, 1, times * real(edges * channels) / real(at_edge), w_edge_cost(p, kernel, b));
}

/* Planes of pixels as they come from the L2, some rows of which two row tiles copy, and pixels of planes. */
static double w_pixel_cycles(const problem *p, const conv2d_kernel *kernel, const blocking *b)
{
    const bool wide = kernel->lanes == 16;
    /* Zen 5, times K's speed: 12x270x480 12x3x3 0.85 to 0.99, 32x64x64 10x3x3 0.87, but 16x68x480 8x3x3 1.49. */
    const bool slow = conv2d_cpu()->two_wide_fmas && !conv2d_is_pointwise(p);
    const bool little = has_small_l2() && !conv2d_is_pointwise(p); /* Zen 3, 64x128x128 3x3x3 1.6 times K's speed */
    const double each = wide ? (slow ? 0.7 : 0.3) : little ? 0.35 : 0.45, channels = real(p->out_channels);
    const double rows = b->scratch_row ? real(b->row_tiles * b->scratch_rows) : real(p->in_height);
    const double in = conv2d_transposes_pixels(p) ? each * rows * real(p->in_channels * p->in_width) : 0;
    /* Zen 5, 16x64x64 2x1x1 0.42 times K's time, 24x56x56 4x1x1 1.04. */
    const double pixel = wide ? 1 + 0.9 * channels : 4 + 1.5 * channels;
    return in + (conv2d_writes_pixels(p) ? real(p->out_height * p->out_width) * pixel : 0);
}

/* A plane times a number: a call for each, and another for the last vector (Zen 5, cycles: AVX-512 16x16 102, 17x17
 * 193, 28x28 165; AVX2 16x16 114, 17x17 201, 28x28 183). */
static double w_scale_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const double vectors = real(p->out_height * divide_up(p->out_width, kernel->lanes));
    return 72 + (kernel->lanes == 16 ? 2 : 1.1) * vectors + (p->out_width % kernel->lanes ? 75 : 0);
}

/*
 * Whether a panel that tiles fill (run_w_panel.c) is as good on a small map as on others: Zen 4, AVX2, 14x14 and 16x16,
 * where the L2 holds the weights with ease, W's time to K's 0.9 to 0.98; 8x8 1.04, 1024x14x14 1024x1x1 1.07.
 */
static bool fills_well(const problem *p)
{
    enum { FEWEST_COLUMNS = 128 };
    const size_t weights = p->in_channels * p->out_channels * sizeof(float);
    return !has_small_l2() && p->out_width >= FEWEST_COLUMNS && weights <= conv2d_cpu()->l2_bytes / 2;
}

/* Where what a pair of vectors reads, and a block's weights, fill the L1, they come from the L2 for every 8 output
 * channels (Zen 5, times K's speed: 24x192x192 48x3x3 s2 1.06, 32x256x256 64 1.02, 32x96x96 64 and 64x160x160 64 0.87,
 * 48x128x128 48 0.96). */
static double strided_wait(const problem *p, const conv2d_kernel *kernel)
{
    const size_t row = (size_t)kernel->tile_columns * kernel->lanes * p->stride_w;
    const size_t floats = p->in_channels * p->kernel_height * row + packed_block_size(p);
    return floats * sizeof(float) > conv2d_cpu()->l1_bytes * 3 / 4 ? 1.15 : 1;
}

double conv2d_predict_w(const problem *p, const conv2d_kernel *kernel)
{
    if (conv2d_is_pointwise(p) && p->in_channels * p->out_channels == 1 && p->in.column == 1)
        return w_scale_cycles(p, kernel);
    /* Few channels a group keep their promises least (64x64x64 3x3 g32: 42 % of peak instead of 63; Zen 3 more,
     * 128x56x56 3x3 g32 46 %). */
    const double few = has_small_l2() ? 0.4 : 0.8;
    const double small = p->groups == 1 || p->out_channels >= 16 ? 1
                         : p->out_channels == 1                  ? 1.6
                                                                 : 1 + few / real(p->out_channels);
    const blocking b = conv2d_choose_blocking(p, kernel);
    const double copies = w_copy_cycles(p, kernel) + w_pixel_cycles(p, kernel, &b);
    if (b.whole_rows)
        return small * w_row_cycles(p, kernel) + copies;
    const double taps = conv2d_valid_rows(p) * real(p->in_channels * p->kernel_width);
    w_cost cost = {.panel = b.panel_columns != 0};
    for (size_t oc = 0; oc < p->out_channels;) {
        const size_t in_block = min_size(p->out_channels - oc, CONV2D_OC_BLOCK);
        /* Whole blocks of 16 channels are alike. */
        const size_t repeat = in_block == CONV2D_OC_BLOCK ? p->out_channels / CONV2D_OC_BLOCK : 1;
        for (size_t done = 0; done < in_block;) {
            const size_t channels = widest_channels(kernel, in_block - done, kernel->tile_channels);
            add_row(&cost, p, kernel, &b, in_block, channels, real(repeat));
            done += channels;
        }
        oc += repeat * in_block;
    }
    /* The masks of the vectors at the ends of a row. */
    const double masks = p->kernel_width > 1 ? 80 : 0;
    /* 1x1 of one channel a group at 14x14: 0.4 times the speed of D. */
    const double group = p->groups > 1 ? 120 : 0;
    /* A block's weights come from the L2 for each triple of vectors if they exceed the L1. */
    const bool streams = packed_block_size(p) * sizeof(float) > conv2d_cpu()->l1_bytes;
    const double waits = sorts_in_registers(kernel)      ? strided_wait(p, kernel)
                         : !is_fast_pointwise(p, kernel) ? 1
                         : streams                       ? 1.09
                                                         : 1.035;
    /* Lines from memory again and again (Zen 3, 16x512x512 16x5x5 0.73 times K's speed, 32x1024x1024 16x3x3 0.57). */
    const bool in_place = !cost.panel && b.scratch_row == 0;
    const bool crowds = in_place && ((kernel->lanes == 8 && conv2d_planes_crowd(p)) || conv2d_planes_thrash(p, kernel));
    /* A panel of so many channels is read from the L2 for every 8 output channels (Emerald Rapids, 2048x32x32 512x1x1
     * 0.77 times K's speed on its copy, 1536x24x24 512x1x1 0.95). */
    const bool tall = cost.panel && kernel->lanes == 16 && p->in.column == 1 && p->in_channels >= 1536;
    /* So is one of AVX2, for every 4, and there are few columns to a weight (Zen 3, 768x8x8 1536x1x1 0.75 times the
     * speed of K on pixels, 1024x14x14 1024x1x1 0.75 to 0.93, 640x19x19 3840x1x1 0.82, but 192x20x20 384x1x1 1.05). */
    const size_t few_columns = p->in_channels >= 512 ? 1024 : 256;
    const bool short_panel = waits_like_zen3(kernel) && !fills_well(p) && kernel->lanes == 8 && cost.panel &&
                             p->in.column == 1 && p->out_channels >= 96 && p->out_width <= few_columns;
    const double crowd = crowds ? 1.4 : tall ? 1.15 : short_panel ? 1.05 + 12 / real(p->out_width) : 1;
    return small * waits * crowd * (cost.taps * taps + (cost.ends + masks) * real(p->out_height)) + group + copies +
           conv2d_visit_cycles(p, kernel, cost.panel);
}
