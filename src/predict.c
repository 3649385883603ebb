/* SPDX-License-Identifier: MIT */
/*
 * The cost model that chooses between kernels: cycles of a tile per tap, its start and end, and what misses the L1.
 * It is a closed formula over the fields of a kernel's row and the problem; the constants are Zen 4's
 * (docs/design.md, "Selection", has the measurements).
 */
#include "predict.h"

static double valid_along(size_t outputs, size_t stride, size_t dilation, size_t taps, size_t pad, size_t extent)
{
    const size_t step = taps / 256 + 1;
    double sum = 0;
    for (size_t tap = 0; tap < taps; tap += step) {
        const tap_range r = valid_taps((ptrdiff_t)(tap * dilation) - (ptrdiff_t)pad, stride, outputs, extent);
        sum += real(r.end - r.begin);
    }
    return sum * real(step);
}

double conv2d_valid_rows(const problem *p)
{
    return valid_along(p->out_height, p->stride_h, p->dilation_h, p->kernel_height, p->pad_top, p->in_height);
}

double conv2d_valid_columns(const problem *p)
{
    return valid_along(p->out_width, p->stride_w, p->dilation_w, p->kernel_width, p->pad_left, p->in_width);
}

/*
 * Cycles per tap that a tile of so many bytes of input columns waits for the L2, once per channel and kernel row and
 * so much a cache line, if what all channels read does not stay in the L1.  It does not if it is too much, or if the
 * channels lie a multiple of a high power of two apart, so that their lines share a few of the 64 sets.  Channels that
 * share pages are fetched ahead (AVX2 1x1: 512x13x13 waits for nothing, 512x28x28 for 0.7 of it).
 */
double conv2d_miss_cycles(const problem *p, double column_bytes, double line_cycles)
{
    if (p->in.channel == 1) /* a pixel's line serves 16 channels; blocking_k.c keeps pixels from colliding */
        return 0;
    const double lines = column_bytes / 64 + 1, wanted = real(p->in_channels * p->kernel_height) * lines;
    const size_t pitch = (size_t)p->in.channel * sizeof(float), ways = conv2d_cpu()->l1_bytes / 4096;
    size_t sets = 64;
    while (sets > 1 && pitch % (64 * 64 / sets * 2) == 0)
        sets /= 2;
    const double room = real(ways * min_size(64, sets * p->kernel_height)) * (sets == 64 ? 1 : lines);
    const double pages = p->kernel_height > 1 ? 1 : real(min_size(pitch, 4096)) / 4096;
    return wanted > room ? line_cycles * lines * pages / real(p->kernel_width) : 0;
}

/* Tiles of a strided 1x1 over planes find few columns in a line, and each line of inputs or weights takes 2.3 cycles
 * from the L2 (Zen 5, 256x14x14 512x1x1 s2 in place: 81 % of peak, on a copy 90), if they do not stay in the L1. */
static double strided_cycles(const problem *p, const conv2d_kernel *kernel, size_t vectors, size_t columns,
                             size_t in_channels)
{
    if (p->kernel_width > 1 || p->stride_w == 1 || p->in.column != 1)
        return 0;
    const double lines = real(vectors * kernel->lanes) / 16 + real(columns * p->stride_w) / 16 + 1;
    if (waits_like_zen3(kernel)) /* in any case: 128x28x28 256x1x1 s2 in place 0.73 times W's speed */
        return 3 * lines;
    return lines * real(in_channels) * 64 > 0.75 * real(conv2d_cpu()->l1_bytes) ? 2.3 * lines : 0;
}

/*
 * AVX2 on Zen 4, an odd number of vectors whose weights stay in the L2: tiles of 2x6 leave one vector, whose six sums
 * wait for each other longer than a chain takes, and those of 3x4 wait for their weights no more than they do (1x1 of
 * 240x14x14 72 1.05, 720x17x17 120 1.03, of all 24x112x112 24x3x3 1.14).  Of even numbers 2x6 is as fast or faster
 * (192x56x56 48x3x3 1.04), and so of weights from the L3 (1024x5x5 2048x1x1 1.3).
 */
static bool leaves_one(const problem *p, const conv2d_kernel *kernel)
{
    const size_t weights = p->in_channels * p->kernel_height * p->kernel_width * p->out_channels;
    return is_avx2_on_zen4(kernel) && divide_up(p->out_channels, kernel->lanes) % 2 == 1 &&
           weights * sizeof(float) <= conv2d_cpu()->l2_bytes / 2;
}

static double k_tile_cycles(const problem *p, const conv2d_kernel *kernel, size_t vectors, size_t columns,
                            size_t in_channels)
{
    /* One broadcast for each FMA (AVX2 1x12) is more than two a cycle: 64x56x56 16x3x3 0.75 times the speed of 2x6. */
    const bool pixels = has_small_l2() && conv2d_is_pointwise(p); /* Zen 3, 256x32x32 6x1x1 0.84 times W's speed */
    const double crowded = kernel->lanes != 8 || vectors > 1 ? 1 : pixels ? 1.4 : 1.1;
    const double loads = 0.5 * crowded * real(kernel->lanes / 8 * vectors + columns);
    /* A small tile asks for its weights so often that it waits for them if they are in the L2.  Of several vectors, and
     * larger kernels, those of 18 KiB stay in an L1 of 32 (Zen 4, groups of 32 channels: 3x3 s2 @14 1.11 by 2x6 instead
     * of 1x12, @7 1.03; 48->96 @56 2x2 s2 1.04 by 3x4). */
    const size_t asked = leaves_one(p, kernel) ? min_size(vectors, 2) : vectors;
    const size_t weights = in_channels * p->kernel_height * p->kernel_width * asked * kernel->lanes;
    const size_t room = conv2d_cpu()->l1_bytes / 16 * (vectors > 1 && !conv2d_is_pointwise(p) ? 10 : 8);
    const bool weights_miss = kernel->lanes == 8 && weights * sizeof(float) > room;
    const double taps = tap_cycles(real(vectors * columns), loads, kernel);
    const double strided = strided_cycles(p, kernel, vectors, columns, in_channels);
    return (taps > strided ? taps : strided) + (weights_miss ? 0.25 * real(asked) : 0) +
           (conv2d_transposes_planes(p, kernel) ? 0 : conv2d_miss_cycles(p, real(columns * p->stride_w * 4), 0.8));
}

/* A row is cut into even pieces, some of which are a column wider than the others. */
static double k_row_cycles(const problem *p, const conv2d_kernel *kernel, size_t vectors, size_t in_channels)
{
    const size_t pieces = conv2d_tiles_per_row(p, kernel), columns = p->out_width / pieces,
                 wider = p->out_width % pieces;
    return real(pieces - wider) * k_tile_cycles(p, kernel, vectors, columns, in_channels) +
           (wider ? real(wider) * k_tile_cycles(p, kernel, vectors, columns + 1, in_channels) : 0);
}

/* AVX2, 1x1, NCHW: the first output channels of some columns wait for their input; what a panel's copy costs more.  One
 * channel is read in a row (Zen 5, 64x64x64 1x1 g64 0.26 times the time of lanes along channels). */
double conv2d_visit_cycles(const problem *p, const conv2d_kernel *kernel, bool panel)
{
    if (p->in_channels * p->out_channels == 1 || kernel->lanes != 8 || !conv2d_is_pointwise(p) || p->in.column != 1)
        return 0;
    /* Zen 5: 64x128x128 32x1x1 1.28 times K's speed; Zen 4, whose tiles copy: 48x160x160 24x1x1 1.3, 144x95x95 32x1x1
     * 1.08, but 384x13x13 48x1x1 0.91. */
    const bool fills_long_rows = !differs_from_zen4() && p->out_width >= 4096;
    const double copied = conv2d_cpu()->two_wide_fmas ? 0.7 : fills_long_rows ? 0.5 : 0.85;
    return (panel ? copied : 0.4) * real(p->in_channels * p->out_height) * real(p->out_width);
}

/* Multiply-adds of one group of one image. */
static double group_work(const problem *p)
{
    return conv2d_valid_rows(p) * conv2d_valid_columns(p) * real(p->in_channels) * real(p->out_channels);
}

/* K waits for the lines of a strided input that the L2 does not hold where all channels share a set, most where there
 * is little to do with each; W's copy fetches them ahead (Zen 4: 16x320x320 32x3x3 s2 0.7 times W's speed, 3x288x288
 * 40x3x3 s2 0.94, but 24x112x112 40x3x3 s2 1.1; Zen 5: 64x320x320 32x2x2 s2 0.53, 16x320x320 16x3x3 s2 0.96).  Planes
 * become pixels in 0.61 to 0.73 cycles a float (Zen 3, 3x3 s2, inputs in the L3; from memory 2.3), those of a 1x1 whose
 * copy the L2 does not hold in 1.2. */
static double k_fetch_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const double bytes = real(p->in_channels * conv2d_rows_read(p)) * real(p->in_width) * sizeof(float);
    const bool far = has_small_l2() && conv2d_is_pointwise(p) && bytes > real(conv2d_cpu()->l2_bytes);
    if (conv2d_transposes_planes(p, kernel))
        return (far ? 1.2 : 0.65) * bytes / sizeof(float);
    const bool waits = p->stride_w > 1 && (size_t)p->in.channel * sizeof(float) % 4096 == 0;
    const double lines = bytes / 64;
    const bool little = group_work(p) / (2 * real(kernel->lanes)) < 20 * lines;
    return waits && bytes >= 0.75 * real(conv2d_cpu()->l2_bytes) ? (little ? 50 : 12) * lines : 0;
}

/* The lines of as many output planes as a tile has channels share a set of the L1 (Zen 5, 16x128x128 32x3x3 0.84 times
 * W's speed, 32x224x224 64x3x3 0.93, 32x150x150 64x3x3 1.04). */
static double collision_factor(const problem *p)
{
    return conv2d_cpu()->two_wide_fmas && planes_collide(p) ? 1.6 : 1;
}

/*
 * How long AVX2's 1x1 waits for its input.  Zen 5: half as long (156 of NCHW: 1.1 % from the best kernels, so 0.7), but
 * not for memory, where W fetches it (run_w_fetch.c; 64x300x300 8x1x1 0.49, 24x1x1 0.65 times W's speed).  Zen 3: not
 * long for many channels from the L3 (144x56x56 24x1x1 1.15 times W's speed, but 1504x8x8 128x1x1 0.86); Zen 4: to few
 * (48x160x160 24x1x1 1.2, 128x55x55 16x1x1 1.1 to 1.2, but 256x56x56 64x1x1 0.96).
 */
static double k_visit_factor(const problem *p, const conv2d_kernel *kernel)
{
    enum { FEW_OUT = 24 };
    const size_t many = (size_t)3 * CONV2D_OC_BLOCK, floats = p->in_channels * p->in_height * p->in_width;
    const bool soon = has_small_l2() || (waits_like_zen3(kernel) && p->out_channels <= FEW_OUT);
    if (is_fast_pointwise(p, kernel))
        return exceeds_l2(p, 12) ? 2.5 : 0.5;
    return soon && p->in_channels >= many && floats > conv2d_cpu()->l2_bytes / sizeof(float) ? 0.3 : 1;
}

/* How many times as long tiles take that use but part of the lines of NHWC pixels, as those of small groups do. */
static double k_scatter_factor(const problem *p, const conv2d_kernel *kernel)
{
    const size_t apart = (size_t)p->in.column * sizeof(float);
    const bool pages = apart % 4096 == 0; /* Zen 5, AVX2, 1024x8x8 3x3 g128 0.48 */
    /* Zen 3, 512x14x14 3x3 g64 0.47; Zen 4, AVX2, 1536x8x8 3x3 g192 0.41. */
    const bool crowded = waits_like_zen3(kernel) && apart * p->stride_w % 2048 == 0;
    /* Zen 4, AVX2, 3x3 s2: 360x16x16 g45 1.2, 200x30x30 g25 1.07, but 576x24x24 g72 0.96. */
    const bool spread = is_avx2_on_zen4(kernel) && apart * p->stride_w % 512 != 0;
    if (p->in.channel != 1 || p->groups == 1 || p->in_channels >= 16)
        return 1;
    /* Or their pixels are copied, or all groups find them in the L2 (blocking_k.c). */
    const bool copied = has_small_l2() && kernel->lanes == 8 && p->in_channels >= 8;
    if (p->stride_w != 1)
        return crowded && !copied ? 4.3 : spread ? 1.72 : 2;
    return (pages || crowded) && !copied ? 2.7 : 1.35;
}

/* AVX2 on Zen 4, planes of small groups: each has tiles of its own, which wait for each other's lines (a 3x3 of 8
 * channels takes 1.2 to 1.4 times what its loads do, where planes share sets up to 1.6; on pixels 152x14x14 g19 1.3,
 * 256x28x28 g32 1.18, but 1536x8x8 g192 0.8). */
static double k_small_groups_factor(const problem *p, const conv2d_kernel *kernel)
{
    if (p->in.column != 1 || p->groups == 1 || p->in_channels > 8 || p->out_channels > 8 || p->stride_w > 1 ||
        !is_avx2_on_zen4(kernel))
        return 1;
    return planes_collide(p) || p->dilation_w > 1 ? 1.5 : 1.16;
}

/* AVX2's 1x1 of NHWC on Zen 4: what ends a tile of 12 sums of 32 bytes takes an eighth of what one of 28 of 64 bytes
 * needs (16x112x112 64x1x1 10 of 106 cycles, 85 of 533), where no sums of half a vector go over a buffer and the
 * outputs, which they do not fetch, are in the caches (12x330x330 48x1x1 0.83 times AVX-512's speed). */
static bool ends_early(const problem *p, const conv2d_kernel *kernel)
{
    return is_avx2_on_zen4(kernel) && conv2d_is_pointwise(p) && p->out.channel == 1 && p->out_channels % 8 == 0 &&
           !exceeds_l2(p, 8);
}

/*
 * Zen 3, short sums of NHWC: tiles of 3x4 have 7 loads for 12 FMAs, two of 2x4 12 for 16, which takes longer while the
 * core's other thread is busy (259 layers of networks, 1x1 of 16 to 80 channels and patches: 3x4 1.11 times as fast,
 * the fastest calls 1.04), most where each tap is a turn of a loop (1x270x480 56x5x5, 3x384x384 352x4x4 s4 1.35).
 * Not in a 3x3 of 3 channels (0.99), nor where a 1x1 waits for its outputs (32x112x112 168x1x1 0.83).
 */
static bool counts_loads(const problem *p)
{
    const bool waits = p->kernel_width == 1 && exceeds_l2(p, 12);
    return p->in.channel == 1 && p->kernel_width != 3 && p->kernel_width != 2 && !waits;
}

static bool spares_loads(const problem *p, const conv2d_kernel *kernel)
{
    enum { FEWEST_TAPS = 16 };
    return conv2d_ends_soon(p, kernel) && kernel->tile_channels == 3 && counts_loads(p) &&
           p->out_channels > (size_t)2 * kernel->lanes &&
           p->in_channels * p->kernel_height * p->kernel_width >= FEWEST_TAPS;
}

static double k_busy_factor(const problem *p, const conv2d_kernel *kernel)
{
    if (!conv2d_ends_lightly(p, kernel) || !counts_loads(p))
        return 1;
    return kernel->kernel_width ? 1.05 : 1.2;
}

/*
 * AVX-512, two FMAs a cycle: 2x14 has 16 loads for 28 FMAs, 4x6 10 for 24.  It ends sums of few products sooner and
 * writes pixels of 64 channels whole (Zen 5, 3x3 of 1 channel 1.09, of 3 1.02 to 1.07, of 8 1.025, of 16 1.007, of more
 * 1.00), and has more sums on maps of 3 to 5 columns (32 to 1024 channels 1.03 to 1.25; of 2 0.94 to 0.97).  Not
 * measured on another CPU.
 */
static double k_few_loads_factor(const problem *p, const conv2d_kernel *kernel)
{
    enum { WHOLE = 4, FEW_IN = 8, NARROWEST = 3, NARROW = 5, NEVER = 4 };
    const size_t vectors = divide_up(p->out_channels, kernel->lanes);
    const bool first = p->out.channel == 1 && p->in_channels <= FEW_IN;
    const bool narrow = p->out_width >= NARROWEST && p->out_width <= NARROW;
    const bool whole = p->out_channels % kernel->lanes == 0 && vectors % WHOLE == 0;
    if (kernel->lanes != CONV2D_OC_BLOCK || kernel->tile_channels != WHOLE)
        return 1;
    const bool measured = conv2d_cpu()->two_wide_fmas && !has_large_l2();
    return measured && whole && (first || narrow) ? 0.85 : NEVER;
}

/* What a row's tiles of two vectors gain where columns share the second one: a quarter of their FMAs, but for borders
 * that have no such tiles. */
static double k_halved_cycles(const problem *p, const conv2d_kernel *kernel, size_t in_channels)
{
    const size_t pieces = conv2d_tiles_per_row(p, kernel), columns = p->out_width / pieces;
    if (!k_halves(p, kernel) || !tile_of(kernel, 2, columns)->variant[CONV2D_HALVED])
        return 0;
    const bool plain = kernel->kernel_width > 1 && !tile_of(kernel, 2, columns)->variant[CONV2D_HALVED | CONV2D_BOTH];
    const double inner = plain ? real(pieces - min_size(pieces, 2)) / real(pieces) : 1;
    return 0.25 * inner * k_row_cycles(p, kernel, 2, in_channels);
}

static double k_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const size_t most = kernel->tile_channels, vectors = divide_up(p->out_channels, kernel->lanes),
                 rest = vectors % most;
    const size_t pieces = conv2d_tiles_per_row(p, kernel), columns = divide_up(p->out_width, pieces);
    const double full = real(vectors / most), tiles = full + (rest ? 1 : 0);
    /* Blocks of a 1x1; those of 3x4 in larger kernels pay for what they cost. */
    const size_t blocks = conv2d_is_pointwise(p) ? conv2d_choose_blocking(p, kernel).channel_blocks : 1;
    const size_t block = divide_up(p->in_channels, blocks);
    const double latency = leaves_one(p, kernel) ? 1.17 : 1;
    const double per_tap = full * k_row_cycles(p, kernel, most, block) +
                           (rest ? latency * k_row_cycles(p, kernel, rest, block) : 0) -
                           k_halved_cycles(p, kernel, block);
    const double taps = conv2d_valid_rows(p) * conv2d_valid_columns(p) / real(p->out_width) * real(p->in_channels);
    /* Cycles per 16 outputs: whole vectors of NHWC channels go straight to memory, NCHW is transposed. */
    const bool light = conv2d_ends_lightly(p, kernel), three = spares_loads(p, kernel);
    const bool early = ends_early(p, kernel);
    const double store = light || three || early ? 1
                         : p->out.channel == 1   ? 3
                         : kernel->lanes == 16   ? 7 * collision_factor(p)
                                                 : 12;
    /* Tiles made for NCHW do not write NHWC without a buffer (Zen 5, 1x512x512 16x3x3 0.48). */
    const bool half = full < 2 && rest; /* Zen 3, 8x12x96 24x1x1 of NHWC 0.85 times the speed of 3x4 */
    const double start = kernel->stride_w && p->out.channel == 1 ? 30 : (light && !half) || three ? 0 : early ? 6 : 10;
    /* Sums that pass through memory are stored and loaded at two vectors a cycle or less. */
    const double ends = start * tiles + store * real(vectors) * real(kernel->lanes) / 16 * real(columns) +
                        real(blocks - 1) * (8 * tiles + 1.5 * real(vectors * columns));
    /* Narrow pieces of many output planes at a time (out_width >= 100) cost the store some misses. */
    const double wide = p->out_width >= 100 && p->out.channel != 1 ? 1.04 : 1.0;
    /* Bursts of 28 lines in two halves of 32 channels, where tiles do not fetch them before or hardly compute (AVX2 is
     * 1.1-1.7 times as fast in 1x572x572 64x3x3 if the lines are read before they are written, but 0.76-0.89 times in
     * 3x448x448 64x3x3; Zen 5: 0.77 in the first). */
    const bool hardly = p->in_channels * p->kernel_height * p->kernel_width < 12 && tiles > 1 &&
                        !conv2d_cpu()->two_wide_fmas && !k_may_stream(p, kernel);
    const bool waits = p->out.channel == 1 && kernel->lanes == 16 && vectors > 1 && (kernel->stride_w || hardly);
    const double burst = waits ? memory_cycles(p, 8) : 0;
    const bool in_place = !conv2d_transposes_planes(p, kernel);
    const double far = conv2d_planes_thrash(p, kernel) && in_place ? 1.4 : 1;
    const double visit = in_place ? k_visit_factor(p, kernel) * conv2d_visit_cycles(p, kernel, false) : 0;
    return k_few_loads_factor(p, kernel) * per_tap * taps * wide * k_busy_factor(p, kernel) *
               k_scatter_factor(p, kernel) * k_small_groups_factor(p, kernel) * far +
           ends * real(p->out_height) * real(p->out_width) / real(columns) + burst + k_fetch_cycles(p, kernel) + visit;
}

static double peak_per_cycle(void)
{
    return conv2d_cpu()->two_wide_fmas ? 32 : 16;
}

double conv2d_predict_cycles(const ready_plan *plan)
{
    const problem *p = &plan->problem;
    return p->empty ? 0 : group_work(p) * real(p->batch * p->groups) / (plan->efficiency * peak_per_cycle());
}

static double family_cycles(const problem *p, const conv2d_kernel *kernel)
{
    switch (kernel->family) {
    case CONV2D_FAMILY_W:
        return conv2d_predict_w(p, kernel);
    case CONV2D_FAMILY_K:
        return k_cycles(p, kernel);
    case CONV2D_FAMILY_F:
        return conv2d_predict_f(p, kernel);
    default:
        return conv2d_predict_d(p, kernel);
    }
}

/* Strided 1x1: the copy of the pixels that are read, and the dense convolution of them. */
static double subsampled_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const blocking b = conv2d_choose_blocking(p, kernel);
    const size_t pixels = p->out_height * p->out_width;
    problem dense;
    conv2d_make_subsampled(p, pixels, (size_t)b.subsampled_pitch, &dense);
    const double each = p->stride_w == 2 ? 0.65 : 0.9;
    /* W's tiles of 4 channels read a copy in the L3 most often (Zen 3, 1536x28x28 1536x1x1 s2 0.81 times K's speed). */
    const bool far = kernel->family == CONV2D_FAMILY_W && has_small_l2() && b.workspace > conv2d_cpu()->l2_bytes / 4;
    const double copy = p->in.column == 1 ? real(p->in_channels * p->out_height) * (8 + each * real(p->out_width))
                                          : 0.25 * real(p->in_channels * pixels);
    return (far ? 1.25 : 1) * family_cycles(&dense, kernel) + copy;
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
