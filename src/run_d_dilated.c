/* SPDX-License-Identifier: MIT */
/*
 * Dilated depthwise and grouped convolutions of NHWC as dense ones.  Outputs whose rows and columns have the same
 * remainders modulo the dilation, a phase, read nothing but the pixels of one such set of the input, which no other
 * phase reads: a small image with larger pitches, for the unrolled tiles, and each line of the L1 serves all its taps
 * while it is there.
 */
#include "run_d.h"

/* Along one axis: the first input of a phase, how many there are, how many lie before them, and its outputs. */
typedef struct d_phase {
    size_t first, inputs, pad, outputs;
} d_phase;

static d_phase phase_at(size_t phase, size_t dilation, size_t pad, size_t inputs, size_t outputs)
{
    const size_t before = pad > phase ? divide_up(pad - phase, dilation) : 0;
    const size_t first = phase + before * dilation - pad;
    return (d_phase){
        .first = first,
        .inputs = first < inputs ? divide_up(inputs - first, dilation) : 0,
        .pad = before,
        .outputs = phase < outputs ? divide_up(outputs - phase, dilation) : 0,
    };
}

static d_phase phase_of_rows(const problem *p, size_t phase)
{
    return phase_at(phase, p->dilation_h, p->pad_top, p->in_height, p->out_height);
}

static d_phase phase_of_columns(const problem *p, size_t phase)
{
    return phase_at(phase, p->dilation_w, p->pad_left, p->in_width, p->out_width);
}

/* Each phase has no more columns of padding than unrolled tiles allow for. */
static bool columns_suit(const problem *p, const conv2d_kernel *kernel)
{
    const size_t half = kernel->kernel_width / 2;
    for (size_t column = 0; column < p->dilation_w; column++) {
        const d_phase at = phase_of_columns(p, column);
        if (at.outputs && (at.pad > half || at.pad + at.inputs + half + 1 < at.outputs + kernel->kernel_width))
            return false;
    }
    return true;
}

/* Of the rows nothing is asked but that they be few enough: chains run bands of them.  Phases pay up to MOST of them a
 * row at least (Zen 5, NHWC 512x1x999 1x3 d1x128 2.3, 128x1x3999 d1x256 1.6 times as fast as looped taps). */
bool conv2d_has_phases(const problem *p, const conv2d_kernel *kernel)
{
    enum { MOST = 256 };
    const bool dilated = p->dilation_h != 1 || p->dilation_w != 1;
    const bool pixels = p->in.channel == 1 && p->out.channel == 1 && p->in.column != 1 && p->out.column != 1;
    const bool reached = pixels || conv2d_band_holds_image(p);
    return kernel->nhwc && kernel->kernel_width && dilated && reached && p->stride_h == 1 && p->stride_w == 1 &&
           p->dilation_h <= MOST && p->dilation_w <= MOST && p->dilation_w <= p->in_width && columns_suit(p, kernel);
}

ptrdiff_t conv2d_make_phase(const problem *p, size_t row, size_t column, problem *phase)
{
    const d_phase rows = phase_of_rows(p, row), columns = phase_of_columns(p, column);
    *phase = *p;
    phase->dilation_h = phase->dilation_w = 1;
    phase->in_height = rows.inputs;
    phase->out_height = rows.outputs;
    phase->pad_top = rows.pad;
    phase->in_width = columns.inputs;
    phase->out_width = columns.outputs;
    phase->pad_left = columns.pad;
    phase->in.row *= (ptrdiff_t)p->dilation_h;
    phase->out.row *= (ptrdiff_t)p->dilation_h;
    phase->in.column *= (ptrdiff_t)p->dilation_w;
    phase->out.column *= (ptrdiff_t)p->dilation_w;
    return (ptrdiff_t)rows.first * p->in.row + (ptrdiff_t)columns.first * p->in.column;
}

static size_t phases_high(const problem *whole)
{
    return min_size(whole->dilation_h, whole->out_height);
}

static size_t phases_wide(const problem *whole)
{
    return min_size(whole->dilation_w, whole->out_width);
}

size_t conv2d_d_phases(const problem *whole)
{
    return phases_high(whole) * phases_wide(whole);
}

d_begin conv2d_d_phase(const problem *whole, size_t index, problem *phase)
{
    const size_t row = index / phases_wide(whole), column = index % phases_wide(whole);
    const ptrdiff_t in = conv2d_make_phase(whole, row, column, phase);
    return (d_begin){in, (ptrdiff_t)row * whole->out.row + (ptrdiff_t)column * whole->out.column};
}

bool conv2d_d_same_sizes(const problem *a, const problem *b)
{
    return a->in_height == b->in_height && a->in_width == b->in_width && a->out_height == b->out_height &&
           a->out_width == b->out_width && a->pad_top == b->pad_top && a->pad_left == b->pad_left;
}

/* Units of work are those of all phases, one phase after the other; so many of them. */
static size_t count_units(const problem *whole, const conv2d_kernel *kernel, int down)
{
    size_t rows = 0, columns = 0;
    problem p;
    for (size_t row = 0; row < phases_high(whole); row++) {
        conv2d_make_phase(whole, row, 0, &p);
        const d_spread tiles = conv2d_spread_rows(kernel, &p);
        rows += d_unit_rows(&p, &tiles, down);
    }
    for (size_t column = 0; column < phases_wide(whole); column++) {
        conv2d_make_phase(whole, 0, column, &p);
        columns += conv2d_spread_columns(kernel, &p, down).pieces;
    }
    return whole->batch * rows * columns;
}

void conv2d_run_d_dilated(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *whole = &plan->problem;
    const share units = share_of(count_units(whole, plan->kernel, plan->blocking.down), part, parts);
    problem p, latest = {.batch = 0};
    conv2d_args within;
    d_nhwc_run run;
    d_tail tail;
    for (size_t i = 0, before = 0; i < conv2d_d_phases(whole) && before < units.end; i++) {
        const d_begin at = conv2d_d_phase(whole, i, &p);
        within = *args;
        within.in += at.in;
        within.out += at.out;
        if (p.has_residual)
            within.residual += at.out;
        if (i == 0 || !conv2d_d_same_sizes(&p, &latest))
            conv2d_d_nhwc_begin(&run, &p, plan->kernel, &plan->blocking, &within, &tail);
        latest = p;
        const size_t behind = before + p.batch * d_image_units(&run);
        const share here = {max_size(units.begin, before) - before, min_size(units.end, behind) - before};
        if (units.begin < behind)
            conv2d_d_nhwc_units(&run, plan->blocking.chunk_channels, here);
        before = behind;
    }
}
