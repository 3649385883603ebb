/* SPDX-License-Identifier: MIT */
/*
 * The cost model that chooses between kernels: cycles of a tile per tap, its start and end, and what misses the L1.
 * It is a closed formula over the fields of a kernel's row and the problem; the constants are Zen 4's
 * (docs/design.md, "Selection", has the measurements).
 */
#include "predict.h"

/* Cycles of one tap of a tile: bound by the FMA units, the load ports, or the latency of the accumulators' chains. */
static double tap_cycles(double fmas, double load_cycles, const conv2d_kernel *kernel)
{
    const double latency = 4;
    const bool one_wide = kernel->lanes == 16 && !conv2d_cpu()->two_wide_fmas;
    const double fma_cycles = one_wide ? fmas : fmas / 2;
    const double cycles = fma_cycles > load_cycles ? fma_cycles : load_cycles;
    return cycles > latency ? cycles : latency;
}

/*
 * Cycles per tap that a tile of so many bytes of input columns waits for the L2, once per channel and kernel row and
 * so much a cache line, if what all channels read does not stay in the L1.  It does not if it is too much, or if the
 * channels lie a multiple of a high power of two apart, so that their lines share a few of the 64 sets.  Channels that
 * share pages are fetched ahead (AVX2 1x1: 512x13x13 waits for nothing, 512x28x28 for 0.7 of it).
 */
static double miss_cycles(const problem *p, double column_bytes, double line_cycles)
{
    if (p->in.channel == 1) /* a pixel's line serves 16 channels; blocking.c keeps pixels from colliding */
        return 0;
    const double lines = column_bytes / 64 + 1, wanted = (double)(p->in_channels * p->kernel_height) * lines;
    const size_t pitch = (size_t)p->in.channel * sizeof(float), ways = conv2d_cpu()->l1_bytes / 4096;
    size_t sets = 64;
    while (sets > 1 && pitch % (64 * 64 / sets * 2) == 0)
        sets /= 2;
    const double room = (double)(ways * min_size(64, sets * p->kernel_height)) * (sets == 64 ? 1 : lines);
    const double pages = p->kernel_height > 1 ? 1 : (double)min_size(pitch, 4096) / 4096;
    return wanted > room ? line_cycles * lines * pages / (double)p->kernel_width : 0;
}

/* Whole vectors cross cache lines, broadcasts never do. */
static double w_tile_cycles(const problem *p, const conv2d_kernel *kernel, size_t channels, size_t columns, bool panel)
{
    const double vector_load = kernel->lanes == 16 ? 1.5 : 1.0, crossing = kernel->lanes == 16 ? 0.1 : 0;
    const double loads = vector_load * (double)columns + 0.5 * (double)channels;
    /* All channels in one set of the L1, and 8 lanes come back for the rest of their lines (64x64 planes). */
    const bool one_set = kernel->lanes == 8 && (size_t)p->in.channel * sizeof(float) % 4096 == 0;
    const double bytes = (double)(columns * kernel->lanes * sizeof(float));
    const double misses = p->stride_w == 1 && !panel ? miss_cycles(p, bytes, one_set ? 0.6 : 0.4) : 0;
    /* The passes of an AVX2 tile over a block of 16 channels read all its lines of weights each time, between lines of
     * the input. */
    const double competing = (double)(p->in_channels * p->kernel_height) * (p->kernel_width == 1 ? bytes + 32 : 0);
    const bool weights_miss =
        kernel->lanes == 8 && !panel &&
        (double)(packed_block_size(p) * sizeof(float)) + competing > (double)conv2d_cpu()->l1_bytes;
    return tap_cycles((double)(channels * columns), loads, kernel) + crossing * (double)columns + misses +
           (weights_miss ? 0.8 : 0);
}

/* Tiles of a strided 1x1 over planes find few columns in a line, and each line of inputs or weights takes 2.3 cycles
 * from the L2 (Zen 5, 256x14x14 512x1x1 s2 in place: 81 % of peak, on a copy 90), if they do not stay in the L1. */
static double strided_cycles(const problem *p, size_t channels, size_t columns, size_t in_channels)
{
    if (p->kernel_width > 1 || p->stride_w == 1 || p->in.column != 1)
        return 0;
    const double lines = (double)channels / 16 + (double)(columns * p->stride_w) / 16 + 1;
    return lines * (double)in_channels * 64 > 0.75 * (double)conv2d_cpu()->l1_bytes ? 2.3 * lines : 0;
}

static double k_tile_cycles(const problem *p, const conv2d_kernel *kernel, size_t vectors, size_t columns,
                            size_t in_channels)
{
    /* One broadcast for each FMA (AVX2 1x12) is more than two a cycle: 64x56x56 16x3x3 0.75 times the speed of 2x6. */
    const double crowded = kernel->lanes == 8 && vectors == 1 ? 1.1 : 1;
    const double loads = 0.5 * crowded * (double)(kernel->lanes / 8 * vectors + columns);
    /* A small tile asks for its weights so often that it waits for them if they are in the L2. */
    const size_t weights = in_channels * p->kernel_height * p->kernel_width * vectors * kernel->lanes;
    const bool weights_miss = kernel->lanes == 8 && weights * sizeof(float) > conv2d_cpu()->l1_bytes / 2;
    const double taps = tap_cycles((double)(vectors * columns), loads, kernel);
    const double strided = strided_cycles(p, vectors * kernel->lanes, columns, in_channels);
    return (taps > strided ? taps : strided) + (weights_miss ? 0.25 * (double)vectors : 0) +
           miss_cycles(p, (double)(columns * p->stride_w * 4), 0.8);
}

/* Rows of few channels, each in one masked tile: masked loads take two cycles. */
static double w_row_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const size_t vectors = divide_up(p->out_width, kernel->lanes);
    const double taps = valid_rows(p) * (double)(p->in_channels * p->kernel_width);
    double cycles = 0;
    for (size_t oc = 0; oc < p->out_channels;) {
        const size_t channels = widest_edge(kernel, p->out_channels - oc, vectors);
        const double loads = 2 * (double)vectors + 0.5 * (double)channels;
        cycles += taps * tap_cycles((double)(channels * vectors), loads, kernel) +
                  (double)p->out_height * (40 + 2.5 * (double)(channels * vectors));
        oc += channels;
    }
    return cycles;
}

/* What it takes to sort a row's columns by their remainders (SSE for stride 2), for all rows; those of many planes are
 * waited for if they come from the L3 (Zen 5, cycles a float: 32x128x128 0.6, 16x320x320 0.9, 64x224x224 1.9). */
static double w_copy_cycles(const problem *p)
{
    if (p->stride_w == 1)
        return 0;
    const size_t floats = p->in_channels * p->in_height * p->in_width;
    const bool waits = conv2d_cpu()->two_wide_fmas && p->in_channels >= CONV2D_OC_BLOCK &&
                       floats > conv2d_cpu()->l2_bytes / sizeof(float);
    const double each = (p->stride_w == 2 ? 0.2 : 1) + (waits ? 0.8 : 0);
    return (double)(p->in_channels * p->in_height) * (30 + each * (double)p->in_width);
}

/* AVX2, 1x1, NCHW: the first output channels of some columns wait for their input; what a panel's copy costs more. */
static double visit_cycles(const problem *p, const conv2d_kernel *kernel, bool panel)
{
    if (kernel->lanes != 8 || !conv2d_is_pointwise(p) || p->in.column != 1)
        return 0;
    return (panel ? 0.85 : 0.4) * (double)(p->in_channels * p->out_height) * (double)p->out_width;
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
    const double start = kernel->tile_channels == CONV2D_OC_BLOCK || kernel->lanes == 8 ? 12 : 25;
    while (vectors > 0) {
        const size_t width = widest_columns(kernel, channels, vectors);
        const double tiles = times * (double)(vectors / width);
        cost->taps += tiles * slow * w_tile_cycles(p, kernel, channels, width, cost->panel);
        cost->ends += tiles * (start + 2.5 * (double)(channels * width));
        vectors %= width;
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
        return weights_miss && p->kernel_width == 1 ? 1.5 : 1.05;
    return weights_miss ? 3.5 : 1.5;
}

/* So many of a block's channels of a row, as run_w.c cuts it; the edges have their own tiles. */
static void add_row(w_cost *cost, const problem *p, const conv2d_kernel *kernel, const blocking *b, size_t in_block,
                    size_t channels, double times)
{
    const size_t vectors = divide_up(p->out_width, kernel->lanes);
    const size_t edges = min_size(p->kernel_width > 1 ? 2 : p->out_width % kernel->lanes != 0, vectors);
    const size_t inner = vectors - edges, last = inner % b->block_vectors;
    const size_t groups = inner / b->block_vectors * (b->block_vectors / b->group_vectors) + last / b->group_vectors;
    const size_t rest = b->block_vectors % b->group_vectors;
    add_tiles(cost, p, kernel, channels, b->group_vectors, times * (double)groups, 1);
    add_tiles(cost, p, kernel, channels, rest, times * (double)(inner / b->block_vectors), 1);
    add_tiles(cost, p, kernel, channels, last % b->group_vectors, times, 1);
    const size_t at_edge = widest_edge(kernel, in_block, 1);
    add_tiles(cost, p, kernel, at_edge, 1, times * (double)(edges * channels) / (double)at_edge,
              w_edge_cost(p, kernel, b));
}

/* Planes of pixels as they come from the L2, some rows of which two row tiles copy, and pixels of planes. */
static double w_pixel_cycles(const problem *p, const conv2d_kernel *kernel, const blocking *b)
{
    const double each = kernel->lanes == 16 ? 0.3 : 0.45;
    const double rows = b->scratch_row ? (double)(b->row_tiles * b->scratch_rows) : (double)p->in_height;
    const double in = conv2d_transposes_pixels(p) ? each * rows * (double)(p->in_channels * p->in_width) : 0;
    const double out =
        conv2d_writes_pixels(p) ? (double)(p->out_height * p->out_width) * (4 + 1.5 * (double)p->out_channels) : 0;
    return in + out;
}

/* AVX2's 1x1 where two FMAs of twice the width begin in a cycle, which is to say Zen 5 (docs/design.md). */
static bool is_fast_pointwise(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->lanes == 8 && conv2d_cpu()->two_wide_fmas && conv2d_is_pointwise(p);
}

static double w_cycles(const problem *p, const conv2d_kernel *kernel)
{
    /* Few channels a group keep their promises least (64x64x64 3x3 g32: 42 % of peak instead of 63). */
    const double small = p->groups == 1 || p->out_channels >= 16 ? 1
                         : p->out_channels == 1                  ? 1.6
                                                                 : 1 + 0.8 / (double)p->out_channels;
    const blocking b = conv2d_choose_blocking(p, kernel);
    const double copies = w_copy_cycles(p) + w_pixel_cycles(p, kernel, &b);
    if (b.whole_rows)
        return small * w_row_cycles(p, kernel) + copies;
    const double taps = valid_rows(p) * (double)(p->in_channels * p->kernel_width);
    w_cost cost = {.panel = b.panel_columns != 0};
    for (size_t oc = 0; oc < p->out_channels;) {
        const size_t in_block = min_size(p->out_channels - oc, CONV2D_OC_BLOCK);
        /* Whole blocks of 16 channels are alike. */
        const size_t repeat = in_block == CONV2D_OC_BLOCK ? p->out_channels / CONV2D_OC_BLOCK : 1;
        for (size_t done = 0; done < in_block;) {
            const size_t channels = widest_channels(kernel, in_block - done, kernel->tile_channels);
            add_row(&cost, p, kernel, &b, in_block, channels, (double)repeat);
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
    const double waits = !is_fast_pointwise(p, kernel) ? 1 : streams ? 1.09 : 1.035;
    return small * waits * (cost.taps * taps + (cost.ends + masks) * (double)p->out_height) + group + copies +
           visit_cycles(p, kernel, cost.panel);
}

/* Multiply-adds of one group of one image. */
static double group_work(const problem *p)
{
    return valid_rows(p) * valid_columns(p) * (double)p->in_channels * (double)p->out_channels;
}

/* K waits for the lines of a strided input that the L2 does not hold where all channels share a set, most where there
 * is little to do with each; W's copy fetches them ahead (Zen 4: 16x320x320 32x3x3 s2 0.7 times W's speed, 3x288x288
 * 40x3x3 s2 0.94, but 24x112x112 40x3x3 s2 1.1; Zen 5: 64x320x320 32x2x2 s2 0.53, 16x320x320 16x3x3 s2 0.96). */
static double k_fetch_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const double bytes = (double)(p->in_channels * conv2d_rows_read(p)) * (double)p->in_width * sizeof(float);
    const bool waits = p->stride_w > 1 && (size_t)p->in.channel * sizeof(float) % 4096 == 0;
    const double lines = bytes / 64;
    const bool little = group_work(p) / (2 * (double)kernel->lanes) < 20 * lines;
    return waits && bytes >= 0.75 * (double)conv2d_cpu()->l2_bytes ? (little ? 50 : 12) * lines : 0;
}

/* The lines of as many output planes as a tile has channels share a set of the L1 (Zen 5, 16x128x128 32x3x3 0.84 times
 * W's speed, 32x224x224 64x3x3 0.93, 32x150x150 64x3x3 1.04). */
static double collision_factor(const problem *p)
{
    return conv2d_cpu()->two_wide_fmas && (size_t)p->out.channel * sizeof(float) % 4096 == 0 ? 1.6 : 1;
}

static double k_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const size_t most = kernel->tile_channels, vectors = divide_up(p->out_channels, kernel->lanes),
                 rest = vectors % most;
    const size_t pieces = conv2d_tiles_per_row(p, kernel), columns = divide_up(p->out_width, pieces);
    const double full = (double)(vectors / most), tiles = full + (rest ? 1 : 0);
    /* Blocks of a 1x1; those of 3x4 in larger kernels pay for what they cost. */
    const size_t blocks = conv2d_is_pointwise(p) ? conv2d_choose_blocking(p, kernel).channel_blocks : 1;
    const size_t block = divide_up(p->in_channels, blocks);
    const double per_tap = full * k_tile_cycles(p, kernel, most, columns, block) +
                           (rest ? k_tile_cycles(p, kernel, rest, columns, block) : 0);
    const double taps = valid_rows(p) * valid_columns(p) / (double)p->out_width * (double)p->in_channels;
    /* Cycles per 16 outputs: whole vectors of NHWC channels go straight to memory, NCHW is transposed. */
    const double store = p->out.channel == 1 ? 3 : kernel->lanes == 16 ? 7 * collision_factor(p) : 12;
    /* Tiles made for NCHW do not repeat themselves along a row (Zen 5, 1x512x512 16x3x3, NHWC: 0.48; AVX2, 150 1x1 of
     * NCHW 0.97). */
    const bool pointwise = is_fast_pointwise(p, kernel);
    const double start = kernel->stride_w && (p->out.channel == 1 || pointwise) ? 30 : 10;
    /* Sums that pass through memory are stored and loaded at two vectors a cycle or less. */
    const double ends = start * tiles + store * (double)vectors * (double)kernel->lanes / 16 * (double)columns +
                        (double)(blocks - 1) * (8 * tiles + 1.5 * (double)(vectors * columns));
    /* Narrow pieces of many output planes at a time (out_width >= 100) cost the store some misses. */
    const double wide = p->out_width >= 100 && p->out.channel != 1 ? 1.04 : 1.0;
    /* A row is `pieces` tiles of at most `columns`: the sum over them of what a tile of average width takes. */
    /* Bursts of 28 lines in two halves of 32 channels, where tiles do not fetch them before or hardly compute (AVX2 is
     * 1.1-1.7 times as fast in 1x572x572 64x3x3, but 0.76-0.89 times in 3x448x448 64x3x3; Zen 5: 0.77 in the first). */
    const bool hardly =
        p->in_channels * p->kernel_height * p->kernel_width < 12 && tiles > 1 && !conv2d_cpu()->two_wide_fmas;
    const bool waits = p->out.channel == 1 && kernel->lanes == 16 && vectors > 1 && (kernel->stride_w || hardly);
    const double burst = waits ? memory_cycles(p, 8) : 0;
    /* Of the lines of NHWC pixels a group needs but a part. */
    const bool part_lines = p->in.channel == 1 && p->groups > 1 && p->in_channels < 16;
    const double scattered = !part_lines ? 1 : p->stride_w == 1 ? 1.35 : 2;
    return (per_tap * taps * wide * scattered + ends * (double)p->out_height) * (double)p->out_width / (double)columns +
           burst + k_fetch_cycles(p, kernel) + visit_cycles(p, kernel, false);
}

static double peak_per_cycle(void)
{
    return conv2d_cpu()->two_wide_fmas ? 32 : 16;
}

double conv2d_predict_cycles(const ready_plan *plan)
{
    const problem *p = &plan->problem;
    return p->empty ? 0 : group_work(p) * (double)(p->batch * p->groups) / (plan->efficiency * peak_per_cycle());
}

static double family_cycles(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->family == CONV2D_FAMILY_W   ? w_cycles(p, kernel)
           : kernel->family == CONV2D_FAMILY_K ? k_cycles(p, kernel)
                                               : conv2d_predict_d(p, kernel);
}

/* Strided 1x1: the copy of the pixels that are read, and the dense convolution of them. */
static double subsampled_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const blocking b = conv2d_choose_blocking(p, kernel);
    const size_t pixels = p->out_height * p->out_width;
    problem dense;
    conv2d_make_subsampled(p, pixels, (size_t)b.subsampled_pitch, &dense);
    const double each = p->stride_w == 2 ? 0.65 : 0.9;
    return family_cycles(&dense, kernel) + (double)(p->in_channels * p->out_height) * (8 + each * (double)p->out_width);
}

double conv2d_predict_efficiency(const problem *p, const conv2d_kernel *kernel)
{
    if (p->empty || kernel->family == CONV2D_FAMILY_REFERENCE)
        return 0.002; /* a chain of scalar FMAs: one in four cycles, one lane of many */
    const double cycles = conv2d_subsamples(p, kernel) ? subsampled_cycles(p, kernel) : family_cycles(p, kernel);
    /* 1.015: what no tile avoids.  A loop over taps costs a test for each. */
    const double looped = kernel->kernel_width                                      ? 0
                          : kernel->family == CONV2D_FAMILY_W && kernel->lanes == 8 ? 0.06
                                                                                    : 0.01;
    const double overhead = 1.015 + looped;
    return group_work(p) / (cycles * overhead * peak_per_cycle());
}
