/* SPDX-License-Identifier: MIT */
/* Family W's loop over the channels of a 1x1. */
#include "emit.h"

/* AVX2's largest tile takes several channels in a round: 20.75 instead of 23 instructions for 12 FMAs. */
enum { CHANNELS_AT_ONCE = 4 };

static bool unrolls(const spec *s)
{
    const bool spills = s->border == THROUGH; /* gcc 12 */
    return !s->isa->mask_registers && s->tile.channels * s->tile.columns == 12 && !spills;
}

/* One of them. */
static void emit_channel(writer *w, const spec *s, int channel)
{
    scope_begin(w);
    for (int v = 0; v < s->tile.columns; v++)
        line(w, "const __m256 in%d = _mm256_loadu_ps(row + %d);", v, v * s->isa->lanes);
    for (int k = 0; k < s->tile.channels; k++) {
        line(w, "const __m256 weight%d = _mm256_set1_ps(weights[%d]);", k, channel * 16 + k);
        for (int v = 0; v < s->tile.columns; v++)
            line(w, "FMA_INTO(acc%d_%d, in%d, weight%d);", k, v, v, k);
    }
    block_end(w);
    line(w, "row += in_channel_pitch;");
    line(w, "OPAQUE(row);");
}

static void emit_rounds(writer *w, const spec *s)
{
    block_begin(w, "if (weights_skip == 0)");
    block_begin(w, "for (size_t rounds = channel / %d; rounds != 0; rounds--)", CHANNELS_AT_ONCE);
    for (int channel = 0; channel < CHANNELS_AT_ONCE; channel++)
        emit_channel(w, s, channel);
    line(w, "weights += %d;", CHANNELS_AT_ONCE * 16);
    block_end(w);
    line(w, "channel %%= %d;", CHANNELS_AT_ONCE);
    block_end(w);
}

/*
 * A tile of a 1x1 may take no longer than 100 cycles: nothing but the tap is in its loop, whose exit is then often
 * foreseen (Zen 4, AVX2 1-5 %, 8x3 3 %; 16x1 loses 2 %), and the outputs to be written next are fetched before it, if
 * run_w.c asks for them.
 */
void emit_w_short_channels(writer *w, const spec *s)
{
    const int floats = s->tile.columns * s->isa->lanes;
    block_begin(w, "for (int k = 0; prefetch_out && k < %d; k++)", s->tile.channels);
    for (int at = 0; at < floats; at += 16)
        line(w, "__builtin_prefetch(prefetch_out + %d, 1, 3);", at);
    line(w, "prefetch_out += out_channel_pitch;");
    block_end(w);
    line(w, "const ptrdiff_t weights_step = 16 + weights_skip;");
    line(w, "const float *row = in;");
    if (unrolls(s)) {
        line(w, "size_t channel = tile->in_channels;");
        emit_rounds(w, s);
        block_begin(w, "for (; channel != 0; channel--)");
    } else
        block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    emit_w_tap(w, s, 0);
    line(w, "row += in_channel_pitch;");
    line(w, "weights += weights_step;");
    block_end(w);
}
