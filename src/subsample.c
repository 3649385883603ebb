/* SPDX-License-Identifier: MIT */
/*
 * Strided 1x1 convolutions as dense ones: the pixels that they read, one in stride x stride, are copied apart, where
 * they are one long row.  Its tiles do not end with the rows of the output, and find what they read in few cache lines
 * (Zen 5: 1024x14x14 2048x1x1 s2 1.18, AVX2 1.23; 24x56x56 116x1x1 s2 1.24, AVX2 1.22 times as fast).
 */
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include <string.h>

#include "tiles.h"

#ifdef __x86_64__
enum { LANES = 4 }; /* SSE is in every x86-64 */

/* Every second of the floats from `in` on, which ends with the last one; more than LANES of them. */
static void take_halves(const float *in, size_t count, float *out)
{
    for (size_t i = 0; i < count - LANES; i += LANES) {
        const __m128 low = _mm_loadu_ps(in + 2 * i), high = _mm_loadu_ps(in + 2 * i + LANES);
        _mm_storeu_ps(out + i, _mm_shuffle_ps(low, high, 0x88));
    }
    const float *last = in + 2 * (count - LANES) - 1; /* nothing behind the last one is read */
    const __m128 low = _mm_loadu_ps(last), high = _mm_loadu_ps(last + LANES);
    _mm_storeu_ps(out + count - LANES, _mm_shuffle_ps(low, high, 0xdd));
}
#endif

static void take_columns(const float *in, size_t stride, size_t count, float *out)
{
#ifdef __x86_64__
    if (stride == 2 && count > LANES) {
        take_halves(in, count, out);
        return;
    }
#endif
    for (size_t i = 0; i < count; i++)
        out[i] = in[i * stride];
}

static bool has_planes(const problem *p)
{
    return p->in.column == 1;
}

/* Output pixels [first, first + count) of an image read these of NHWC. */
static void copy_pixels(const problem *p, const float *in, size_t first, size_t count, float *out, ptrdiff_t out_pitch)
{
    const ptrdiff_t column_pitch = (ptrdiff_t)p->stride_w * p->in.column;
    for (size_t i = 0; i < count; i++, out += out_pitch) {
        const division at = divide(first + i, p->out_width);
        const float *row = in + (ptrdiff_t)(at.quotient * p->stride_h) * p->in.row;
        memcpy(out, row + (ptrdiff_t)at.remainder * column_pitch, p->groups * p->in_channels * sizeof *out);
    }
}

/* And these of planes. */
static void copy_planes(const problem *p, const float *in, size_t first, size_t count, float *out, ptrdiff_t out_pitch)
{
    const division at = divide(first, p->out_width);
    const ptrdiff_t row_pitch = (ptrdiff_t)p->stride_h * p->in.row;
    in += (ptrdiff_t)at.quotient * row_pitch;
    for (size_t channel = 0; channel < p->groups * p->in_channels; channel++) {
        const float *row = in;
        size_t column = at.remainder;
        for (size_t done = 0, columns; done < count; done += columns, row += row_pitch, column = 0) {
            columns = min_size(count - done, p->out_width - column);
            take_columns(row + column * p->stride_w, p->stride_w, columns, out + done);
        }
        in += p->in.channel;
        out += out_pitch;
    }
}

/*
 * K of any stride reads strided pixels in place as well.  A row of few is but a part of a tile, and many channels have
 * the copy at hand (Zen 5: 256x14x14 512x1x1 s2 1.10, 128x1x1 0.9; 728x18x18 1024x1x1 1.04, 256x28x28 512x1x1 0.97).
 * AVX2 gains by copies of NHWC pixels, too (Zen 4, 99 layers 1.07: 256x56x56 512x1x1 s2 1.05, 1024x14x14 2048x1x1 s2
 * 1.15, 512x28x28 1024x1x1 s2 1.10), but of short ones in long rows (64x112x112 96x1x1 s2 0.94, 64x160x160 160 0.91).
 */
static bool copy_pays(const problem *p, const conv2d_kernel *kernel)
{
    enum { SOME_OUT = 96, SHORT_PIXEL = 64, LONG_ROW = 48 };
    if (!has_planes(p))
        return waits_like_zen3(kernel) && kernel->lanes == 8 && p->out_channels >= SOME_OUT &&
               (p->in_channels > SHORT_PIXEL || p->out_width < LONG_ROW);
    return p->in_channels >= 384 || (p->out_width < 8 && p->out_channels >= 192);
}

bool conv2d_subsamples(const problem *p, const conv2d_kernel *kernel)
{
    const bool k = kernel->family == CONV2D_FAMILY_K, w = kernel->family == CONV2D_FAMILY_W;
    const bool dense = (k || w) && kernel->kernel_width == 1 && kernel->stride_w == 1;
    const bool any = k && kernel->kernel_width <= 1 && kernel->stride_w == 0;
    const bool made = (dense && has_planes(p)) || (any && copy_pays(p, kernel));
    const bool strided = p->kernel_height == 1 && p->kernel_width == 1 && p->stride_w > 1;
    const bool unpadded = p->pad_top == 0 && p->pad_left == 0 && (p->out_height - 1) * p->stride_h < p->in_height &&
                          (p->out_width - 1) * p->stride_w < p->in_width;
    const bool rows_follow = p->out_height == 1 || p->out.row == (ptrdiff_t)p->out_width * p->out.column;
    const bool known = has_planes(p) ? p->out.column == 1 : p->in.channel == 1;
    return made && strided && unpadded && known && rows_follow;
}

/* Channels, or pixels, an odd number of cache lines apart use all sets of the L1. */
static ptrdiff_t copy_pitch(size_t floats)
{
    return (ptrdiff_t)((divide_up(floats, LINE_FLOATS) | 1) * LINE_FLOATS);
}

/* Floats of the copy of so many columns. */
static size_t copy_floats(const problem *p, size_t columns, size_t pitch)
{
    return (has_planes(p) ? p->groups * p->in_channels : columns) * pitch;
}

void conv2d_make_subsampled(const problem *p, size_t columns, size_t pitch, problem *dense)
{
    *dense = *p;
    dense->batch = 1;
    dense->stride_h = dense->stride_w = 1;
    dense->in_height = dense->out_height = 1;
    dense->in_width = dense->out_width = columns;
    *(has_planes(p) ? &dense->in.channel : &dense->in.column) = (ptrdiff_t)pitch;
    dense->in.row = dense->in.image = (ptrdiff_t)copy_floats(p, columns, pitch);
}

/* The blocking of the dense 1x1 of a copy, which is as good as a panel; K makes pixels of it as it does of planes. */
static blocking dense_blocking(const problem *dense, const conv2d_kernel *kernel)
{
    blocking b = conv2d_choose_blocking(dense, kernel);
    if (kernel->family == CONV2D_FAMILY_W)
        b.panel_columns = b.workspace = 0;
    return b;
}

/*
 * Half the L2 holds them; the rest is for weights and outputs.  If those are too large for a small one, planes are as
 * well in the L3: fewer pieces have the weights read again (Zen 3, AVX2, four times as many columns: 512x40x40 512x1x1
 * s2 1.07 to 1.14, 768x28x28 768 1.06 to 1.18, 256x56x56 512 1.05 to 1.07; 256x80x80 256, whose weights stay, 0.95, of
 * pixels 20 layers 0.97).  Pieces of whole tiles, be they 3 vectors or 14 columns wide.
 */
void conv2d_set_subsampled(blocking *b, const problem *p, const conv2d_kernel *kernel)
{
    enum { FEWEST = 42, TILES = 336 };
    const size_t channels = p->groups * p->in_channels, pixels = p->out_height * p->out_width;
    const size_t l2 = conv2d_cpu()->l2_bytes / sizeof(float), weights = packed_block_size(p) * group_blocks(p);
    const bool far = has_small_l2() && has_planes(p) && weights > l2 / 2;
    const size_t fitting = (far ? 2 * l2 : l2 / 2) / channels;
    /* All at once where that is less than to read the weights for each piece (Zen 3, 1536x28x28 1536x1x1 s2). */
    const bool heavy = waits_like_zen3(kernel) && channels * pixels <= weights / 4;
    const size_t columns = heavy ? pixels : fitting >= TILES ? fitting / TILES * TILES : max_size(fitting, FEWEST);
    b->subsampled_columns = min_size(columns, pixels);
    b->subsampled_pitch = copy_pitch(has_planes(p) ? b->subsampled_columns : channels);
    b->workspace = copy_floats(p, b->subsampled_columns, (size_t)b->subsampled_pitch);
    problem dense;
    conv2d_make_subsampled(p, b->subsampled_columns, (size_t)b->subsampled_pitch, &dense);
    const blocking within = dense_blocking(&dense, kernel);
    /* The last piece has fewer columns, which may be cut in another way: as many as all of the largest have room. */
    if (within.scratch_column)
        b->workspace += (b->subsampled_columns + 1) * (size_t)within.scratch_column;
}

void conv2d_run_subsampled(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    const blocking *b = &plan->blocking;
    const size_t pixels = p->out_height * p->out_width;
    const share all = share_of(p->batch * pixels, part, parts);
    float *const copy = args->workspace + part * b->workspace;
    ready_plan dense = {.kernel = plan->kernel};
    const size_t copied = copy_floats(p, b->subsampled_columns, (size_t)b->subsampled_pitch);
    conv2d_args within = {.in = copy, .packed = args->packed, .workspace = copy + copied};
    for (size_t pixel = all.begin, count; pixel < all.end; pixel += count) {
        const division at = divide(pixel, pixels);
        const ptrdiff_t out = (ptrdiff_t)at.quotient * p->out.image + (ptrdiff_t)at.remainder * p->out.column;
        count = min_size(min_size(b->subsampled_columns, pixels - at.remainder), all.end - pixel);
        (has_planes(p) ? copy_planes : copy_pixels)(p, args->in + (ptrdiff_t)at.quotient * p->in.image, at.remainder,
                                                    count, copy, b->subsampled_pitch);
        conv2d_make_subsampled(p, count, (size_t)b->subsampled_pitch, &dense.problem);
        dense.blocking = dense_blocking(&dense.problem, plan->kernel);
        within.out = args->out + out;
        within.residual = p->has_residual ? args->residual + out : NULL;
        conv2d_run_family(&dense, &within, 0, 1);
    }
}
