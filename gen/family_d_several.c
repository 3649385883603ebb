/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, 3x3: a tile of one output row takes several vectors of channels at a time.  If pixels lie a power of
 * two apart, what a tile reads of them comes from few sets of the caches (src/spread_d.c).  AVX2's two vectors are a
 * whole line of each pixel: one at a time comes back for the other half of the lines when all pixels of the tile have
 * been read, and the L1 may have lost them.  AVX-512's four are lines side by side, which do not wait for each other as
 * those of many pixels do (stride 2).  Looped taps share the beginning.
 */
#include "emit_d.h"

void emit_d_nhwc_vectors(writer *w, const spec *s, const char *channels)
{
    const int lanes = s->at_once * s->isa->lanes, sums = s->tile.channels * s->tile.columns;
    block_begin(w, "for (size_t i = 0; i < %s / %d; i++)", channels, s->at_once);
    line(w, "const size_t vectors = tile->backwards ? %s / %d - 1 - i : i;", channels, s->at_once);
    line(w, "const float *in = place + vectors * %d, *bias = tile->bias + vectors * %d;", lanes, lanes);
    line(w, "const float *weights = tile->weights + (ptrdiff_t)vectors%s * tile->weights_skip;",
         s->isa->mask_registers ? " * 4" : ""); /* AVX2's two are halves of a block */
    line(w, "float *out = to + vectors * %d;", lanes);
    for (int i = 0; i < sums; i++)
        emit_d_nhwc_sum(w, s, i, i * s->at_once / sums * s->isa->lanes);
}

/* AVX-512: a pixel waits in its register for all its taps; four vectors of seven sums leave room for it and three
 * weights.  It fetches what it will read of the pixel next (Zen 5: 16 layers 1.02, from the L3 0.97 to 1.13). */
static void emit_vector(writer *w, const spec *s, int vector)
{
    const int taps = s->taps.kernel_width, columns = s->tile.columns;
    for (int tap = 0; tap < taps; tap++) {
        line(w, "__m512 weight%d = _mm512_loadu_ps(taps + %d);", tap, tap * 16);
        line(w, "PIN(weight%d);", tap);
    }
    line(w, "const float *column = row;");
    for (int column = 0; column < d_input_columns(s); column++) {
        emit_d_nhwc_column(w, s, column);
        line(w, "__m512 pixel = _mm512_loadu_ps(column);");
        line(w, "PIN(pixel);");
        line(w, "_mm_prefetch((const char *)(column + %d), _MM_HINT_T0);", s->at_once * s->isa->lanes);
        for (int p = 0; p < columns; p++) {
            const int tap = column - p * s->taps.stride, sum = vector * columns + p;
            if (tap >= 0 && tap < taps)
                line(w, "FMA_INTO(acc%d, pixel, weight%d);", sum, tap);
        }
        block_end(w);
        if (column + 1 == d_input_columns(s))
            break;
        line(w, "column += column_pitch;");
        line(w, "OPAQUE(column);");
    }
    for (int p = 0; p < columns; p++)
        line(w, "PIN(acc%d);", vector * columns + p);
}

void emit_d_nhwc_several(writer *w, const spec *s)
{
    const int columns = s->tile.columns, lanes = s->isa->lanes, at_once = spec_at_once(s);
    const bool narrow = !s->isa->mask_registers;
    spec all = *s;
    all.tile.channels = at_once;
    all.at_once = at_once;
    scope_begin(w);
    emit_d_nhwc_pitches(w, &all);
    emit_d_nhwc_vectors(w, &all, "tile->channels");
    line(w, "const float *row = in + in_row0, *taps = weights + kernel_row0;");
    block_begin(w, "for (uint32_t n = rows0; n != 0; n--)");
    for (int vector = 0; vector < at_once; vector++) {
        const bool ends = vector + 1 == at_once;
        scope_begin(w);
        if (narrow)
            emit_d_nhwc_row(w, &all, vector, vector);
        else
            emit_vector(w, &all, vector);
        block_end(w);
        line(w, ends ? "row += in_row_pitch - %d;" : "row += %d;", ends ? vector * lanes : lanes);
        if (narrow)
            line(w, "taps += %d;", ends ? s->taps.kernel_width * 16 - lanes : lanes);
        else if (ends)
            line(w, "taps += %d - %d * tile->weights_skip;", s->taps.kernel_width * 16, vector);
        else
            line(w, "taps += tile->weights_skip;");
        line(w, "OPAQUE(row);");
    }
    block_end(w);
    emit_d_finish(w, &all, at_once * columns, "out");
    block_end(w);
    block_end(w);
}
