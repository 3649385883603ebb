/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, unrolled: depthwise, one input channel for each output channel, the lanes of a vector are
 * neighbouring output columns.  A tile is `channels` output rows of one vector of columns; each input vector is loaded
 * once and used by every output row that has a tap on it.  The tile does so for many channels at the same place.
 */
#include "emit_d.h"

int d_input_rows(const spec *s)
{
    return (s->tile.channels - 1) * row_stride(s) + kernel_rows(s);
}

/* The first weights stay in registers, as many as these suffice for; the FMAs of the others broadcast their own. */
static bool holds_weight(const spec *s, int index)
{
    const int held = spec_budget(s).weights;
    return held > 1 && index < held;
}

bool d_holds_all_weights(const spec *s)
{
    return holds_weight(s, kernel_rows(s) * s->taps.kernel_width - 1);
}

static void emit_setup(writer *w, const spec *s)
{
    line(w, "const float *in = tile->in, *%s = tile->weights, *bias = tile->bias;",
         is_sum(s) ? "first_weights" : "weights");
    line(w, "float *out = tile->out;");
    if (d_input_rows(s) > 1)
        line(w, "const ptrdiff_t in_row_pitch = tile->in_row_pitch;");
    if (s->tile.channels > 1 || s->border == FOLDED)
        line(w, "const ptrdiff_t out_row_pitch = tile->out_row_pitch;");
    if (kernel_rows(s) > 1)
        line(w, "const uint32_t rows = tile->rows;");
    if (d_loads_apart(s))
        line(w, "const ptrdiff_t tap_pitch = tile->tap_pitch;");
    if (is_sum(s))
        line(w, "const ptrdiff_t in_plane_pitch = tile->in_plane_pitch;");
    if (prefetches(s))
        line(w, "const ptrdiff_t prefetch_in = tile->prefetch_in;");
    emit_d_order(w, s);
    if (s->border == FOLDED)
        emit_d_folded_setup(w, s);
}

static void emit_weights(writer *w, const spec *s)
{
    const isa_row *isa = vectors_of(s);
    const int taps = s->taps.kernel_width;
    for (int tap = 0; tap < kernel_rows(s) * taps && holds_weight(s, tap); tap++)
        line(w, "const %s weight%d_%d = %s_set1_ps(weights[%d]);", isa->vector, tap / taps, tap % taps, isa->prefix,
             tap * 16);
}

void emit_d_advance(writer *w)
{
    /* Opaque: gcc otherwise computes an offset for each row before the loops, and spills them. */
    line(w, "row += in_row_pitch;");
    line(w, "OPAQUE(row);");
}

void emit_d_fma(writer *w, const spec *s, int sum, int row, int kernel_row, int tap, const char *has)
{
    const isa_row *isa = vectors_of(s);
    const int index = kernel_row * s->taps.kernel_width + tap;
    char weight[64], mask[WORD_SIZE];
    if (holds_weight(s, index))
        snprintf(weight, sizeof weight, "weight%d_%d", kernel_row, tap);
    else
        snprintf(weight, sizeof weight, "%s_set1_ps(weights[%d])", isa->prefix, index * 16);
    if (!d_tap_masked(s, tap) && !has) {
        line(w, "acc%d = %s_fmadd_ps(in%d_%d, %s, acc%d);", sum, isa->prefix, row, tap, weight, sum);
        return;
    }
    if (!isa->mask_registers) {
        line(w, "acc%d = _mm256_blendv_ps(acc%d, _mm256_fmadd_ps(in%d_%d, %s, acc%d), _mm256_castsi256_ps(%s));", sum,
             sum, row, tap, weight, sum, d_word(s, d_sum_word(s, tap), mask));
        return;
    }
    if (d_tap_masked(s, tap))
        snprintf(mask, sizeof mask, "mask%d%s%s", tap, has ? " & " : "", has ? has : "");
    else
        snprintf(mask, sizeof mask, "%s", has);
    if (holds_weight(s, index))
        line(w, "acc%d = %s_mask3_fmadd_ps(in%d_%d, %s, acc%d, %s);", sum, isa->prefix, row, tap, weight, sum, mask);
    else
        line(w, "MASKED_FMA_%d(acc%d, in%d_%d, weights[%d], %s);", isa->lanes, sum, row, tap, index * 16, mask);
}

static void emit_fma(writer *w, const spec *s, int out_row, int kernel_row, int tap)
{
    emit_d_fma(w, s, out_row, out_row * row_stride(s) + kernel_row, kernel_row, tap, NULL);
}

static bool has_tap(const spec *s, int out_row, int row)
{
    const int kernel_row = row - out_row * row_stride(s);
    return kernel_row >= 0 && kernel_row < kernel_rows(s);
}

/* All FMAs on one input row, taps in order, output rows side by side. */
static void emit_row_fmas(writer *w, const spec *s, int row)
{
    /* Opaque: broadcasts would be hoisted out of the loop over columns, and spilled. */
    if (!d_holds_all_weights(s))
        line(w, "OPAQUE(weights);");
    for (int tap = 0; tap < s->taps.kernel_width; tap++) {
        emit_d_tap(w, s, row, tap);
        for (int out_row = 0; out_row < s->tile.channels; out_row++)
            if (has_tap(s, out_row, row))
                emit_fma(w, s, out_row, row - out_row * row_stride(s), tap);
    }
    for (int out_row = 0; out_row < s->tile.channels; out_row++)
        if (has_tap(s, out_row, row)) /* of what is pinned and complete gcc 12 makes a copy for the residual */
            line(w, "%s(acc%d);", has_tap(s, out_row, row + 1) ? "PIN" : "USE", out_row);
}

/* Padding takes at most half a kernel, so only the first and last input rows may lie outside. */
static void emit_rows(writer *w, const spec *s)
{
    const int count = d_input_rows(s), middle = kernel_rows(s) / 2;
    for (int row = 0; row < count; row++) {
        const bool guarded = row < middle || row >= count - middle;
        if (guarded)
            block_begin(w, "if (rows >> %d & 1)", row);
        else
            scope_begin(w);
        declare_d_row(w, s, row);
        emit_d_loads(w, s, row);
        emit_row_fmas(w, s, row);
        block_end(w);
        if (row + 1 < count)
            emit_d_advance(w);
    }
}

/*
 * 3x3, stride 2, 32 registers: an input row has taps of one or two output rows only, which are chains of 3 to 6 FMAs.
 * In steps of three input rows three chains run side by side (Zen 4: 12.5 -> 11.9 cycles a vector inside, 10.3 -> 9.1
 * for half vectors at an edge).
 */
static void emit_wave(writer *w, const spec *s)
{
    const int out_rows = s->tile.channels, last = 2 * out_rows;
    for (int row = 1; row < last; row++)
        declare_d_row(w, s, row);
    block_begin(w, "if (rows & 1)");
    declare_d_row(w, s, 0);
    emit_d_loads(w, s, 0);
    for (int tap = 0; tap < 3; tap++)
        emit_fma(w, s, 0, 0, tap);
    block_end(w);
    emit_d_advance(w);
    for (int step = 1; step <= out_rows; step++) {
        for (int row = 2 * step - 1; row <= 2 * step && row < last; row++) {
            emit_d_loads(w, s, row);
            emit_d_advance(w);
        }
        for (int tap = 0; tap < 3; tap++)
            for (int kernel_row = 0; kernel_row < 3; kernel_row++)
                if (step - kernel_row >= 0 && step - kernel_row < out_rows)
                    emit_fma(w, s, step - kernel_row, kernel_row, tap);
        for (int out_row = 0; out_row < out_rows; out_row++)
            if (out_row <= step && out_row >= step - 2)
                line(w, "%s(acc%d);", out_row == step - 2 ? "USE" : "PIN", out_row);
    }
    block_begin(w, "if (rows >> %d & 1)", last);
    declare_d_row(w, s, last);
    emit_d_loads(w, s, last);
    for (int tap = 0; tap < 3; tap++)
        emit_fma(w, s, out_rows - 1, 2, tap);
    block_end(w);
}

static bool in_waves(const spec *s)
{
    return s->family == FAMILY_D && s->taps.kernel_width == 3 && s->taps.stride == 2 && s->isa->mask_registers;
}

/* The taps of the only input channel. */
static void emit_taps(writer *w, const spec *s)
{
    line(w, "const float *row = %s;", s->border == INTERIOR ? "columns" : "in");
    if (in_waves(s))
        emit_wave(w, s);
    else
        emit_rows(w, s);
}

/* The taps of all input channels, one after the other. */
static void emit_channels(writer *w, const spec *s)
{
    line(w, "const float *weights = first_weights, *plane = %s;", s->border == INTERIOR ? "columns" : "in");
    if (s->border == INTERIOR) { /* a first layer's outputs (3x416x416 32x3x3 1.28 times as fast) */
        line(w, "const float *ahead = to + %d;", 2 * s->isa->lanes);
        for (int row = 0; row < s->tile.channels; row++) {
            line(w, "__builtin_prefetch(ahead, 1, 3);");
            if (row + 1 < s->tile.channels)
                line(w, "ahead += out_row_pitch;");
        }
    }
    block_begin(w, "for (size_t in_channel = tile->in_channels; in_channel != 0; in_channel--)");
    emit_weights(w, s);
    line(w, "const float *row = plane;");
    emit_rows(w, s);
    line(w, "plane += in_plane_pitch;");
    line(w, "weights += %d;", s->taps.kernel_width * s->taps.kernel_width * 16);
    block_end(w);
}

static void emit_vector(writer *w, const spec *s)
{
    const isa_row *isa = vectors_of(s);
    /* Opaque: held beyond the sums, they would be spilled in the activation. */
    line(w, "OPAQUE(bias);");
    if (!s->isa->mask_registers)
        emit_d_words(w, s);
    if (!s->isa->mask_registers && !is_sum(s)) {
        line(w, "OPAQUE(weights);");
        emit_weights(w, s);
    }
    const bool folded = s->border == FOLDED;
    const int sums = folded ? d_folded_sums(s) : s->tile.channels;
    for (int sum = 0; sum < sums; sum++)
        line(w, "%s acc%d = %s_set1_ps(*bias);", isa->vector, sum, isa->prefix);
    if (is_sum(s))
        emit_channels(w, s);
    else if (folded)
        emit_d_folded(w, s);
    else
        emit_taps(w, s);
    for (int sum = 0; s->taps.stride == 2 && !folded && sum < sums; sum++)
        line(w, "acc%d = interleave_%d(acc%d);", sum, isa->lanes, sum);
    emit_d_finish(w, s, sums, s->border == INTERIOR ? "to" : "out");
}

void emit_d_tile(writer *w, const spec *s)
{
    const int lanes = vectors_of(s)->lanes;
    emit_tile_begin(w, s);
    emit_setup(w, s);
    emit_d_channels_begin(w);
    if (s->isa->mask_registers && !is_sum(s))
        emit_weights(w, s);
    if (s->border == INTERIOR) {
        line(w, "const float *columns = in;");
        line(w, "float *to = out;");
        block_begin(w, "for (size_t vector = tile->vectors; vector != 0; vector--)");
        emit_vector(w, s);
        line(w, "columns += %d;", lanes * s->taps.stride);
        line(w, "to += %d;", lanes);
        block_end(w);
    } else {
        emit_vector(w, s);
    }
    emit_d_next_channel(w, s);
    emit_tile_end(w);
}
