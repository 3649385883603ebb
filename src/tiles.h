/* SPDX-License-Identifier: MIT */
/* A kernel's tiles, found by their size; what the loops of the families share. */
#ifndef CONV2D_TILES_H
#define CONV2D_TILES_H

#include "plan.h"

/* Of a cache line, which a prefetch asks for. */
enum { LINE_FLOATS = 16 };

/* 512 KiB of Zen 2 and 3, and less.  What follows from it was measured on Zen 3 only. */
static inline bool has_small_l2(void)
{
    return conv2d_cpu()->l2_bytes < 1 << 20;
}

/* What was measured on Zen 3, and of AVX2 on Zen 4 as well (an L2 of 1 MiB, FMAs of 256 bits). */
static inline bool waits_like_zen3(const conv2d_kernel *kernel)
{
    return has_small_l2() || (kernel->lanes == 8 && !conv2d_cpu()->two_wide_fmas);
}

/* 2 MiB of Sapphire and Emerald Rapids, whose L3 is far away: 12 to 15 GB/s a core.  What follows from it was measured
 * on Emerald Rapids only. */
static inline bool has_large_l2(void)
{
    return conv2d_cpu()->two_wide_fmas && conv2d_cpu()->l2_bytes >= 2 << 20;
}

/* Of Zen 5, and of Zen 3, where AVX2's transposes are faster than the model's constants, and W waits for strided rows
 * from the L3. */
static inline bool differs_from_zen4(void)
{
    return conv2d_cpu()->two_wide_fmas || has_small_l2();
}

static inline bool is_avx2_on_zen4(const conv2d_kernel *kernel)
{
    return kernel->lanes == 8 && !differs_from_zen4();
}

/* Whether input and output together take more than so many times the L2. */
static inline bool exceeds_l2(const problem *p, size_t times)
{
    const size_t in = p->in_channels * p->in_height * p->in_width, out = p->out_channels * p->out_height * p->out_width;
    return (in + out) * p->groups * p->batch > conv2d_cpu()->l2_bytes / sizeof(float) * times;
}

/* K: whether groups visit the same pixels one right after the other. */
static inline bool groups_follow(const blocking *b)
{
    return b->groups_inside > 1 || b->tile_chunks == 1;
}

/*
 * K: whether its tiles may write an output past the caches, if that is aligned: one of whole lines, so large that
 * little of it would be left in the last cache, and of so few products that the tiles wait for memory (Zen 4, AVX-512,
 * L3 of 32 MiB: 12->48 @330 1x1, 21 MB, 1.23; 3->64 @448 3x3 1.1, 32->32 @512 1x1 and 64->64 @570 3x3 0.99).  AVX2
 * writes lines in halves, which pays on Zen 3 where products are fewest (1->64 @572 3x3 1.14 to 1.42, 12->48 @330 1x1
 * 1.2 to 1.6, 16->32 @320 1x1 1.03 to 1.5; 3->64 @448 3x3 0.95 to 1.06, 8->32 @400 3x3 0.9), but not on Zen 4 (32->32
 * @512 1x1 0.69).
 */
static inline bool k_may_stream(const problem *p, const conv2d_kernel *kernel)
{
    enum { STREAMED_L2S = 24, FEW_PRODUCTS = 100, FEWEST_PRODUCTS = 20 };
    const size_t floats = p->out_channels * p->out_height * p->out_width * p->groups * p->batch;
    const bool once = !p->has_residual && p->curve == CONV2D_NONE;
    const bool halves = has_small_l2() && kernel->tile_channels == 2;
    const size_t few = kernel->lanes == 16 ? FEW_PRODUCTS : halves ? FEWEST_PRODUCTS : 0;
    return kernel->stride_w == 0 && p->out.channel == 1 && once && p->out_channels % LINE_FLOATS == 0 &&
           p->in_channels * p->kernel_height * p->kernel_width < few &&
           floats > conv2d_cpu()->l2_bytes / sizeof(float) * STREAMED_L2S;
}

/* Edge tiles need a mask register for each vector. */
enum { MAX_EDGE_VECTORS = 6 };

static inline bool has_tile(const conv2d_kernel *kernel, size_t channels, size_t columns)
{
    return kernel->tile_index[channels][columns] != 0;
}

static inline const conv2d_tile_row *tile_of(const conv2d_kernel *kernel, size_t channels, size_t columns)
{
    return &kernel->tiles[kernel->tile_index[channels][columns] - 1];
}

/* Whether shuffles within 128 bits and blends cost an AVX-512 tile nothing: they would take the FMAs' ports on Intel's
 * CPUs, and nothing was measured on Zen 4. */
static inline bool shuffles_beside_fmas(void)
{
    return conv2d_cpu()->two_wide_fmas && !has_large_l2();
}

/* K, AVX-512: whether the last vector has so few channels that two columns share it (gen/family_k_halved.c). */
static inline bool k_halves(const problem *p, const conv2d_kernel *kernel)
{
    const size_t last = (p->out_channels - 1) % CONV2D_OC_BLOCK;
    const bool few = p->out_channels > CONV2D_OC_BLOCK && last < CONV2D_OC_BLOCK / 2;
    return few && shuffles_beside_fmas() && kernel->lanes == CONV2D_OC_BLOCK && kernel->tile_channels == 2 &&
           tile_of(kernel, 2, kernel->tile_columns)->variant[CONV2D_HALVED];
}

/* The largest number of channels, at most `limit` and at most `most`, for which the kernel has a tile. */
static inline size_t widest_channels(const conv2d_kernel *kernel, size_t limit, size_t most)
{
    size_t channels = min_size(limit, most);
    while (channels > 1 && !has_tile(kernel, channels, 1))
        channels--;
    return channels;
}

/* The same for edge tiles so many vectors of columns wide; 0 if there is none. */
static inline size_t widest_edge(const conv2d_kernel *kernel, size_t limit, size_t vectors)
{
    size_t channels = min_size(limit, CONV2D_MAX_TILE_CHANNELS);
    while (channels > 0 &&
           !(has_tile(kernel, channels, vectors) && tile_of(kernel, channels, vectors)->variant[CONV2D_BOTH]))
        channels--;
    return channels;
}

/* The widest tile of so many channels for at most `vectors` vectors of columns. */
static inline size_t widest_columns(const conv2d_kernel *kernel, size_t channels, size_t vectors)
{
    size_t width = min_size(vectors, CONV2D_MAX_TILE_COLUMNS);
    while (width > 1 && !has_tile(kernel, channels, width))
        width--;
    return width;
}

/* run_k_turned.c: whether whole rows have tiles that go down at the input's sides. */
bool conv2d_k_turns(const problem *p, const conv2d_kernel *kernel);

/* W: whether the kernel takes vectors of columns in pairs. */
static inline bool takes_pairs(const conv2d_kernel *kernel)
{
    return kernel->tile_columns == 2;
}

/* W: whether tiles sort the columns of a strided row as they read them (family_w_strided.c), and need no copies. */
static inline bool sorts_in_registers(const conv2d_kernel *kernel)
{
    return kernel->family == CONV2D_FAMILY_W && kernel->stride_w > 1;
}

/* W: how many of so many vectors its next tile of so many channels takes.  Of pairs, an odd number begins with three.
 * Four are two and two: the sums of one vector alone wait for each other (AVX2's 4x3, Zen 3, 3x224x224 32x3x3 s2 1.025,
 * 12x16x66 16x5x5 1.04; not of 1x1, where other tiles serve the rest). */
static inline size_t next_columns(const conv2d_kernel *kernel, size_t channels, size_t vectors)
{
    if (kernel->lanes == 8 && kernel->kernel_width == 0 && vectors == (size_t)kernel->tile_columns + 1 &&
        has_tile(kernel, channels, 2))
        return 2;
    if (!takes_pairs(kernel) || channels != kernel->tile_channels)
        return widest_columns(kernel, channels, vectors);
    return vectors % 2 == 0 ? 2 : widest_columns(kernel, channels, min_size(vectors, 3));
}

/* Whether the same columns of all output channels share a set of the L1. */
static inline bool planes_collide(const problem *p)
{
    return (size_t)p->out.channel * sizeof(float) % 4096 == 0;
}

/* run_w_through.c: whether tiles of W go through all output channels, or along the columns for the only one, unless the
 * input channels are cut into blocks. */
bool conv2d_goes_through(const problem *p, const conv2d_kernel *kernel);
bool conv2d_goes_along(const problem *p, const conv2d_kernel *kernel);

/* pixels.c: so many pixels of so many channels, so far apart. */
void conv2d_copy_pixels(size_t channels, size_t count, const float *from, ptrdiff_t from_pitch, float *to,
                        ptrdiff_t to_pitch);

/* The fields of a tile that stay the same for a whole run. */
static inline conv2d_tile common_tile(const problem *p)
{
    return (conv2d_tile){
        .kernel_width = p->kernel_width,
        .out_channel_pitch = p->out.channel,
        .activation = p->activation,
        .act_a = p->act_a,
        .act_b = p->act_b,
    };
}

#endif
