/* SPDX-License-Identifier: MIT */
/* Family K's loop over the channels where each has one tap: 1x1, and rows of other kernels that one tap is left of. */
#include "emit_k.h"

/* A loop over one kernel row would cost as much as its taps do: AVX2 1-17 %; Zen 5, AVX-512 1-3 %, and 4-7 % while
 * other guests disturb the core. */
bool k_has_short_loop(const spec *s)
{
    const bool pays = k_is_short(s) || (is_inside(s) && s->tile.columns > 6);
    return s->taps.kernel_width == 1 && pays;
}

/*
 * NHWC, AVX2's largest tiles: four channels a round, 21 to 22 instructions for 12 FMAs instead of 25 or 26.  That is as
 * fast where nothing else runs, but up to 1.25 times where the core's other thread takes its share (docs/progress.md).
 */
enum { CHANNELS_AT_ONCE = 4 };

static bool unrolls(const spec *s)
{
    return k_is_short(s) && s->border == INTERIOR && spec_fetches(s);
}

static void emit_channel(writer *w, const spec *s)
{
    const bool walks = k_any_stride_avx2(s); /* without a pointer for each channel */
    if (!walks)
        line(w, "const float *taps = in;");
    line(w, "OPAQUE(taps);");
    emit_k_weights(w, s, 0);
    emit_k_pixels(w, s);
    line(w, "%s += in_channel_pitch;", walks ? "taps" : "in");
    line(w, "weights += weights_step;");
}

/* Two pointers, each with three columns (2x6 by one pointer: 0.9 times as fast in a core that two threads share). */
static void emit_one_of_round(writer *w, const spec *s, int channel)
{
    scope_begin(w);
    line(w, "OPAQUE(pitch);");
    emit_k_weights(w, s, channel);
    for (int p = 0; p < s->tile.columns; p++) {
        char address[48];
        snprintf(address, sizeof address, "AT(%s, %d * pitch)[%d]", p < 3 ? "taps" : "behind", p % 3, channel);
        emit_k_fmas(w, s, 0, p, address);
    }
    block_end(w);
}

static void emit_rounds(writer *w, const spec *s)
{
    block_begin(w, "if (in_channel_pitch == 1 && weights_skip == 0)");
    line(w, "const float *behind = AT(taps, 3 * pitch);");
    block_begin(w, "for (size_t rounds = channel / %d; rounds != 0; rounds--)", CHANNELS_AT_ONCE);
    line(w, "OPAQUE(behind);");
    /* Six pixels are six floats a channel, less than half a line.  The last floats of each two channels: the first ones
     * would leave a tile's last line to the next tile, which needs it at once. */
    for (int half = 0; half < 2; half++) {
        line(w, "ahead += 2 * ahead_step;");
        line(w, "OPAQUE(ahead);");
        line(w, "__builtin_prefetch(ahead - 1, 0, 3);");
    }
    for (int channel = 0; channel < CHANNELS_AT_ONCE; channel++)
        emit_one_of_round(w, s, channel);
    emit_k_pins(w, s, 0, s->tile.columns - 1);
    line(w, "taps += %d;", CHANNELS_AT_ONCE);
    line(w, "behind += %d;", CHANNELS_AT_ONCE);
    line(w, "weights += %d;", CHANNELS_AT_ONCE * 16);
    block_end(w);
    line(w, "channel %%= %d;", CHANNELS_AT_ONCE);
    block_end(w);
}

/*
 * AVX-512, one vector of channels: each FMA has a load, which with the weights are more than the two a cycle that there
 * are.  Every other column reads two input channels at once, and spreads them by shuffles, which Zen 5 has time for (a
 * loop of nothing else 1.10 to 1.18; all columns 1.08 to 1.11).
 */
static bool pairs_channels(const spec *s)
{
    return s->isa->mask_registers && !s->taps.stride && s->tile.channels == 1;
}

static void emit_pair_of_column(writer *w, const spec *s, int pixel)
{
    const char *const offset = k_pixel_offset(s, pixel);
    if (pixel % 2 == 0) {
        scope_begin(w);
        line(w, "__m512 pair;");
        line(w, "__asm__(\"vbroadcastsd %%1, %%0\" : \"=v\"(pair) : \"m\"(*(const float(*)[2])(pixels + %s)));",
             offset);
        line(w, "FMA_INTO(acc0_%d, _mm512_moveldup_ps(pair), weight0);", pixel);
        line(w, "FMA_INTO(acc0_%d, _mm512_movehdup_ps(pair), weight1);", pixel);
        block_end(w);
        return;
    }
    for (int channel = 0; channel < 2; channel++)
        line(w, "acc0_%d = _mm512_fmadd_ps(_mm512_set1_ps(pixels[%s + %d]), weight%d, acc0_%d);", pixel, offset,
             channel, channel, pixel);
}

static void emit_pairs(writer *w, const spec *s)
{
    block_begin(w, "if (tile->pairs)");
    block_begin(w, "for (; channel > 1; channel -= 2)");
    line(w, "const float *taps = in;");
    line(w, "OPAQUE(taps);");
    for (int channel = 0; channel < 2; channel++) {
        line(w, "__m512 weight%d = _mm512_loadu_ps(weights + %d);", channel, channel * 16);
        line(w, "PIN(weight%d);", channel);
    }
    for (int p = 0; p < s->tile.columns; p++) {
        emit_k_step(w, s, p);
        emit_pair_of_column(w, s, p);
    }
    line(w, "in += 2;");
    line(w, "weights += 2 * 16;");
    block_end(w);
    block_end(w);
}

/* Prefetches of outputs again and again would take the loads' time. */
void emit_k_short_channels(writer *w, const spec *s)
{
    line(w, "const ptrdiff_t weights_step = 16 + weights_skip;");
    line(w, "size_t channel = tile->in_channels;");
    if (k_any_stride_avx2(s))
        line(w, "const float *taps = in;");
    if (unrolls(s))
        emit_rounds(w, s);
    if (pairs_channels(s))
        emit_pairs(w, s);
    if (k_prefetches_out(s)) {
        block_begin(w, "for (; channel > %d; channel--)", s->tile.columns);
        emit_k_prefetch(w, s, false);
        emit_channel(w, s);
        block_end(w);
    }
    block_begin(w, "for (; channel != 0; channel--)");
    emit_k_prefetch(w, s, true);
    emit_channel(w, s);
    block_end(w);
}
