/* SPDX-License-Identifier: MIT */
/* Family W: the loops over a tile's input channels and kernel rows, and what is fetched meanwhile. */
#include "emit.h"

/* One line for 16 FMAs is nothing; in 1x1 with fewer channels, or AVX2's four tiles of 4x3, prefetches take the place
 * of loads (AVX-512 36x56x56 12x1x1 11 %, AVX2 256x56x56 64x1x1 17 %), so there run_w.c asks for them. */
static bool may_fetch_nothing(const spec *s)
{
    return s->taps.kernel_width == 1 && s->tile.channels != 16;
}

/*
 * In the loop over channels, a few cache lines at a time: the input row below (STRIDED: two), which the next output row
 * will need, and the outputs to be written next.  All prefetches at once would fill the miss buffers (Zen 4:
 * 16x512x512 3x3 at 83-88 % instead of 94 %).
 */
static void emit_prefetch(writer *w, const spec *s)
{
    const int floats = s->tile.columns * s->isa->lanes, rows = s->family == FAMILY_W_STRIDED ? 2 : 1;
    for (int i = 0; i < rows; i++)
        for (int at = 0; at < rows * floats; at += 16)
            line(w, "__builtin_prefetch(in + prefetch_in%s + %d, 0, 3);", i ? " + in_row_pitch" : "", at + 16);
    for (int at = 0; at < floats; at += 16)
        line(w, "__builtin_prefetch(prefetch_out + %d, 1, 3);", at);
    line(w, "prefetch_out += channel <= %d ? out_channel_pitch : 0;", s->tile.channels);
}

/*
 * Three taps of a kernel of any width, for AVX2's interior tiles of four channels, whose instructions count (4x3 in
 * 3x224x224 32x3x3 s2: 27 instead of 34 for 12 FMAs; Zen 3 1.05 to 1.1 times as fast, up to 1.27 beside a busy
 * neighbour).  As intrinsics, and with FMA_INTO, gcc 12 has sums change places and spills one of them (0.77 to 0.95):
 * all 16 registers are in use.
 */
static bool unrolls_three(const spec *s)
{
    return !s->isa->mask_registers && s->taps.stride == 0 && s->border == INTERIOR && s->tile.channels == 4;
}

/* The inputs of a tap, and each weight in turn, lie in the registers behind the sums of 4x3. */
static void emit_three_taps(writer *w, const spec *s)
{
    enum { TAPS = 3, FIRST_INPUT = 12, WEIGHT = 15 };
    static const char *const address[TAPS] = {"(%[row])", "(%[row], %[offset1], 4)", "(%[row], %[offset2], 4)"};
    const int columns = s->tile.columns;
    line(w, "__asm__(");
    for (int tap = 0; tap < TAPS; tap++) {
        for (int v = 0; v < columns; v++)
            line(w, "    \"vmovups %d%s, %%%%ymm%d\\n\"", v * 32, address[tap], FIRST_INPUT + v);
        for (int k = 0; k < s->tile.channels; k++) {
            line(w, "    \"vbroadcastss %d(%%[weights]), %%%%ymm%d\\n\"", (tap * 16 + k) * 4, WEIGHT);
            for (int v = 0; v < columns; v++)
                line(w, "    \"vfmadd231ps %%%%ymm%d, %%%%ymm%d, %%[acc%d_%d]\\n\"", WEIGHT, FIRST_INPUT + v, k, v);
        }
    }
    for (int i = 0; i < s->tile.channels * columns; i++)
        line(w, "    %s [acc%d_%d] \"+x\"(acc%d_%d)", i ? "," : ":", i / columns, i % columns, i / columns,
             i % columns);
    line(w, "    : [row] \"r\"(row), [weights] \"r\"(weights), [offset1] \"r\"(offset1), [offset2] \"r\"(offset2)");
    line(w, "    : \"xmm12\", \"xmm13\", \"xmm14\", \"xmm15\", \"memory\");");
    line(w, "weights += %d;", TAPS * 16);
}

static void emit_row(writer *w, const spec *s)
{
    if (s->family == FAMILY_W_STRIDED) {
        emit_w_strided_row(w, s);
        return;
    }
    if (s->taps.kernel_width == 3 && unrolls_three(s)) {
        emit_three_taps(w, s);
        return;
    }
    if (s->taps.kernel_width) {
        for (int tap = 0; tap < s->taps.kernel_width; tap++)
            emit_w_tap(w, s, tap);
        line(w, "weights += %d;", s->taps.kernel_width * 16);
        return;
    }
    block_begin(w, "for (size_t s = 0; s < kernel_width; s++)");
    emit_w_tap(w, s, 0);
    line(w, "weights += 16;");
    block_end(w);
}

/*
 * A tile of a 1x1 may take no longer than 100 cycles: nothing but the tap is in its loop, whose exit is then often
 * foreseen (Zen 4, AVX2 1-5 %, 8x3 3 %; 16x1 loses 2 %), and the outputs to be written next are fetched before it, if
 * run_w.c asks for them.
 */
static void emit_short_channels(writer *w, const spec *s)
{
    const int floats = s->tile.columns * s->isa->lanes;
    block_begin(w, "for (int k = 0; prefetch_out && k < %d; k++)", s->tile.channels);
    for (int at = 0; at < floats; at += 16)
        line(w, "__builtin_prefetch(prefetch_out + %d, 1, 3);", at);
    line(w, "prefetch_out += out_channel_pitch;");
    block_end(w);
    line(w, "const ptrdiff_t weights_step = 16 + weights_skip;");
    line(w, "const float *row = in;");
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    emit_w_tap(w, s, 0);
    line(w, "row += in_channel_pitch;");
    line(w, "weights += weights_step;");
    block_end(w);
}

static void emit_channel_loop(writer *w, const spec *s)
{
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    line(w, "const float *row = in;");
    line(w, "size_t kernel_row = tile->kernel_rows;");
    block_begin(w, "do");
    emit_row(w, s);
    line(w, "row += in_row_pitch;");
    block_end_with(w, " while (--kernel_row != 0);");
    emit_prefetch(w, s);
    line(w, "in += in_channel_pitch;");
    line(w, "weights += weights_skip;");
    block_end(w);
}

/* What the tap reads goes to the panel, and the columns after the next come to the L2, at eight apart, for a line may
 * begin anywhere (Zen 4, inputs from the L3: the next columns alone 0.97). */
static void emit_filling_channels(writer *w, const spec *s)
{
    const int floats = s->tile.columns * s->isa->lanes;
    line(w, "const ptrdiff_t weights_step = 16 + weights_skip;");
    line(w, "const float *row = in;");
    line(w, "float *panel = tile->panel;");
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    for (int at = 3 * floats - 1; at >= 2 * floats; at -= 8)
        line(w, "__builtin_prefetch(row + %d, 0, 2);", at);
    emit_w_tap(w, s, 0);
    line(w, "row += in_channel_pitch;");
    line(w, "panel += panel_pitch;");
    line(w, "weights += weights_step;");
    block_end(w);
}

void emit_w_channels(writer *w, const spec *s)
{
    if (s->border == FILL) {
        emit_filling_channels(w, s);
        return;
    }
    if (s->border == THROUGH) {
        emit_short_channels(w, s);
        return;
    }
    const bool may_be_short = may_fetch_nothing(s);
    if (may_be_short) {
        block_begin(w, "if (tile->kernel_rows == 1 && prefetch_in == 0)");
        emit_short_channels(w, s);
        block_else(w);
    }
    const bool may_be_three = !s->taps.kernel_width && unrolls_three(s);
    if (may_be_three) {
        spec three = *s;
        three.taps.kernel_width = 3;
        block_begin(w, "if (kernel_width == 3)");
        line(w, "const ptrdiff_t offset1 = tap_offset[1], offset2 = tap_offset[2];");
        emit_channel_loop(w, &three);
        block_else(w);
    }
    emit_channel_loop(w, s);
    if (may_be_three)
        block_end(w);
    if (may_be_short)
        block_end(w);
}
