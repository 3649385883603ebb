/* SPDX-License-Identifier: MIT */
/*
 * Family D's tiles along channels on tensors that have these apart: image, chunk of channels, band of output rows and
 * columns.  The inputs of a band are transposed into the workspace, [row][column][channel]; its outputs rest there
 * until they are transposed back.  Where only one of the tensors is NCHW, the other is read or written in place; but
 * NHWC pixels that share few sets of the L1 are copied to the workspace (blocking_d.c).
 */
#include "run_d.h"

/* Where the loops stand: the channels of an image from `channel` on. */
typedef struct d_band {
    size_t image, channel;
    size_t first_row, end_row, first_column, end_column; /* tiles */
    d_piece rows, columns;                               /* outputs */
} d_band;

/* `from` is an array of channels' rows of columns, or of pixels. */
static void copy_rows(const d_nhwc_run *run, const float *from, tap_range rows, tap_range columns, float *to)
{
    const problem *p = run->p;
    const size_t width = columns.end - columns.begin;
    const bool follow = p->in.row == (ptrdiff_t)width * p->in.column; /* then they are one row */
    for (size_t row = rows.begin; row < rows.end; row += follow ? rows.end - rows.begin : 1) {
        const size_t count = follow ? (rows.end - rows.begin) * width : width;
        if (p->in.channel == 1)
            conv2d_copy_pixels(run->in_channels, count, from, p->in.column, to, run->pixel);
        else
            run->kernel->helpers->transpose(from, p->in.channel, run->in_channels, count, to, run->pixel);
        from += p->in.row;
        to += (ptrdiff_t)width * run->pixel;
    }
}

/* What the band reads. */
static void set_input(d_nhwc_run *run, const d_band *band, float *copy, pitches *from)
{
    const problem *p = run->p;
    const size_t column_span = (p->kernel_width - 1) * p->dilation_w + 1;
    const tap_range rows = inputs_of(band->rows.begin, band->rows.begin + band->rows.count - 1, p->stride_h,
                                     rows_for_one(p), p->pad_top, p->in_height);
    const tap_range columns = inputs_of(band->columns.begin, band->columns.begin + band->columns.count - 1, p->stride_w,
                                        column_span, p->pad_left, p->in_width);
    const float *in = run->args->in + (ptrdiff_t)band->image * p->in.image +
                      (ptrdiff_t)(band->channel / p->out_channels * p->in_channels) * p->in.channel;
    *from = p->in;
    run->in = in;
    if (!run->copies)
        return;
    copy_rows(run, in + (ptrdiff_t)rows.begin * p->in.row + (ptrdiff_t)columns.begin * p->in.column, rows, columns,
              copy);
    *from = (pitches){.channel = 1, .column = run->pixel};
    from->row = (ptrdiff_t)(columns.end - columns.begin) * from->column;
    run->in = copy - (ptrdiff_t)rows.begin * from->row - (ptrdiff_t)columns.begin * from->column;
}

/* Where the band's outputs go at first. */
static void set_output(d_nhwc_run *run, const d_band *band, float *buffer, pitches *to)
{
    const problem *p = run->p;
    const ptrdiff_t out = (ptrdiff_t)band->image * p->out.image + (ptrdiff_t)band->channel * p->out.channel;
    *to = p->out;
    run->out = run->args->out + out;
    run->residual = p->has_residual ? run->args->residual + out : NULL;
    if (p->out.channel == 1)
        return;
    *to = (pitches){.channel = 1, .column = run->pixel};
    to->row = (ptrdiff_t)band->columns.count * to->column;
    run->out = buffer - (ptrdiff_t)band->rows.begin * to->row - (ptrdiff_t)band->columns.begin * to->column;
    run->residual = NULL;
    run->tile.activation = CONV2D_NONE; /* the store does both */
}

static void store_band(const d_nhwc_run *run, const d_band *band, const float *buffer)
{
    const problem *p = run->p;
    const bool follow = p->out.row == (ptrdiff_t)band->columns.count; /* then they are one row */
    const ptrdiff_t out = (ptrdiff_t)band->image * p->out.image + (ptrdiff_t)band->channel * p->out.channel +
                          (ptrdiff_t)band->rows.begin * p->out.row + (ptrdiff_t)band->columns.begin;
    conv2d_tile_store store = {
        .tile = buffer,
        .tile_pitch = run->pixel,
        .channels = run->channels,
        .columns = band->columns.count * (follow ? band->rows.count : 1),
        .out = run->args->out + out,
        .out_pitch = p->out.channel,
        .residual = p->has_residual ? run->args->residual + out : NULL,
        .activation = p->activation,
        .act_a = p->act_a,
        .act_b = p->act_b,
    };
    for (size_t row = 0; row < band->rows.count; row += follow ? band->rows.count : 1) {
        run->kernel->helpers->store_nchw(&store);
        if (p->curve != CONV2D_NONE)
            run->kernel->helpers->activate(p->curve, store.out, run->channels, store.columns, p->out.channel);
        store.tile += run->to.row;
        store.out += p->out.row;
        if (store.residual)
            store.residual += p->out.row;
    }
}

/* A band that is the whole image, phase by phase of its dilation (run_d_dilated.c). */
static void run_phases(d_nhwc_run *run, d_tail *tail, size_t channel)
{
    problem whole = *run->p, phase, latest = {.batch = 0};
    whole.in = run->from;
    whole.out = run->to;
    d_nhwc_run each;
    for (size_t i = 0; i < conv2d_d_phases(&whole); i++) {
        const d_begin at = conv2d_d_phase(&whole, i, &phase);
        if (i == 0 || !conv2d_d_same_sizes(&phase, &latest)) {
            conv2d_d_nhwc_begin(&each, &phase, run->kernel, run->blocking, run->args, tail);
            each.whole = run->whole;
            each.tile.activation = run->tile.activation;
            conv2d_d_nhwc_set_channels(&each, channel, run->channels);
            conv2d_d_nhwc_set_pitches(&each, &phase.in, &phase.out);
            latest = phase;
        }
        each.in = run->in + at.in;
        each.out = run->out + at.out;
        each.residual = run->residual ? run->residual + at.out : NULL;
        conv2d_d_nhwc_rows(&each, (d_piece){0, phase.out_height}, 0, each.columns.pieces);
    }
}

static void run_band(d_nhwc_run *run, d_tail *tail, bool phases, d_band *band, float *copy, float *buffer)
{
    const problem *p = run->p;
    pitches from, to;
    band->rows = conv2d_d_pieces_at(&run->rows, band->first_row, band->end_row);
    band->columns = conv2d_d_pieces_at(&run->columns, band->first_column, band->end_column);
    conv2d_d_nhwc_set_channels(run, band->channel,
                               min_size(p->groups * p->out_channels - band->channel, (size_t)run->pixel));
    run->in_channels = run->channels / p->out_channels * p->in_channels;
    set_input(run, band, copy, &from);
    set_output(run, band, buffer, &to);
    conv2d_d_nhwc_set_pitches(run, &from, &to);
    for (size_t tile = band->first_row; tile < band->end_row;) {
        const size_t end = run->blocking->down ? band->end_row : tile + 1;
        const d_piece rows = conv2d_d_pieces_at(&run->rows, tile, end);
        if (phases)
            run_phases(run, tail, band->channel);
        else
            conv2d_d_nhwc_rows(run, rows, band->first_column, band->end_column);
        if (p->curve != CONV2D_NONE && p->out.channel == 1)
            conv2d_d_nhwc_activate(run, rows, band->first_column, band->end_column);
        tile = end;
    }
    if (p->out.channel != 1)
        store_band(run, band, buffer);
}

/* Units of work are the row tiles of a band's columns for a chunk of channels, numbered in loop order. */
void conv2d_run_d_bands(const ready_plan *plan, const conv2d_args *args, size_t part, size_t parts)
{
    const problem *p = &plan->problem;
    const blocking *b = &plan->blocking;
    d_nhwc_run run;
    d_tail tail;
    conv2d_d_nhwc_begin(&run, p, plan->kernel, b, args, &tail);
    run.copies = b->copy_floats != 0;
    if (b->phases) /* no band is a part of the image */
        run.rows = (d_spread){.largest = p->out_height, .full = 1, .pieces = 1};
    run.pixel = (ptrdiff_t)b->chunk_channels;
    run.whole = run.copies && p->out.channel != 1;
    float *copy = args->workspace + part * b->workspace;
    copy += -((uintptr_t)copy / sizeof *copy) % CONV2D_OC_BLOCK; /* to a cache line */
    const size_t band_rows = max_size(b->band_rows / run.rows.largest, 1);
    const bool whole_rows = b->band_columns >= p->out_width; /* what is left of them may be several tiles */
    const size_t band_columns = whole_rows ? run.columns.pieces : max_size(b->band_columns / d_widest(&run.columns), 1);
    const size_t across = divide_up(run.columns.pieces, band_columns);
    const size_t chunks = divide_up(p->groups * p->out_channels, b->chunk_channels);
    const share units = share_of(p->batch * chunks * across * run.rows.pieces, part, parts);
    for (size_t unit = units.begin; unit < units.end;) {
        const size_t outer = unit / run.rows.pieces, row = unit % run.rows.pieces, column = outer % across;
        const size_t most = min_size(run.rows.pieces - row, units.end - unit);
        d_band band = {
            .image = outer / across / chunks,
            .channel = outer / across % chunks * b->chunk_channels,
            .first_row = row,
            .end_row = row + min_size(most, band_rows),
            .first_column = column * band_columns,
            .end_column = min_size((column + 1) * band_columns, run.columns.pieces),
        };
        run_band(&run, &tail, b->phases, &band, copy, copy + b->copy_floats);
        unit += band.end_row - band.first_row;
    }
}
