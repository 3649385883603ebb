/* SPDX-License-Identifier: MIT */
/* What family K's tiles fetch for the next ones. */
#include "emit_k.h"

/* AVX2's tiles take six cycles for a channel of a 1x1. */
bool k_is_short(const spec *s)
{
    return s->taps.kernel_width == 1 && s->isa->lanes < 16;
}

/* Nor does AVX2's 1x1 have time for outputs. */
bool k_prefetches_out(const spec *s)
{
    return spec_fetches(s) && !k_is_short(s);
}

static void emit_prefetch_pixel(writer *w, const spec *s)
{
    for (int at = 0; at < s->tile.channels * s->isa->lanes; at += 16)
        line(w, "__builtin_prefetch(prefetch_out + %d, 1, 3);", at);
}

void emit_k_prefetch_setup(writer *w, const spec *s)
{
    if (!spec_fetches(s))
        return;
    line(w, "const float *ahead = %s;", k_repeats(s) ? "next_ahead" : "tile->ahead");
    line(w, "const ptrdiff_t ahead_step = tile->ahead_step;");
    if (!k_prefetches_out(s))
        return;
    line(w, "const float *prefetch_out = %s;", k_repeats(s) ? "next_out" : "tile->prefetch_out");
    line(w, "const ptrdiff_t prefetch_pitch = tile->prefetch_pitch;");
    if (s->taps.stride)
        return;
    block_begin(w, "for (size_t channel = tile->in_channels; channel < %d; channel++)", s->tile.columns);
    emit_prefetch_pixel(w, s);
    line(w, "prefetch_out += prefetch_pitch;");
    block_end(w);
}

/*
 * In the loop over channels, a few cache lines at a time: what the next tiles will need first, and the outputs of the
 * next one (NCHW: of the strip).  All at once they would fill the miss buffers, and gain nothing (Zen 4).
 */
void emit_k_prefetch(writer *w, const spec *s, bool outputs)
{
    if (!spec_fetches(s))
        return;
    line(w, "__builtin_prefetch(ahead, 0, 3);");
    line(w, "ahead += ahead_step;");
    if (!outputs || !k_prefetches_out(s))
        return;
    const int times = s->taps.stride ? s->tile.channels * s->isa->lanes : s->tile.columns;
    if (s->taps.stride)
        line(w, "__builtin_prefetch(prefetch_out, 1, 3);");
    else
        emit_prefetch_pixel(w, s);
    line(w, "prefetch_out += channel <= %d ? prefetch_pitch : 0;", times);
}
