/* SPDX-License-Identifier: MIT */
/*
 * Family W: the lanes of a vector are neighbouring output columns.  A tile is `channels` output channels times
 * `columns` vectors; each input vector is used by all channels, each weight is broadcast.
 */
#include "emit.h"

/* acc<channel>_<vector> */
static void accumulator_name(int index, const void *context, char *name, size_t size)
{
    const spec *s = context;
    snprintf(name, size, "acc%d_%d", index / s->tile.columns, index % s->tile.columns);
}

/* AVX2's low tiles follow each other without a return: run_w.c takes 100 instructions between them, this 10 (64->64
 * @56 1x1 6 %).  AVX-512 has 16x1 for such problems, and loses 1-3 % with a loop around it. */
static bool repeats(const spec *s)
{
    return (!s->isa->mask_registers && s->border != FILL) || s->border == THROUGH;
}

/* Those of a strided row follow each other along it. */
static bool goes_along_row(const spec *s)
{
    return s->family == FAMILY_W_STRIDED && s->border == INTERIOR;
}

/* What a repetition moves, as expressions. */
typedef struct moving {
    const char *in, *weights, *bias, *out, *residual;
} moving;

static moving moving_of(const spec *s)
{
    if (goes_along_row(s))
        return (moving){"tile_in", "tile->weights", "tile->bias", "tile_out", "tile_residual"};
    return repeats(s) ? (moving){"tile->in", "tile_weights", "bias", "tile_out", "tile_residual"}
                      : (moving){"tile->in", "tile->weights", "tile->bias", "tile->out", "tile->residual"};
}

static void emit_setup(writer *w, const spec *s)
{
    if (repeats(s)) {
        line(w, "const float *tile_weights = tile->weights, *bias = tile->bias, *tile_residual = tile->residual;");
        line(w, "float *tile_out = tile->out;");
        line(w, "size_t repeats = tile->repeats;");
        if (s->border == THROUGH)
            line(w, "size_t block_repeats = tile->block_repeats;");
    }
    line(w, "const ptrdiff_t in_channel_pitch = tile->in_channel_pitch, out_channel_pitch = tile->out_channel_pitch;");
    line(w, "const ptrdiff_t weights_skip = tile->weights_skip;");
    if (s->border == FILL) {
        line(w, "const ptrdiff_t panel_pitch = tile->panel_pitch;");
        return;
    }
    if (goes_along_row(s)) {
        line(w, "const float *tile_in = tile->in, *tile_residual = tile->residual;");
        line(w, "float *tile_out = tile->out;");
        line(w, "size_t repeats = tile->repeats;");
    } else {
        line(w, "const float *prefetch_out = tile->prefetch_out;");
    }
    if (s->border == THROUGH)
        return;
    line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch, prefetch_in = tile->prefetch_in;");
    if (!s->taps.kernel_width) {
        line(w, "const ptrdiff_t *tap_offset = tile->tap_offset;");
        line(w, "const size_t kernel_width = tile->kernel_width;");
    }
    for (int tap = 0; s->border == EDGE && tap < s->taps.kernel_width; tap++)
        line(w, "const __mmask16 inside%d = (__mmask16)tile->mask[%d];", tap, tap);
    if (s->family == FAMILY_W_STRIDED)
        emit_w_strided_setup(w, s);
    if (s->border == EDGE && s->tile.columns == 1 && !s->taps.kernel_width)
        line(w, "const uint32_t narrow = tile->narrow, partial = tile->partial;");
}

/* Whether only some lanes of an output vector are wanted: the last one of an edge tile. */
static bool cut_short(const spec *s, int vector)
{
    return s->border == EDGE && vector == s->tile.columns - 1;
}

/* Sums start where the input channels before left them. */
static void emit_sums(writer *w, const spec *s)
{
    line(w, "const float *sums = %s;", moving_of(s).out);
    for (int k = 0; k < s->tile.channels; k++) {
        for (int v = 0; v < s->tile.columns; v++)
            if (!cut_short(s, v))
                line(w, "acc%d_%d = %s_loadu_ps(sums + %d);", k, v, s->isa->prefix, v * s->isa->lanes);
            else if (s->isa->mask_registers)
                line(w, "acc%d_%d = _mm512_maskz_loadu_ps((__mmask16)tile->store_mask, sums + %d);", k, v,
                     v * s->isa->lanes);
            else
                line(w, "acc%d_0 = _mm256_maskload_ps(sums, lanes_of(tile->store_mask));", k);
        if (k + 1 < s->tile.channels)
            line(w, "sums += out_channel_pitch;");
    }
}

/* Or at the bias. */
static void emit_bias(writer *w, const spec *s)
{
    for (int k = 0; k < s->tile.channels; k++) {
        line(w, "acc%d_0 = %s_set1_ps(%s[%d]);", k, s->isa->prefix, moving_of(s).bias, k);
        for (int v = 1; v < s->tile.columns; v++)
            line(w, "acc%d_%d = acc%d_0;", k, v, k);
    }
}

static void emit_start(writer *w, const spec *s)
{
    char name[32];
    for (int i = 0; i < s->tile.channels * s->tile.columns; i++) {
        accumulator_name(i, s, name, sizeof name);
        line(w, "%s %s;", s->isa->vector, name);
    }
    if (s->border == THROUGH) {
        emit_bias(w, s);
        return;
    }
    block_begin(w, "if (tile->accumulate)");
    emit_sums(w, s);
    block_else(w);
    emit_bias(w, s);
    block_end(w);
}

/* Asked for when the tile begins, the residual is there when it ends (AVX-512, 64->64 @112 1x1 1.15, 64->256 @56 1.05
 * times as fast; AVX2 up to 1.4). */
static void emit_residual_prefetch(writer *w, const spec *s)
{
    block_begin(w, "if (%s)", moving_of(s).residual);
    line(w, "const float *residual = %s;", moving_of(s).residual);
    block_begin(w, "for (int k = 0; k < %d; k++, residual += out_channel_pitch)", s->tile.channels);
    for (int at = 0; at < s->tile.columns * s->isa->lanes; at += 16)
        line(w, "__builtin_prefetch(residual + %d, 0, 3);", at);
    block_end(w);
    block_end(w);
}

/* In the lanes that are wanted. */
static void emit_residual(writer *w, const spec *s)
{
    block_begin(w, "if (%s)", moving_of(s).residual);
    line(w, "const float *residual = %s;", moving_of(s).residual);
    for (int k = 0; k < s->tile.channels; k++) {
        for (int v = 0; v < s->tile.columns; v++) {
            char load[96];
            const int offset = v * s->isa->lanes;
            if (!cut_short(s, v))
                snprintf(load, sizeof load, "%s_loadu_ps(residual + %d)", s->isa->prefix, offset);
            else if (s->isa->mask_registers)
                snprintf(load, sizeof load, "_mm512_maskz_loadu_ps((__mmask16)tile->store_mask, residual + %d)",
                         offset);
            else
                snprintf(load, sizeof load, "_mm256_maskload_ps(residual, lanes_of(tile->store_mask))");
            line(w, "acc%d_%d = %s_add_ps(acc%d_%d, %s);", k, v, s->isa->prefix, k, v, load);
        }
        if (k + 1 < s->tile.channels)
            line(w, "residual += out_channel_pitch;");
    }
    block_end(w);
}

static void emit_channel_stores(writer *w, const spec *s, int k)
{
    for (int v = 0; v < s->tile.columns; v++)
        if (!cut_short(s, v))
            line(w, "%s_storeu_ps(out + %d, acc%d_%d);", s->isa->prefix, v * s->isa->lanes, k, v);
        else if (s->isa->mask_registers)
            line(w, "_mm512_mask_storeu_ps(out + %d, (__mmask16)store_mask, acc%d_%d);", v * s->isa->lanes, k, v);
        else
            line(w, "store_first(out, acc%d_0, store_mask);", k);
}

/* THROUGH: the last channel first. */
static void emit_row_stores(writer *w, const spec *s)
{
    const int channels = s->tile.channels;
    const bool backwards = s->border == THROUGH;
    line(w, "float *out = %s;", moving_of(s).out);
    if (backwards)
        line(w, "out += %d * out_channel_pitch;", channels - 1);
    if (s->border == EDGE)
        line(w, "const uint32_t store_mask = tile->store_mask;");
    for (int i = 0; i < channels; i++) {
        emit_channel_stores(w, s, backwards ? channels - 1 - i : i);
        if (i + 1 < channels)
            line(w, "out %s out_channel_pitch;", backwards ? "-=" : "+=");
    }
}

/* To the next output channels of the same columns, or the next columns. */
static void emit_step(writer *w, const spec *s)
{
    if (goes_along_row(s)) {
        const int columns = s->tile.columns * s->isa->lanes;
        line(w, "tile_in += %d;", columns * s->taps.stride);
        line(w, "tile_out += %d;", columns);
        line(w, "tile_residual += tile_residual ? %d : 0;", columns);
        return;
    }
    line(w, "tile_weights += %d;", s->tile.channels);
    if (s->border == THROUGH) {
        block_begin(w, "if (--block_repeats == 0)");
        line(w, "tile_weights += tile->next_block;");
        line(w, "block_repeats = %d;", 16 / s->tile.channels);
        block_end(w);
    }
    line(w, "bias += %d;", s->tile.channels);
    line(w, "tile_out += %d * out_channel_pitch;", s->tile.channels);
    line(w, "tile_residual += tile_residual ? %d * out_channel_pitch : 0;", s->tile.channels);
}

void emit_w_tile(writer *w, const spec *s)
{
    if (s->border == ALONG) {
        emit_w_along(w, s);
        return;
    }
    emit_tile_begin(w, s);
    emit_setup(w, s);
    const bool loops = repeats(s) || goes_along_row(s);
    if (loops)
        block_begin(w, "do");
    line(w, "const float *in = %s, *weights = %s;", moving_of(s).in, moving_of(s).weights);
    if (goes_along_row(s))
        line(w, "const float *prefetch_out = tile_out + %d;", s->tile.columns * s->isa->lanes);
    emit_start(w, s);
    emit_residual_prefetch(w, s);
    emit_w_channels(w, s);
    emit_residual(w, s);
    emit_activation(w, s->isa, "tile", s->tile.channels * s->tile.columns, accumulator_name, s);
    emit_row_stores(w, s);
    if (loops) {
        emit_step(w, s);
        block_end_with(w, " while (--repeats != 0);");
    }
    emit_tile_end(w);
}
