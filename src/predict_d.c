/* SPDX-License-Identifier: MIT */
/*
 * The cost model of family D; predict.c has the others.  Shuffles of stride 2, broadcasts and loads are in factors,
 * which are measured like the other constants (on Zen 5 the choice is 0.2 % slower than the best for 64 layers of
 * networks).
 */
#include "predict.h"
#include "run_d.h"

/* Of a float; 16 x 16 or 8 x 8 at a time. */
static double transpose_one(const conv2d_kernel *kernel)
{
    return kernel->lanes == 16 ? 0.35 : differs_from_zen4() ? 0.40 : 0.56;
}

/* A group's channels.  8 x 8 at a time takes as long for fewer (Zen 5, AVX2, choices by this 3x128x128 11x11 1.49,
 * 3x8x8 2x2 1.17); for 16 x 16 that would be too much (8x40x40 4x4 0.76, 72x56x56 7x7 s2 0.94). */
static double transposed_channels(const problem *p, const conv2d_kernel *kernel, size_t channels)
{
    if (kernel->lanes == 16)
        return real(channels);
    return real(divide_up(p->groups * channels, kernel->lanes) * kernel->lanes) / real(p->groups);
}

static double transpose_in_cycles(const problem *p, const conv2d_kernel *kernel)
{
    return transpose_one(kernel) * transposed_channels(p, kernel, p->in_channels) * real(p->in_height * p->in_width);
}

static double transpose_out_cycles(const problem *p, const conv2d_kernel *kernel)
{
    return transpose_one(kernel) * transposed_channels(p, kernel, p->out_channels) * real(p->out_height * p->out_width);
}

/* Of a group whose tensors are NCHW, with lanes along channels.  Lines evict each other where channels share a set. */
static double transpose_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const double shared = kernel->lanes == 8 && differs_from_zen4() ? 1.15 : 1.5;
    const double in_slow = p->in.channel % 1024 ? 1 : shared, out_slow = p->out.channel % 1024 ? 1 : shared;
    return (p->in.channel == 1 ? 0 : in_slow * transpose_in_cycles(p, kernel)) +
           (p->out.channel == 1 ? 0 : out_slow * transpose_out_cycles(p, kernel));
}

static bool is_two_wide(const conv2d_kernel *kernel)
{
    return kernel->lanes == 16 && conv2d_cpu()->two_wide_fmas;
}

static double fma_cycles(const conv2d_kernel *kernel)
{
    return kernel->lanes == 16 && !is_two_wide(kernel) ? 1 : 0.5;
}

/* What the tiles of `spread` cost, if one of n costs n + extra, in terms of what they would if all were the largest. */
static double uneven(const d_spread *spread, size_t outputs, size_t largest, double extra)
{
    double cost = 0;
    for (size_t i = 0; i < spread->pieces; i += i < spread->full ? spread->full : 1) {
        const double times = i < spread->full ? real(spread->full) : 1;
        cost += times * (real(d_piece_at(spread, i).count) + extra);
    }
    return cost / real(outputs) * real(largest) / (real(largest) + extra);
}

/* Lanes along channels: this is one group's share of a vector of groups. */
static double nhwc_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const size_t channels = p->groups * p->out_channels;
    const double part = real(divide_up(channels, kernel->lanes)) / real(p->groups) * real(p->in_channels);
    const bool wide = kernel->lanes == 16;
    /* Zen 3 permutes slowly: of groups 3x3 45 to 48 % of peak, with stride 2 26 to 30. */
    const bool permutes = d_orders_lanes(p) && !wide && has_small_l2();
    /* Zen 4: of planes 3x3 28 and 14 columns wide 68 % of peak, but 9 as tiles of 5 and 4 49 to 51. */
    const bool planes = d_orders_lanes(p) && p->in.column == 1 && is_avx2_on_zen4(kernel);
    /* Five and more taps use each input that is put in order often (Zen 5, 5x5 of 8 and 16 channels a group 82 to 94 %
     * of peak, with stride 2 82 to 86; 7x7 82 to 87). */
    const bool often = wide && p->in_channels > 1 && kernel->kernel_width >= 5;
    const double slow = often ? 1.05 : wide ? 1.1 : permutes ? 2.1 : planes ? 1.4 : 1.6;
    /* Zen 4: one row of taps over whole tiles (312x14x14 1x5 g312 1.2 times as fast as unrolled, 72x28x28 1.14, but 7
     * columns 0.98, 94 and 128 of one row 0.86 and 0.89). */
    const bool whole = p->out_width > kernel->tile_columns && p->out_width % kernel->tile_columns == 0;
    /* Zen 3: five and more of them (1x5 1.03 to 1.2 times as fast, 1x7 1.25 to 1.3, 5x1, which is a dilated row, 1.09;
     * but 3x3 maps 0.39, 1x3 0.99, 7x1 0.65 to 0.8). */
    const bool many = p->dilation_w == 1 ? p->kernel_width >= 5 && p->out_width >= 7 : p->kernel_width == 5;
    const bool long_row = p->kernel_height == 1 && many && has_small_l2() && !wide;
    const bool one_row = long_row || (p->kernel_height == 1 && p->kernel_width > 1 && whole && is_avx2_on_zen4(kernel));
    /* Each input is loaded once for three of them, but of groups with stride 2 (gen/family_d_nhwc_any.c). */
    const bool joined = wide && p->dilation_w == 1 && p->stride_w <= (d_orders_lanes(p) ? 1 : 2) && p->kernel_width > 1;
    const double looped = kernel->kernel_width ? 1 : one_row ? 0.95 : joined ? 1.2 : wide ? 1.4 : 1.45;
    const double ends = wide ? 3 : planes ? 5 : 2;
    /* Pixels far apart, each read anew for every tap (Zen 5: 30 % of peak, of tensors beyond the L2 14 %). */
    const bool apart =
        !kernel->kernel_width && !long_row && p->dilation_w > 1 && p->in.channel == 1 && p->out.channel == 1;
    const bool banded = !kernel->kernel_width && p->dilation_w > 1 && is_two_wide(kernel) && !apart;
    const double dilated = banded ? 1.25 : !apart ? 1 : wide ? 2.8 : 2;
    /* A shuffle for each 1.5 FMAs; K has broadcasts (Zen 5, 16 channels a group 0.93 times K's speed; AVX2,
     * 120x13x13 3x3 s2 0.9 times that of lanes along columns). */
    const bool shuffles = p->in_channels == 16 && !often && is_two_wide(kernel);
    /* Intel's shuffles take the port of an FMA unit: 36 of them beside the 84 FMAs of a tile's two rows (Emerald
     * Rapids, 16 channels a group: 69 % of peak, K 74 to 77; Zen's have ports of their own). */
    const double together = shuffles && wide && has_large_l2() ? 1.2 : 1;
    const double strided = p->stride_w == 1 ? together : often ? 1 : permutes ? 1.65 : shuffles || !wide ? 1.28 : 1.2;
    const d_spread columns = conv2d_spread_columns(kernel, p, conv2d_d_down(kernel, p));
    return conv2d_valid_rows(p) * conv2d_valid_columns(p) * part * fma_cycles(kernel) * slow * looped * dilated *
               strided * uneven(&columns, p->out_width, kernel->tile_columns, ends) +
           transpose_cycles(p, kernel) + 1;
}

/* Loops over taps: masks for each, or single loads of strided columns, and masks to make before the first (64x56x56
 * 1x1 g64 0.4 times W's speed). */
static double looped_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const bool wide = kernel->lanes == 16, gathers = p->stride_w != 1;
    const double vectors = real(divide_up(p->out_width, kernel->lanes));
    const double taps = conv2d_valid_rows(p) * real(p->kernel_width) * real(p->out_channels);
    const double each = (wide ? 1.1 : 1.6) * (gathers               ? (wide ? 1.4 : 1.6) * 2.0 * kernel->lanes
                                              : is_two_wide(kernel) ? 4.6
                                              : wide                ? 3.2
                                                                    : 5);
    const double least = (wide ? 12 : 15) * vectors * real(p->out_height * p->out_channels);
    const double all = taps * vectors * fma_cycles(kernel) * each;
    /* Zen 5, 16x28x28 3x3 d2: half the speed of bands of pixels, 32x112x112 0.75. */
    const double dilated = p->dilation_w > 1 && is_two_wide(kernel) ? 1.4 : 1;
    return dilated * (all > least ? all : least);
}

/* Vectors of columns of a row, in terms of those inside. */
static double row_vectors(const problem *p, const conv2d_kernel *kernel)
{
    const double vectors = real(divide_up(p->out_width, kernel->lanes));
    if (d_folds(kernel, p))
        return is_two_wide(kernel) ? 0.7 : 0.6;
    if (p->stride_w == 1 && p->out_width <= kernel->lanes / 2 && has_half(kernel))
        return 0.6;
    if (kernel->lanes == 16) { /* a half one at the end, which saves little where whole ones take as long */
        const size_t rest = (p->out_width - 1) % 16 + 1;
        /* Zen 5, 5x5 s2 with 18 or 19 outputs a row 0.82 to 0.95 times the speed of lanes along channels. */
        const bool shuffles = p->kernel_width == 5 && p->stride_w == 2 && rest <= 4;
        return vectors - (vectors < 2 || rest > 8 ? 0 : !is_two_wide(kernel) ? 0.4 : shuffles ? -0.1 : 0.15);
    }
    /* Those at a row's ends read their masks and blend. */
    const double masked = p->kernel_width == 3 ? 0.5 : 0.9;
    return vectors + masked * (vectors < 2 ? vectors : 2) + (p->kernel_width > 5 ? 0.25 * vectors : 0);
}

/*
 * With several input channels each vector asks for lines of many planes, which is worse if these are not in the L2.  Of
 * a first layer they are, unless rows share a few sets of the L1 (3x256x256 16x3x3 0.87 times W's speed, 3x224x224
 * 1.09); there it is the outputs that may go beyond all caches (3x224x224 64x3x3 1.08; at 3x416x416 W is faster).
 */
static double planes_factor(const problem *p, const conv2d_kernel *kernel)
{
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float);
    if (p->out_channels > 3) {
        const bool shares_sets = p->in.row % 256 == 0;
        const double waits = !shares_sets && p->out_channels * p->out_height * p->out_width <= 13 * l2 ? 1 : 1.3;
        return is_two_wide(kernel) ? 1.25 * waits : waits;
    }
    const bool stays = p->in_channels * p->in_height * p->in_width <= l2 || conv2d_wants_planes(p, kernel);
    /* Zen 5, AVX2, 8 to 64 input channels of 64x64 to 374x374: half the peak of AVX2 whatever the kernel's size. */
    if (kernel->lanes == 8 && (conv2d_cpu()->two_wide_fmas || (waits_like_zen3(kernel) && p->out_channels == 1)))
        return kernel->kernel_width == 5 ? 0.85 : stays ? 1.3 : 1.45;
    if (stays)
        return 1;
    const double waits = kernel->lanes == 8 ? 2.4 : kernel->kernel_width == 3 ? 1.3 : 1.12;
    return is_two_wide(kernel) ? 1.4 * waits : waits;
}

/* Two FMAs a cycle wait for loads where weights are not all in registers, and for those across lines, of which narrow
 * maps have fewer (Zen 5). */
static double loading_factor(const problem *p, const conv2d_kernel *kernel)
{
    const bool strips = !kernel->grouped && p->dilation_w == 1 && p->out_width > kernel->lanes;
    if (p->kernel_width == 3 && strips && shuffles_beside_fmas())
        return p->stride_w == 1 ? 1.6 : 2;
    if (p->kernel_width != 5)
        return p->kernel_width == 3 ? 1.1 : 1.65;
    return p->in_channels == 1 && p->stride_w == 1 ? 1.6 : 1.4;
}

/* Of one kernel row: loads, many of them across lines, and stores (Zen 5, AVX2, 3 taps on rows of 64 to 1000 columns
 * 2.1-2.8; of one tap AVX-512 3.8 cycles a vector, AVX2 3.0). */
static double line_factor(const conv2d_kernel *kernel)
{
    if (kernel->kernel_height > 1)
        return 1;
    return kernel->kernel_width > 1 ? 2.0 : kernel->lanes == 16 ? 4.6 : 2.6;
}

/* An FMA and a shuffle for each tap; at a border masks, too (Zen 5, 3 to 15 taps on 133 rows of 14 to 1000 columns).
 * Where one FMA begins in a cycle, both take two cycles of three units: reckoned, not measured. */
static double rolled_cycles(const problem *p, const conv2d_kernel *kernel)
{
    conv2d_stretch stretches[CONV2D_STRETCHES];
    conv2d_find_stretches(kernel, p, stretches);
    const double taps = real(p->kernel_width), inside = fma_cycles(kernel) < 1 ? 2.1 + 0.52 * taps : 1.35 * taps;
    const double at_border = real(stretches[0].at_border + stretches[1].at_border);
    const double whole = real(stretches[0].whole + stretches[0].at_end);
    const double row = 6 + at_border * ((kernel->lanes == 16 ? 2.5 : 6) + 1.3 * taps) + whole * inside;
    return real(p->out_channels) * (10 + real(p->out_height) * row);
}

/* A load for each tap, nearly all of them across lines (Zen 5, 57 of these). */
static double loaded_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const double vectors = real(divide_up(p->out_width, kernel->lanes)), taps = real(p->kernel_width);
    return real(p->out_channels) * (8 + real(p->out_height) * vectors * (3 + 1.2 * taps));
}

static bool loads_each_tap(const conv2d_kernel *kernel)
{
    return is_two_wide(kernel) && kernel->kernel_height == 1 && kernel->kernel_width > 1;
}

/* Of AVX2's 5x5, in terms of bands, which are predicted as slow (Zen 4).  A last vector that is not whole is apart from
 * the others inside; where so few columns of it are left, one more is at the border. */
static double down_5x5_cycles(const problem *p, const conv2d_kernel *kernel)
{
    enum { ONE_ROW = 3, FAR_L2S = 16 };
    const bool strided = p->stride_w == 2;
    const double border = strided ? 47 : 29, pair = strided ? 58 : 37, single = strided ? 50 : 28;
    const size_t vectors = divide_up(p->out_width, kernel->lanes), rest = p->out_width % kernel->lanes;
    const bool padded = (p->out_width - 1) * p->stride_w + p->kernel_width > p->in_width;
    const size_t most = rest && rest <= p->kernel_width / 2 / p->stride_w ? 3 : 2;
    const size_t at_border = padded || vectors == 1 ? min_size(vectors, most) : 0, inside = vectors - at_border;
    const size_t whole = inside && !padded && rest ? inside - 1 : inside;
    const bool ends = at_border > 1 && !(p->has_residual && rest); /* the first and the last are one */
    const double saved = !ends ? 0 : strided ? 18 : 14;
    const double row =
        border * real(at_border) - saved + pair * real(whole / 2) + single * real(inside - whole / 2 * 2);
    /* A tile of one row begins the sums of four others.  From memory (288x150x150 5x5 s2 0.83). */
    const double once = p->stride_h == kernel->stride_h ? 1 : ONE_ROW,
                 far = strided && exceeds_l2(p, FAR_L2S) ? 1.7 : 1;
    return real(p->out_channels) * (50 + real(p->out_height) * row * once * far);
}

/* Of AVX2's 3x3 whose sums roll down: vectors at a row's ends, pairs of others, and one that is left (Zen 3).  With
 * other strides than the kernel's each row is a tile. */
static double down_cycles(const problem *p, const conv2d_kernel *kernel)
{
    if (kernel->kernel_height > 3)
        return down_5x5_cycles(p, kernel);
    const size_t vectors = divide_up(p->out_width, kernel->lanes);
    const size_t ends = divide_up((p->kernel_width / 2) * p->dilation_w, kernel->lanes) * 2;
    const bool padded = (p->out_width - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w >= p->in_width;
    const size_t at_border = padded || vectors == 1 ? min_size(vectors, ends) : 0;
    const size_t inside = vectors - at_border, pairs = inside / 2;
    const double border = p->stride_w == 1 ? 7 : 12, pair = p->stride_w == 1 ? 11 : 20;
    const double row = border * real(at_border) + pair * real(pairs) + 0.6 * pair * real(inside % 2);
    const bool apart = p->stride_h != kernel->stride_h;
    const double spans = real(at_border + (inside ? 1 : 0));
    const double tiles =
        apart ? 2 * real(p->out_height) : real(d_row_step(kernel, p) * divide_up(p->out_height, d_rows_down(p)));
    return real(p->out_channels) * (6 + real(p->out_height) * row + 8 * spans * tiles);
}

/* Cycles of a row of a single vector; of others each of its strips and vectors. */
typedef struct strip_costs {
    double alone, strip, vector;
} strip_costs;

static double strips_row(const strip_costs *costs, size_t strips, size_t vectors)
{
    return vectors == 1 ? costs->alone : costs->strip * real(strips) + costs->vector * real(vectors);
}

/*
 * AVX-512's sums that roll down, strips of several vectors of columns (Zen 5).  Several strips a row ask memory for a
 * part of each row at a time (of tiles of rows 288x150x150 5x5 s2 0.59, 144x228x228 3x3 s2 0.76, 384x128x128 0.83; of
 * less than 24 MB 1.0 to 1.4).  Where shuffles take the FMAs' ports, or one FMA begins in a cycle: reckoned, not
 * measured.  Costs are those of strides 1 and 2, and of 3, 5 and 7 taps.
 */
static double strips_cycles(const problem *p, const conv2d_kernel *kernel)
{
    enum { FAR_L2S = 24, WIDEST_KERNEL = 5 };
    static const strip_costs costs[2][3] = {{{6.3, 1.6, 4.7}, {15, 4, 12.6}, {30, 5, 24.5}},
                                            {{11.5, 2, 9.5}, {30, 10, 13.5}, {46, 22, 24}}};
    const size_t vectors = divide_up(p->out_width, kernel->lanes), strips = divide_up(vectors, kernel->tile_columns);
    const double row = strips_row(&costs[p->stride_w - 1][kernel->kernel_width / 2 - 1], strips, vectors);
    const double begin = 10 + real(p->kernel_height * p->kernel_width * strips);
    const double rows = real(p->out_height) * (p->stride_h > p->stride_w ? 1.1 : 1); /* of two input rows */
    const bool waits = strips > 1 && kernel->kernel_width <= WIDEST_KERNEL && exceeds_l2(p, FAR_L2S);
    const double slow = !shuffles_beside_fmas() ? 2.4 : waits ? 1.8 : 1;
    return real(p->out_channels) * (begin + rows * row) * slow;
}

/*
 * Of one kernel row (Zen 5, 92x28x28 1x5 2.6, 384x14x14 2.2, 256x56x56 1x3 2.0, 16x56x56 1x11 1.5 times as fast as what
 * loads each tap, or rolls them; from 160 columns on rolled taps are as fast, with 320 and with tensors from memory
 * faster: 16x320x320 1x3 0.89, 128x224x224 0.66); costs are those of 3, 5, 7 and 11 taps.
 */
static double line_strips_cycles(const problem *p, const conv2d_kernel *kernel)
{
    enum { FAR_L2S = 24, SOME_STRIPS = 2 };
    static const strip_costs costs[] = {{4.5, 3.1, 2.4}, {4.8, 3.2, 2.9}, {12, 9.8, 3.4}, {19.4, 10.5, 7}};
    const size_t vectors = divide_up(p->out_width, kernel->lanes), strips = divide_up(vectors, kernel->tile_columns);
    const double row = strips_row(&costs[min_size(kernel->kernel_width / 2 - 1, 3)], strips, vectors);
    const bool waits = strips > 1 && exceeds_l2(p, FAR_L2S);
    const double slow = !shuffles_beside_fmas() ? 2.4 : waits ? 3.5 : strips > SOME_STRIPS ? 1.5 : 1;
    return real(p->out_channels) * ((strips == 1 ? 6 : 16 * real(strips)) + real(p->out_height) * row) * slow;
}

static double unrolled_cycles(const problem *p, const conv2d_kernel *kernel)
{
    const bool wide = kernel->lanes == 16;
    const double slow = is_two_wide(kernel) ? loading_factor(p, kernel) : wide ? 1.1 : p->kernel_width == 3 ? 1.6 : 2.4;
    const double strided = p->stride_w == 1 ? 1 : wide ? 1.4 : 1.6;
    const double slower = kernel->grouped ? planes_factor(p, kernel) : line_factor(kernel);
    const double channels = real(p->in_channels * p->out_channels) * slower;
    const double taps = conv2d_valid_rows(p) * real(p->kernel_width) * channels;
    const d_spread rows = conv2d_spread_rows(kernel, p);
    return taps * row_vectors(p, kernel) * fma_cycles(kernel) * slow * strided *
           uneven(&rows, divide_up(p->out_height, d_row_step(kernel, p)), kernel->tile_channels,
                  0.6 * real(p->kernel_height - 1));
}

double conv2d_predict_d(const problem *p, const conv2d_kernel *kernel)
{
    if (kernel->nhwc) {
        const bool phased = conv2d_has_phases(p, kernel);
        const double first = 500.0 / real(p->batch * p->groups); /* before the first tile */
        problem phase = *p;
        if (phased) /* the first is the largest */
            conv2d_make_phase(p, 0, 0, &phase);
        const double cycles = nhwc_cycles(&phase, kernel);
        if (!phased)
            return first + cycles;
        /* Before the first tile of each, for each chunk of channels of a band. */
        const blocking b = conv2d_choose_blocking(p, kernel);
        const size_t chunk = b.band_rows ? min_size(p->groups, b.chunk_channels) : p->groups;
        const double each = 300.0 / real(p->batch * chunk);
        return first + real(p->dilation_h * p->dilation_w) * (cycles + each);
    }
    /* Many channels in turn are many streams, that AVX-512 waits for (1x512x512 16x3x3 1.6 times as long as W), and
     * AVX2's sums that roll down (Zen 3, the same 1.6, 1x572x572 64x3x3 1.4). */
    const double line = kernel->lanes == 16 ? 9 : kernel->rolls_down ? 18 : 0;
    const double memory = p->out_channels > 1 ? memory_cycles(p, line) : 0;
    /* Before the first tile (1x5x5 1x3x3 0.62 times K's speed). */
    const double before = 250.0 / real(p->batch * p->groups);
    const double planes = conv2d_wants_planes(p, kernel) ? transpose_in_cycles(p, kernel) : 0;
    const bool has_line_strips = d_has_strips(kernel) && kernel->kernel_height == 1;
    const double cycles = kernel->rolls            ? rolled_cycles(p, kernel)
                          : has_line_strips        ? line_strips_cycles(p, kernel)
                          : d_has_strips(kernel)   ? strips_cycles(p, kernel)
                          : kernel->rolls_down     ? down_cycles(p, kernel)
                          : loads_each_tap(kernel) ? loaded_cycles(p, kernel)
                          : kernel->kernel_width   ? unrolled_cycles(p, kernel)
                                                   : looped_cycles(p, kernel);
    return cycles + planes + memory + before + 10;
}
