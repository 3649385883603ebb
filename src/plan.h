/* SPDX-License-Identifier: MIT */
/* The inside of conv2d_plan: the checked problem, the kernel that was chosen, and its blocking. */
#ifndef CONV2D_PLAN_H
#define CONV2D_PLAN_H

#include <stdbool.h>

#include "cpu.h"
#include "kernel.h"
#include "platform.h"

/* Distances in elements; they are all that is left of the layout.  Either columns or channels are neighbours. */
typedef struct pitches {
    ptrdiff_t image, channel, row, column;
} pitches;

/* The descriptor with defaults filled in, everything checked.  Channels are per group. */
typedef struct problem {
    size_t batch, groups, in_channels, out_channels;
    size_t in_height, in_width, out_height, out_width;
    size_t kernel_height, kernel_width, stride_h, stride_w, dilation_h, dilation_w;
    size_t pad_top, pad_left;
    pitches in, out;
    conv2d_weights_layout weights_layout;
    conv2d_activation activation; /* what tiles apply: NONE, CLAMP (RELU, too, is one, to [0, infinity]), LEAKY_RELU */
    conv2d_activation curve;      /* any other, applied to stored outputs by the kernel's `activate`; or NONE */
    float act_a, act_b;
    /* Of the packed weights: channels side by side, from a group to the next, and in all. */
    size_t packed_width, packed_group, packed_channels;
    bool pixel;     /* family F's: one pixel becomes one pixel */
    bool exchanged; /* rows and columns have changed places */
    bool has_bias, has_residual, empty;
} problem;

/* How a run walks through the problem; which fields count depends on the family. */
typedef struct blocking {
    size_t channel_blocks; /* pieces of the input channels, whose weights for one tile stay in L2 */
    /* W */
    size_t block_vectors;  /* vectors of output columns that all channels visit before the next ones */
    size_t group_vectors;  /* those among them that the tiles of 16 output channels visit in turn */
    bool whole_rows;       /* each tile spans a row, both its edges included */
    size_t chunks;         /* pieces of the output channels, whose weights stay in L2 */
    size_t row_tiles;      /* pieces of the output rows, for each of which the workspace is filled once */
    size_t scratch_rows;   /* input rows that the largest of them needs */
    ptrdiff_t phase_pitch; /* workspace: [in_channel][input row][column modulo stride][...phase_pitch] */
    ptrdiff_t scratch_row, scratch_channel; /* 0: tiles read the input itself */
    size_t panel_columns; /* 1x1: workspace of a block's columns, [in_channel][panel_columns]; 0: there is none */
    size_t plane_columns; /* and of its outputs that become pixels, [out_channel][plane_columns]; 0 */
    /* K */
    size_t tiles_per_row; /* column tiles of nearly equal width */
    size_t tile_chunks;   /* pieces of all column tiles (over rows), whose input stays in L2 */
    size_t groups_inside; /* so many groups visit a chunk before the next one: all, or 1 */
    /* Workspace of a chunk's input, [row][column][channel]; scratch_column 0: tiles read the input itself. */
    ptrdiff_t scratch_column;
    size_t scratch_columns;
    size_t groups_copied; /* there at a time, side by side; 0: tiles read the input itself */
    /* Strided 1x1: output pixels whose inputs are copied at a time, their channels or they themselves
     * subsampled_pitch apart; 0: none are. */
    size_t subsampled_columns;
    ptrdiff_t subsampled_pitch;
    size_t workspace;      /* floats that a part needs */
    size_t chunk_channels; /* D: output channels that a call of a tile runs through */
    /* D, NHWC, where a tensor is NCHW or pixels share sets of the L1, and sums of NHWC: output rows and columns of a
     * band, whose tensors are in the workspace. */
    size_t band_rows, band_columns;
    int down;    /* D, NHWC: CONV2D_DOWN or CONV2D_ACROSS, where sums roll down the rows; or 0 */
    bool phases; /* D, NHWC: those of a dilation run one after the other, of the image or of a band that is one */
    size_t copy_floats; /* of its inputs */
} blocking;

typedef struct ready_plan {
    size_t magic;
    conv2d_status status;
    const char *fault; /* static text: which field, why */
    problem problem;
    const conv2d_kernel *kernel;
    blocking blocking;
    double efficiency;     /* predicted share of the FMA peak */
    conv2d_isa isa;        /* upper bound that was in force */
    bool forced, recorded; /* the kernel, by the options or a record */
    const char *record;    /* static text: what became of the options' records; NULL: there were none */
    const char *policy;    /* static text: who decided on 512 bits, if not as usual; or NULL */
} ready_plan;

enum { PLAN_MAGIC = 0x32766e6f }; /* "onv2" */

_Static_assert(sizeof(ready_plan) <= sizeof(conv2d_plan), "conv2d_plan is too small");

static inline const ready_plan *plan_of(const conv2d_plan *p)
{
    const ready_plan *inside = (const void *)p;
    return inside && inside->magic == PLAN_MAGIC ? inside : NULL;
}

/* A division takes as long as 20 FMAs, a tiny layer's run as long as a few: those that are easy are left out. */
typedef struct division {
    size_t quotient, remainder;
} division;

static inline division divide(size_t a, size_t b)
{
    return a < b ? (division){0, a} : b == 1 ? (division){a, 0} : (division){a / b, a % b};
}

static inline size_t divide_up(size_t a, size_t b)
{
    const division d = divide(a, b);
    return d.quotient + (d.remainder != 0);
}

static inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The kernel rows or columns [begin, end) that lie inside [0, extent) when tap 0 is at `start`. */
typedef struct tap_range {
    size_t begin, end;
} tap_range;

static inline tap_range valid_taps(ptrdiff_t start, size_t dilation, size_t taps, size_t extent)
{
    const ptrdiff_t room = (ptrdiff_t)extent - start;
    const size_t begin = start < 0 ? divide_up((size_t)-start, dilation) : 0;
    const size_t end = room <= 0 ? 0 : min_size(divide_up((size_t)room, dilation), taps);
    return begin < end ? (tap_range){begin, end} : (tap_range){0, 0};
}

/* Input rows that an output row reaches over. */
static inline size_t rows_for_one(const problem *p)
{
    return (p->kernel_height - 1) * p->dilation_h + 1;
}

/* The outputs [begin, end) along one axis, of so many, whose taps, over `span` inputs, all lie inside. */
static inline tap_range full_outputs(size_t count, size_t stride, size_t span, size_t pad, size_t extent)
{
    const size_t begin = min_size(divide_up(pad, stride), count);
    const size_t end = extent + pad < span ? 0 : min_size((extent + pad - span) / stride + 1, count);
    return (tap_range){begin, max_size(begin, end)};
}

/* The inputs [begin, end) along one axis that outputs [first, last] read. */
static inline tap_range inputs_of(size_t first, size_t last, size_t stride, size_t span, size_t pad, size_t extent)
{
    const size_t begin = first * stride, end = last * stride + span;
    return (tap_range){min_size(begin > pad ? begin - pad : 0, extent), min_size(end > pad ? end - pad : 0, extent)};
}

/*
 * Packed weights: the bias values of all blocks of 16 output channels, then their weights,
 * [block][in_channel][kh][kw][16].
 * Each group has blocks of its own, unless several groups fill a block.  Those for a single pixel and no other image
 * have room for up to 64 channels, what a tile of family F has: one stream of memory instead of four.  As many tiles
 * as there must be are alike (Zen 5, 384->96).
 */
enum { PIXEL_BLOCK = 64, PIXEL_PAIR = 2 * PIXEL_BLOCK };

static inline bool groups_share_blocks(const problem *p)
{
    return p->groups > 1 && p->out_channels && CONV2D_OC_BLOCK % p->out_channels == 0;
}

/* Of one group that does not share them. */
static inline size_t group_blocks(const problem *p)
{
    return divide_up(p->out_channels, CONV2D_OC_BLOCK);
}

/* Where an output channel of a group stands among those of all blocks. */
static inline size_t packed_channel(const problem *p, size_t group, size_t out_channel)
{
    return group * p->packed_group + out_channel;
}

static inline size_t packed_taps(const problem *p)
{
    return p->in_channels * p->kernel_height * p->kernel_width;
}

/* Of 16 channels. */
static inline size_t packed_block_size(const problem *p)
{
    return packed_taps(p) * CONV2D_OC_BLOCK;
}

static inline const float *packed_bias(const problem *p, const float *packed, size_t group, size_t out_channel)
{
    return packed + packed_channel(p, group, out_channel);
}

/* The weights of in_channel 0, tap 0 for an output channel; those of its block's other channels stand beside it. */
static inline const float *packed_weights(const problem *p, const float *packed, size_t group, size_t out_channel)
{
    const size_t channel = packed_channel(p, group, out_channel);
    const division block = divide(channel, p->packed_width);
    return packed + p->packed_channels + block.quotient * p->packed_width * packed_taps(p) + block.remainder;
}

/* `total` things in `pieces` pieces of nearly equal size: where piece `index` begins, and which one a thing is in. */
static inline size_t piece_begin(size_t index, size_t total, size_t pieces)
{
    return divide(index * total, pieces).quotient;
}

static inline size_t piece_of(size_t position, size_t total, size_t pieces)
{
    return divide((position + 1) * pieces - 1, total).quotient;
}

/* A share [begin, end) of `units` pieces of work. */
typedef struct share {
    size_t begin, end;
} share;

static inline share share_of(size_t units, size_t part, size_t parts)
{
    const division each = divide(units, parts);
    const size_t begin = part * each.quotient + min_size(part, each.remainder);
    return (share){begin, begin + each.quotient + (part < each.remainder)};
}

/* check.c; the others make one row of all, or rows of columns, where that is possible, as plans have it. */
conv2d_status conv2d_check_problem(const conv2d_desc *desc, problem *p, const char **fault);
void conv2d_flatten_rows(problem *p);
void conv2d_flatten_columns(problem *p);
void conv2d_exchange_axes(problem *p, conv2d_isa isa);
/* conv2d.c: a plan that will run bands of rows, each flattened by itself; so columns stay. */
conv2d_status conv2d_plan_bands(conv2d_plan *opaque, const conv2d_desc *desc, const conv2d_options *options);
/* select.c: the instruction sets that a plan may use; the kernel. */
conv2d_isa conv2d_isa_bound(ready_plan *p, const conv2d_options *options);
conv2d_status conv2d_select_kernel(ready_plan *p, const conv2d_options *options);
/* By name; NULL if the build has none. */
const conv2d_kernel *conv2d_find_kernel(const char *name);
/* Why this kernel cannot run the problem, or NULL. */
const char *conv2d_kernel_refusal(const ready_plan *p, const conv2d_kernel *kernel);
/* blocking.c */
blocking conv2d_choose_blocking(const problem *p, const conv2d_kernel *kernel);
/* Whether the workspace for a stride, W's only one, has a size that fits in size_t with room for many parts. */
bool conv2d_scratch_fits(const problem *p, const conv2d_kernel *kernel);
/* The same whatever the stride; then the copy. */
bool conv2d_rows_fit(const problem *p, const conv2d_kernel *kernel);
void conv2d_set_scratch(blocking *b, const problem *p, const conv2d_kernel *kernel);
/* Whether the L2 has room for the rows of the input that are read, and for something else. */
bool conv2d_input_stays(const problem *p);
/* Whether K and W copy planes that a large L2 does not keep for all output channels. */
bool conv2d_planes_thrash(const problem *p, const conv2d_kernel *kernel);
/* Whether the last cache lacks room for a line of each plane, as they are a high power of two apart; whether K's tiles
 * write NHWC after few taps, and whether then they have 8 sums, not 12.  All of CPUs with a small L2. */
bool conv2d_planes_crowd(const problem *p);
bool conv2d_ends_soon(const problem *p, const conv2d_kernel *kernel);
bool conv2d_ends_lightly(const problem *p, const conv2d_kernel *kernel);
/* K: whether sums are so short that AVX2's tiles inside fetch nothing for the next ones. */
bool conv2d_k_is_brief(const problem *p, const conv2d_kernel *kernel);
size_t conv2d_rows_read(const problem *p);
/* W: whether a block's columns may be copied into a panel, and the panel for the block as it stands. */
bool conv2d_is_pointwise(const problem *p);
void conv2d_set_panel(blocking *b, const conv2d_kernel *kernel);
/* K: whether planes become pixels first; the copy of pixels. */
bool conv2d_transposes_planes(const problem *p, const conv2d_kernel *kernel);
void conv2d_set_pixel_scratch(blocking *b, const problem *p);
/* W, NHWC with few output channels: whether pixels become planes first, and whether planes of outputs become pixels. */
bool conv2d_transposes_pixels(const problem *p);
bool conv2d_writes_pixels(const problem *p);
/* Of a blocking whose other fields are set. */
void conv2d_size_w_workspace(blocking *b, const problem *p, const conv2d_kernel *kernel);
void conv2d_set_k_blocking(blocking *b, const problem *p, const conv2d_kernel *kernel);
void conv2d_set_w_blocking(blocking *b, const problem *p, const conv2d_kernel *kernel);
size_t conv2d_weight_chunks(const problem *p);
/* K: column tiles of nearly equal width. */
size_t conv2d_tiles_per_row(const problem *p, const conv2d_kernel *kernel);
/* W: whether its edge tiles span whole rows of this problem's few channels. */
bool conv2d_whole_rows(const problem *p, const conv2d_kernel *kernel);
size_t conv2d_group_vectors(const problem *p, const conv2d_kernel *kernel);
size_t conv2d_workspace_per_part(const ready_plan *p);
/* subsample.c: whether a kernel for dense 1x1 runs a strided one on a copy of the pixels that it reads; the blocking
 * of that, and so many of its columns as a problem. */
bool conv2d_subsamples(const problem *p, const conv2d_kernel *kernel);
void conv2d_set_subsampled(blocking *b, const problem *p, const conv2d_kernel *kernel);
void conv2d_make_subsampled(const problem *p, size_t columns, size_t pitch, problem *dense);
/* blocking_d.c */
void conv2d_set_d_blocking(blocking *b, const problem *p, const conv2d_kernel *kernel);
/* run_d_dilated.c: whether a dilated problem is as many dense ones as its dilations have phases; makes one of these,
 * and returns where its input begins. */
bool conv2d_has_phases(const problem *p, const conv2d_kernel *kernel);
ptrdiff_t conv2d_make_phase(const problem *p, size_t row, size_t column, problem *phase);
/* Whether a band of few channels, whose tensors stay in the L2, may be as large as the image; and for what a tile of
 * NHWC needs of a band. */
bool conv2d_band_holds_image(const problem *p);
bool conv2d_bands_fit(const problem *p, const conv2d_kernel *kernel);
/* Sums for one output channel of NHWC pixels: whether they are transposed, a plane for so many output rows, whether
 * there is room for those of a tile. */
bool conv2d_wants_planes(const problem *p, const conv2d_kernel *kernel);
size_t conv2d_plane_floats(const problem *p, size_t out_rows);
bool conv2d_planes_fit(const problem *p, const conv2d_kernel *kernel);
/* knobs.c: sets those that are not 0; false, and *b may be half changed, if one does not fit. */
bool conv2d_set_knobs(blocking *b, const problem *p, const conv2d_kernel *kernel, const size_t knobs[]);
/* What a knob stands at, and the largest number that fits: 0 if the kernel does not have it. */
size_t conv2d_knob_value(const blocking *b, size_t knob);
size_t conv2d_knob_limit(const blocking *b, const problem *p, const conv2d_kernel *kernel, size_t knob);
/* record.c: 1 if a record says that this machine is faster without 512 bits, -1 if with them, 0 if none says it */
int conv2d_recorded_policy(const conv2d_options *options);
/* after the choice, which a fitting record of the options replaces */
void conv2d_apply_record(ready_plan *p, const conv2d_desc *desc, const conv2d_options *options);
/* predict.c: the share of the FMA peak, 0 to 1 */
double conv2d_predict_efficiency(const problem *p, const conv2d_kernel *kernel);
/* Cycles of the whole run on one thread. */
double conv2d_predict_cycles(const ready_plan *p);

/* tune_race.c: a clock that only goes forward */
double conv2d_seconds(void);

/* phases.c: the input rows of a row tile of W, whose first output row is first_row, from one group's input. */
void conv2d_fill_phases(const problem *p, const blocking *b, conv2d_deinterleave_fn *deinterleave, const float *in,
                        float *scratch, size_t first_row);

/* run_*.c: a part of the work.  The problem is not empty. */
typedef void run_fn(const ready_plan *p, const conv2d_args *args, size_t part, size_t parts);
run_fn conv2d_run_reference, conv2d_run_w, conv2d_run_k, conv2d_run_d, conv2d_run_f, conv2d_run_subsampled;
/* conv2d.c: the one of the plan's family, on a copy of the pixels where it subsamples. */
run_fn conv2d_run_family;

#endif
