/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, 3x3, and 5x5 with stride 2, where sums roll down the rows of a tile's columns
 * (gen/family_d_nhwc_down.c).  A tile of two output rows reads four input rows (stride 2: five; of 5x5: seven), each
 * again for the tile below; here each is read once.
 *
 * DOWN has one vector of channels go down all rows before the next one begins, whose lines the L1 has by then, for it
 * fetches those that follow.  It cannot keep them where pixels are a power of two apart, nor do stores find room
 * (512x14x14: half the speed of tiles of two rows).  Then each row goes ACROSS some vectors of channels, and the sums
 * wait in the L1 for the next one.
 */
#include "run_d.h"

/* Such a tile may lack the first half of its first output row's input rows, and the second of its last one's. */
static bool rows_suit(const conv2d_kernel *kernel, const problem *p)
{
    const size_t last = (p->out_height - 1) * p->stride_h + (p->kernel_height - 1) * p->dilation_h;
    const size_t half = p->kernel_height / 2 * p->dilation_h;
    return p->kernel_height == kernel->kernel_width && p->stride_h == p->stride_w && p->pad_top <= half &&
           last < p->pad_top + p->in_height + half;
}

/*
 * The lines that a tile as high as the image, or as the phase of a dilation, reads and writes of a vector of channels,
 * in quarters of those that the L1 keeps: pixels that lie a multiple of some power of two apart share few of its sets.
 * 0 where that power is so low that tiles go down well anyway.
 */
static size_t crowd(const problem *p, ptrdiff_t pitch)
{
    const size_t least = p->stride_h == 1 ? 512 : 256, across = (D_COLUMNS_DOWN - 1) * p->stride_w + p->kernel_width;
    const size_t read = min_size(across, p->in_width) * divide_up(p->in_height, p->dilation_h);
    const size_t written = min_size(D_COLUMNS_DOWN, p->out_width) * divide_up(p->out_height, p->dilation_h);
    const size_t period = d_period((size_t)pitch * p->dilation_w);
    return period < least ? 0 : (read + written) * 4 * period / conv2d_cpu()->l1_bytes;
}

/* Of pixels, of either tensor. */
static size_t worst_crowd(const problem *p)
{
    return max_size(p->in.channel == 1 ? crowd(p, p->in.column) : 0, p->out.channel == 1 ? crowd(p, p->out.column) : 0);
}

/* Masked vectors of channels have tiles of two rows. */
static bool is_masked(const problem *p, size_t lanes)
{
    const size_t channels = p->groups * p->out_channels;
    return p->out.channel == 1 && channels % lanes && (channels < lanes || p->has_residual);
}

/*
 * A third too many lines do no harm; with two and a half times as many tiles go across the channels, and between these
 * tiles of two rows are better.  So they are if one of the tensors is in the workspace (256x16x16 NCHW to NHWC 0.8),
 * and from memory, whose rows they read in their order (128x224x224 0.77, 256x112x112 0.81), unless a row's pixels
 * share two sets (512x64x64 1.48, 1024x56x56 1.33), or a strided one's lie far apart (384x112x112 s2 0.93 to 1.17,
 * 1152x84x84 s2 0.89 to 1.35, 128x224x224 s2 0.89 to 0.95).
 * 5x5 with stride 2 goes down wherever pixels are not all in one set, for a copy of which there is enough to compute
 * (512x14x14 1.36 to 1.45, 128x28x28 1.21 to 1.35; 1024x14x14 0.85 to 1.03 times as fast as from a copy).
 */
static int order_of(const problem *p)
{
    enum { FEW = 5, MANY = 10, FAR_L2S = 16, FAR_PITCH = 384, SET_BYTES = 4096 };
    if (p->kernel_height > 3)
        return d_period((size_t)p->in.column) < SET_BYTES ? CONV2D_DOWN : 0;
    const size_t most = worst_crowd(p);
    const bool in_place = p->in.channel == 1 && p->out.channel == 1;
    const bool apart = d_shares_two_sets(p) || (p->stride_w > 1 && p->in.column >= FAR_PITCH);
    const bool reached = apart || !exceeds_l2(p, FAR_L2S);
    return most <= FEW ? CONV2D_DOWN : most >= MANY && in_place && reached ? CONV2D_ACROSS : 0;
}

/* Whether one row of four vectors of channels at a time is better, which few rows within the L2 are (512x14x14 s2 0.87
 * to 0.94, 1024x14x14 0.95 to 1.06; but 256x28x28 1.12 to 1.21, 768x28x28 1.29 to 1.37, 2048x14x14 1.08 to 1.2). */
static bool four_pay(const conv2d_kernel *kernel, const problem *p)
{
    enum { FEW_ROWS = 13 };
    return d_four_at_once(kernel, p) && d_shares_two_sets(p) && p->out_height <= FEW_ROWS && !exceeds_l2(p, 1);
}

/* Whether there are tiles for so many columns. */
static bool columns_suit(const conv2d_kernel *kernel, const problem *p, int down, size_t columns)
{
    problem phase = *p;
    phase.out_width = columns;
    return conv2d_spread_columns(kernel, &phase, down).pieces != 0;
}

int conv2d_d_down(const conv2d_kernel *kernel, const problem *p)
{
    const bool has = kernel->nhwc && tile_of(kernel, 1, kernel->tile_columns)->variant[CONV2D_DOWN];
    if (!has || d_orders_lanes(p) || !shuffles_beside_fmas() || !rows_suit(kernel, p) || is_masked(p, kernel->lanes) ||
        four_pay(kernel, p))
        return 0;
    const int down = order_of(p);
    const size_t narrowest = p->out_width / p->dilation_w, widest = divide_up(p->out_width, p->dilation_w);
    const bool suits = down && columns_suit(kernel, p, down, narrowest) && columns_suit(kernel, p, down, widest);
    return suits ? down : 0;
}

bool conv2d_d_rolls_down(const d_nhwc_run *run, size_t rows)
{
    return run->blocking->down && rows > 1 && (!run->rest || run->tail);
}

/* Where a call begins: the first and the last input row of its tile may lie outside. */
static void set_rows(d_nhwc_run *run, d_piece rows, bool across)
{
    const problem *p = run->p;
    const ptrdiff_t top = (ptrdiff_t)(rows.begin * p->stride_h) - (ptrdiff_t)p->pad_top;
    const ptrdiff_t bottom = top + (ptrdiff_t)((rows.count - 1) * p->stride_h + p->kernel_height);
    const size_t before = p->kernel_height - p->stride_h; /* input rows before the one that completes an output row */
    conv2d_tile *const t = &run->tile;
    const size_t below = bottom > (ptrdiff_t)p->in_height ? (size_t)bottom - p->in_height : 0;
    t->rows = UINT32_MAX << (top < 0 ? -top : 0);
    t->rest_rows = p->stride_h - min_size(below, p->stride_h);
    t->weights = run->weights;
    t->vectors = 1;
    t->in = run->in + (top < 0 ? 0 : top) * run->from.row;
    t->out = run->out + (ptrdiff_t)rows.begin * run->to.row;
    t->whole_rows = rows.count - (p->kernel_height - 1) / p->stride_h;
    if (!across)
        return;
    t->backwards = false;
    t->room = run->sums;
    t->repeats = rows.count + before - (top < 0);
    t->whole_rows = rows.count;
    t->rest_rows = below != 0;
    t->out -= (ptrdiff_t)(t->repeats - rows.count) * run->to.row;
    if (top >= 0)
        t->in -= (ptrdiff_t)(p->stride_h - 1) * run->from.row;
}

/* All channels of a place, as many at a time as have room for their sums. */
static void run_across(d_nhwc_run *run, const conv2d_tile_row *row)
{
    conv2d_tile *const t = &run->tile;
    const conv2d_tile whole = *t;
    for (size_t vector = 0; vector < run->vectors; vector += D_VECTORS_ACROSS) {
        const size_t first = vector * run->lanes;
        t->channels = min_size(run->vectors - vector, D_VECTORS_ACROSS);
        t->in = whole.in + first;
        t->out = whole.out + first;
        t->bias = whole.bias + first;
        t->weights = whole.weights + (ptrdiff_t)vector * t->weights_skip;
        if (run->residual)
            t->residual = whole.residual + first;
        tile_function(run->kernel, row, CONV2D_ACROSS)(t);
    }
    *t = whole;
    if (run->tail)
        conv2d_d_nhwc_tail(run, tile_function(run->kernel, row, CONV2D_ACROSS));
}

/* Some rows of the columns' tiles, each of them one call. */
static void run_rows(d_nhwc_run *run, d_piece rows, size_t begin, size_t end, bool across)
{
    const problem *p = run->p;
    conv2d_tile *const t = &run->tile;
    set_rows(run, rows, across);
    const float *const in = t->in;
    float *const out = t->out;
    for (size_t i = begin; i < end; i++) {
        const d_piece columns = d_piece_at(&run->columns, i);
        const conv2d_tile_row *row = tile_of(run->kernel, 1, columns.count);
        t->column = (ptrdiff_t)(columns.begin * p->stride_w) - (ptrdiff_t)p->pad_left;
        t->columns = d_inside(t->column, p->in_width);
        t->in = in + t->column * run->from.column;
        t->out = out + (ptrdiff_t)columns.begin * run->to.column;
        if (run->residual)
            t->residual = run->residual + (t->out - run->out);
        if (across)
            run_across(run, row);
        else
            conv2d_d_nhwc_place(run, row, CONV2D_DOWN);
    }
}

/* Whether a vector of channels shares lines with the next one. */
static bool straddles(const void *first, ptrdiff_t pitch)
{
    return ((uintptr_t)first | (uintptr_t)pitch * sizeof(float)) % (LINE_FLOATS * sizeof(float)) != 0;
}

/* Then those should still be in the L1 for it: so many rows (Zen 5, tensors 16 bytes behind a line, as malloc returns
 * them: 144x56x56 1.29, all rows 0.99 times as fast as tiles of two; outputs are harder on the L1 than inputs). */
static size_t rows_that_stay(const d_nhwc_run *run)
{
    enum { OUTPUT = 4, LEAST = 4 };
    const problem *p = run->p;
    const size_t period = max_size(max_size(d_period((size_t)run->from.column), d_period((size_t)run->to.column)),
                                   sizeof(float) * 2 * LINE_FLOATS);
    const size_t room = conv2d_cpu()->l1_bytes / period * 5 / 4, columns = D_COLUMNS_DOWN;
    const size_t reads = (columns - 1) * p->stride_w + p->kernel_width;
    const size_t first = (p->kernel_height - p->stride_h) * reads, each = p->stride_h * reads + OUTPUT * columns;
    return max_size(room > first ? (room - first) / each : 0, LEAST);
}

void conv2d_d_nhwc_down(d_nhwc_run *run, d_piece rows, size_t begin, size_t end)
{
    const bool across = run->blocking->down == CONV2D_ACROSS;
    const bool shared = straddles(run->in, run->from.column) || straddles(run->out, run->to.column);
    const size_t high = rows_that_stay(run);
    const size_t pieces = shared && !across ? max_size((rows.count + high / 2) / high, 1) : 1;
    for (size_t i = 0; i < pieces; i++) {
        const size_t first = piece_begin(i, rows.count, pieces), next = piece_begin(i + 1, rows.count, pieces);
        run_rows(run, (d_piece){rows.begin + first, next - first}, begin, end, across);
    }
}
