/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, AVX2's 3x3: a tile of one output row takes two vectors of channels at a time, a whole cache line of
 * each pixel.  One at a time comes back for the other half of the lines when all pixels of the tile have been read; if
 * these lie a power of two apart, the L1 may have lost them (src/spread_d.c).  Looped taps share the beginning.
 */
#include "emit_d.h"

void emit_d_nhwc_pair(writer *w, const spec *pair, const char *channels)
{
    const int columns = pair->tile.columns, lanes = pair->isa->lanes;
    block_begin(w, "for (size_t i = 0; i < %s / 2; i++)", channels);
    line(w, "const size_t pair = tile->backwards ? %s / 2 - 1 - i : i;", channels);
    line(w, "const float *in = place + pair * %d, *bias = tile->bias + pair * %d;", 2 * lanes, 2 * lanes);
    line(w, "const float *weights = tile->weights + (ptrdiff_t)pair * tile->weights_skip;");
    line(w, "float *out = to + pair * %d;", 2 * lanes);
    for (int i = 0; i < 2 * columns; i++)
        emit_d_nhwc_sum(w, pair, i, i / columns * lanes);
}

void emit_d_nhwc_pairs(writer *w, const spec *s)
{
    const int columns = s->tile.columns, lanes = s->isa->lanes;
    spec pair = *s;
    pair.tile.channels = 2;
    pair.pair = true;
    scope_begin(w);
    emit_d_nhwc_pitches(w, &pair);
    emit_d_nhwc_pair(w, &pair, "tile->channels");
    line(w, "const float *row = in + in_row0, *taps = weights + kernel_row0;");
    block_begin(w, "for (uint32_t n = rows0; n != 0; n--)");
    for (int vector = 0; vector < 2; vector++) {
        scope_begin(w);
        emit_d_nhwc_row(w, &pair, vector, vector);
        block_end(w);
        line(w, vector ? "row += in_row_pitch - %d;" : "row += %d;", lanes);
        line(w, "taps += %d;", vector ? s->taps.kernel_width * 16 - lanes : lanes);
        line(w, "OPAQUE(row);");
    }
    block_end(w);
    emit_d_finish(w, &pair, 2 * columns, "out");
    block_end(w);
    block_end(w);
}
