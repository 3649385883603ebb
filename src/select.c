/* SPDX-License-Identifier: MIT */
/* Which kernel: among those that accept the problem, the one with the best predicted efficiency. */
#include <string.h>

#include "plan.h"
#include "run_d.h"

/* How many columns the last output's last tap reaches beyond the input. */
static ptrdiff_t right_overhang(const problem *p)
{
    const size_t last = (p->out_width - 1) * p->stride_w + (p->kernel_width - 1) * p->dilation_w;
    return (ptrdiff_t)last - (ptrdiff_t)p->pad_left - ((ptrdiff_t)p->in_width - 1);
}

static ptrdiff_t bottom_overhang(const problem *p)
{
    const size_t last = (p->out_height - 1) * p->stride_h + (p->kernel_height - 1) * p->dilation_h;
    return (ptrdiff_t)last - (ptrdiff_t)p->pad_top - ((ptrdiff_t)p->in_height - 1);
}

/* Strided rows a dilation apart would have no input rows in common. */
static bool d_dilates(const problem *p, const conv2d_kernel *kernel)
{
    return kernel->dilates && p->stride_h == 1;
}

/* NHWC: which channels of a group.  AVX-512's depthwise tiles for parts of vectors put lanes in order; those of 3x3 are
 * slower than the grouped ones, which do so for whole vectors. */
static const char *group_refusal(const problem *p, const conv2d_kernel *kernel)
{
    const bool shared = p->out_channels <= kernel->lanes && groups_share_blocks(p);
    if (!kernel->grouped && p->in_channels == 1 && p->out_channels == 1)
        return NULL;
    if (!kernel->grouped && (kernel->lanes < CONV2D_OC_BLOCK || kernel->kernel_width <= 3))
        return "made for one channel a group";
    if (!shared || p->out_channels == 1 || p->in_channels > p->out_channels)
        return "made for 2, 4, 8 or 16 output channels a group, no more than lanes, and no more input channels";
    return NULL;
}

static const char *depthwise_refusal(const problem *p, const conv2d_kernel *kernel)
{
    const char *const refusal = kernel->nhwc ? group_refusal(p, kernel) : NULL;
    if (refusal)
        return refusal;
    if (!kernel->nhwc && !kernel->grouped && p->in_channels != 1)
        return "made for one input channel a group";
    /* For more, W uses each input for as many FMAs; but few planes stay in the L1 for all output channels. */
    const bool first_layer = p->in_channels <= 4 && kernel->lanes == 16 && kernel->kernel_width == 3;
    const bool few = p->out_channels <= 3 || first_layer;
    if (!kernel->nhwc && kernel->grouped && (p->in_channels == 1 || !few))
        return "made for several input channels, and few of them (AVX-512, 3x3) or of the output channels";
    if (kernel->kernel_width == 0)
        return NULL;
    if (conv2d_has_phases(p, kernel))
        return NULL;
    if (p->dilation_h != 1 && !d_dilates(p, kernel))
        return "made for dilation 1";
    if (!kernel->nhwc && p->kernel_height != kernel->kernel_height)
        return "made for another kernel height";
    const size_t most = kernel->rolls ? p->kernel_width - 1 : p->kernel_width / 2 * p->dilation_w;
    if (p->pad_left > most || right_overhang(p) > (ptrdiff_t)most)
        return kernel->rolls ? "made for padding of less than the kernel"
                             : "made for padding of at most half the kernel";
    if (d_has_strips(kernel) && !conv2d_d_strips_suit(p, kernel))
        return "its strips are made for other strides or rows";
    const size_t half_rows = p->kernel_height / 2 * p->dilation_h;
    if (!kernel->nhwc && (p->pad_top > half_rows || bottom_overhang(p) > (ptrdiff_t)half_rows))
        return "made for padding of at most half the kernel";
    return NULL;
}

static const char *layout_refusal(const problem *p, const conv2d_kernel *kernel)
{
    const bool w = kernel->family == CONV2D_FAMILY_W, planes = conv2d_wants_planes(p, kernel);
    const bool whole_rows = w || (kernel->family == CONV2D_FAMILY_D && !kernel->nhwc);
    const bool transposes = planes || (w && conv2d_transposes_pixels(p));
    if (p->in.column != 1 && !transposes && (whole_rows || (kernel->stride_w && !kernel->nhwc)))
        return "made for NCHW input";
    if (p->out.column != 1 && whole_rows && !(w && conv2d_writes_pixels(p)))
        return "made for NCHW output";
    if ((kernel->nhwc && !conv2d_bands_fit(p, kernel)) || (planes && !conv2d_planes_fit(p, kernel)))
        return "its workspace would be too large";
    return NULL;
}

static const char *taps_refusal(const problem *p, const conv2d_kernel *kernel)
{
    if (conv2d_subsamples(p, kernel))
        return NULL;
    if (kernel->stride_w && kernel->stride_w != p->stride_w)
        return "made for another stride";
    const char *const refusal = layout_refusal(p, kernel);
    if (refusal)
        return refusal;
    if (kernel->kernel_width == 0)
        return NULL;
    if (kernel->kernel_width != p->kernel_width)
        return "made for another kernel width";
    if (p->dilation_w != 1 && p->kernel_width > 1 && !conv2d_has_phases(p, kernel) && !d_dilates(p, kernel))
        return "made for dilation 1";
    return NULL;
}

/*
 * Tiles step through padding and beyond the last output, so that pointers there must still be some, and offsets not
 * wrap: an input of this size with all that around it would have 16 TiB.  Only strides, dilations and padding that no
 * memory is needed for get so far; the reference computes no address but those of taps inside the input.
 */
static bool leaves_addresses(const problem *p)
{
    const double most = 0x1p42, tile = 16, channels = (double)p->in_channels * (double)p->groups + tile;
    const double copied_row = ((double)p->in_width + tile) * channels, row = (double)p->in.row;
    const double rows = (double)(p->pad_top + p->in_height + p->kernel_height * p->dilation_h) +
                        ((double)p->out_height + tile) * (double)p->stride_h;
    const double columns = (double)(p->pad_left + p->in_width + p->kernel_width * p->dilation_w) +
                           ((double)p->out_width + tile) * (double)p->stride_w;
    return rows * (row > copied_row ? row : copied_row) > most || columns * (double)p->in.column > most ||
           columns * channels > most;
}

static bool has_inner_tile(const conv2d_kernel *kernel, size_t vectors, size_t columns)
{
    return has_tile(kernel, vectors, columns) && tile_of(kernel, vectors, columns)->variant[CONV2D_INTERIOR];
}

/* K; some tiles are there for the problems that gain by them. */
static const char *pixels_refusal(const problem *p, const conv2d_kernel *kernel)
{
    const bool padded = p->pad_left > 0 || right_overhang(p) > 0, wider = p->pad_left > 1 || right_overhang(p) > 1;
    const size_t rest = divide_up(p->out_channels, kernel->lanes) % kernel->tile_channels;
    if (kernel->kernel_width > 1 && wider)
        return "made for at most one column of padding";
    if (padded && !tile_of(kernel, kernel->tile_channels, kernel->tile_columns)->variant[CONV2D_BOTH])
        return "made for no padding";
    if (rest && !has_inner_tile(kernel, rest, kernel->tile_columns))
        return "has no tile for the rest of the output channels";
    return NULL;
}

/* W: whether tiles serve the output channels that are no whole tiles. */
static bool has_rest(const problem *p, const conv2d_kernel *kernel)
{
    for (size_t rest = p->out_channels % kernel->tile_channels, channels; rest > 0; rest -= channels) {
        channels = widest_channels(kernel, rest, rest);
        if (!has_tile(kernel, channels, 1))
            return false;
    }
    return true;
}

const char *conv2d_kernel_refusal(const ready_plan *plan, const conv2d_kernel *kernel)
{
    const problem *p = &plan->problem;
    if (kernel->family == CONV2D_FAMILY_REFERENCE)
        return NULL;
    if (kernel->isa > plan->isa)
        return conv2d_cpu()->isa < kernel->isa ? "the CPU lacks its instruction set"
                                               : "its instruction set is excluded";
    if (kernel->family == CONV2D_FAMILY_F)
        return p->pixel ? NULL : "made for one pixel";
    if (p->pixel)
        return "made for larger maps than one pixel";
    if (leaves_addresses(p))
        return "pitches times padding, strides or dilation go beyond all addresses";
    const char *refusal = taps_refusal(p, kernel);
    if (refusal)
        return refusal;
    if (kernel->family == CONV2D_FAMILY_W && p->kernel_width > CONV2D_MAX_MASKED_TAPS)
        return "more than 32 kernel columns";
    const bool sorts = kernel->family == CONV2D_FAMILY_W && !conv2d_subsamples(p, kernel);
    if (sorts && p->stride_w > CONV2D_MAX_PHASES)
        return "the stride exceeds 16";
    if (sorts && !conv2d_scratch_fits(p, kernel))
        return "its workspace would be too large";
    if (sorts && !has_rest(p, kernel))
        return "has no tile for the rest of the output channels";
    if (kernel->family == CONV2D_FAMILY_D)
        return depthwise_refusal(p, kernel);
    return kernel->family == CONV2D_FAMILY_K ? pixels_refusal(p, kernel) : NULL;
}

/* Whether 512 bits are a bad idea: as the options say, else a record of this machine, else what is known of the CPU. */
static bool prefers_256(ready_plan *p, const conv2d_options *options)
{
    if (options->prefer_256)
        return options->prefer_256 > 0;
    const int recorded = conv2d_recorded_policy(options);
    if (recorded)
        p->policy = recorded > 0 ? "a record of this machine prefers avx2" : "a record of this machine prefers avx512";
    else if (conv2d_cpu()->prefer_256)
        p->policy = "avx2, as 512 bits would lower this CPU's clock and double nothing";
    return recorded ? recorded > 0 : conv2d_cpu()->prefer_256;
}

conv2d_isa conv2d_isa_bound(ready_plan *p, const conv2d_options *options)
{
    conv2d_isa bound = conv2d_cpu()->isa;
    if (conv2d_environment_isa() != CONV2D_ISA_ANY && conv2d_environment_isa() < bound)
        bound = conv2d_environment_isa();
    if (options->isa != CONV2D_ISA_ANY && options->isa < bound)
        bound = options->isa;
    return bound == CONV2D_ISA_AVX512 && prefers_256(p, options) ? CONV2D_ISA_AVX2 : bound;
}

const conv2d_kernel *conv2d_find_kernel(const char *name)
{
    for (size_t i = 0; i < conv2d_kernel_count; i++)
        if (strcmp(conv2d_kernels[i].name, name) == 0)
            return &conv2d_kernels[i];
    return NULL;
}

static conv2d_status force_kernel(ready_plan *p, const char *name)
{
    p->kernel = conv2d_find_kernel(name);
    if (!p->kernel) {
        p->fault = "options.kernel names no kernel of this build";
        return CONV2D_UNKNOWN_KERNEL;
    }
    p->fault = conv2d_kernel_refusal(p, p->kernel);
    if (p->fault)
        return CONV2D_KERNEL_MISMATCH;
    p->efficiency = conv2d_predict_efficiency(&p->problem, p->kernel);
    p->forced = true;
    return CONV2D_OK;
}

/*
 * What kernels are compared by.  Predictions of 8 lanes are less sure than those of 16, whose tiles have registers to
 * spare (docs/design.md): where both are allowed, 8 lanes must promise a sixteenth more.  For single pixels both only
 * wait for chains of FMAs, and predictions are good.
 */
static double merit(const ready_plan *p, const conv2d_kernel *kernel)
{
    const bool pixel = p->problem.out_height * p->problem.out_width == 1;
    const bool doubted = p->isa >= CONV2D_ISA_AVX512 && kernel->lanes == 8 && !pixel;
    return conv2d_predict_efficiency(&p->problem, kernel) * (doubted ? 0.94 : 1);
}

conv2d_status conv2d_select_kernel(ready_plan *p, const conv2d_options *options)
{
    if (options->kernel)
        return force_kernel(p, options->kernel);
    double best = 0;
    for (size_t i = 0; i < conv2d_kernel_count; i++) {
        const conv2d_kernel *kernel = &conv2d_kernels[i];
        if (conv2d_kernel_refusal(p, kernel))
            continue;
        const double value = merit(p, kernel);
        /* The reference, first in the table, is only for what nothing else can run. */
        if (!p->kernel || p->kernel->family == CONV2D_FAMILY_REFERENCE || value > best) {
            p->kernel = kernel;
            best = value;
        }
    }
    p->efficiency = conv2d_predict_efficiency(&p->problem, p->kernel);
    return CONV2D_OK;
}
