/* SPDX-License-Identifier: MIT */
/*
 * Family F: fully connected layers, and whatever else has a map of one pixel.  The lanes of a vector are neighbouring
 * output channels; a tile is `channels` vectors of them, whose blocks of weights lie side by side or one behind the
 * other (plan.h).  A call runs through many such tiles.
 */
#include "emit.h"

static void sum_name(int index, const void *context, char *name, size_t size)
{
    (void)context;
    snprintf(name, size, "acc%d", index);
}

static bool is_last(const spec *s, int v)
{
    return v == s->tile.channels - 1;
}

/* Two vectors of AVX2 are a block of 16 channels. */
static void make_address(const spec *s, int v, char *address, size_t size)
{
    const int block = v * s->isa->lanes / 16, offset = v * s->isa->lanes % 16;
    if (block)
        snprintf(address, size, "block%d + %d", block, offset);
    else
        snprintf(address, size, "%d", offset);
}

/* Where weights come from the L3, prefetchers are too late for them; elsewhere to ask for them takes the time of loads
 * (Zen 5, 512->1000 1.13, 2048->1000 1.15; 16->512 0.77). */
static void emit_channels(writer *w, const spec *s, bool fetches)
{
    char address[32];
    block_begin(w, "for (size_t channel = tile->in_channels; channel != 0; channel--)");
    line(w, "const %s in0 = %s_set1_ps(*in);", s->isa->vector, s->isa->prefix);
    for (int v = 0; v < s->tile.channels; v++) {
        make_address(s, v, address, sizeof address);
        line(w, "acc%d = %s_fmadd_ps(in0, %s_loadu_ps(weights + %s), acc%d);", v, s->isa->prefix, s->isa->prefix,
             address, v);
    }
    if (fetches)
        line(w, "const float *next = weights + ahead;");
    for (int v = 0; fetches && v < s->tile.channels; v += 16 / s->isa->lanes) {
        make_address(s, v, address, sizeof address);
        line(w, "__builtin_prefetch(next + %s, 0, 3);", address);
    }
    line(w, "in += in_channel_pitch;");
    line(w, "weights += weights_channel;");
    block_end(w);
}

static void emit_residual(writer *w, const spec *s)
{
    block_begin(w, "if (residual)");
    for (int v = 0; v < s->tile.channels; v++) {
        const int offset = v * s->isa->lanes;
        if (!is_last(s, v))
            line(w, "acc%d = %s_add_ps(acc%d, %s_loadu_ps(residual + %d));", v, s->isa->prefix, v, s->isa->prefix,
                 offset);
        else if (s->isa->mask_registers)
            line(w, "acc%d = _mm512_add_ps(acc%d, _mm512_maskz_loadu_ps((__mmask16)store_mask, residual + %d));", v, v,
                 offset);
        else
            line(w, "acc%d = _mm256_add_ps(acc%d, _mm256_maskload_ps(residual + %d, lanes_of(store_mask)));", v, v,
                 offset);
    }
    line(w, "residual += %d;", s->tile.channels * s->isa->lanes);
    block_end(w);
}

static void emit_sum_stores(writer *w, const spec *s)
{
    for (int v = 0; v < s->tile.channels; v++) {
        const int offset = v * s->isa->lanes;
        if (!is_last(s, v))
            line(w, "%s_storeu_ps(out + %d, acc%d);", s->isa->prefix, offset, v);
        else if (s->isa->mask_registers)
            line(w, "_mm512_mask_storeu_ps(out + %d, (__mmask16)store_mask, acc%d);", offset, v);
        else
            line(w, "store_first(out + %d, acc%d, store_mask);", offset, v);
    }
}

void emit_f_tile(writer *w, const spec *s)
{
    const int floats = s->tile.channels * s->isa->lanes;
    emit_tile_begin(w, s);
    line(w, "const ptrdiff_t in_channel_pitch = tile->in_channel_pitch, weights_channel = tile->weights_channel;");
    line(w, "const ptrdiff_t weights_skip = tile->weights_skip, ahead = tile->ahead_step;");
    for (int block = 1; block * 16 < floats; block++)
        line(w, "const ptrdiff_t block%d = tile->weights_vector[%d];", block, block);
    line(w, "const uint32_t store_mask = tile->store_mask;");
    line(w, "const float *weights = tile->weights, *bias = tile->bias, *residual = tile->residual;");
    line(w, "float *out = tile->out;");
    block_begin(w, "for (size_t repeat = tile->repeats; repeat != 0; repeat--)");
    line(w, "const float *in = tile->in;");
    for (int v = 0; v < s->tile.channels; v++)
        line(w, "%s acc%d = %s_loadu_ps(bias + %d);", s->isa->vector, v, s->isa->prefix, v * s->isa->lanes);
    block_begin(w, "if (ahead)");
    emit_channels(w, s, true);
    block_else(w);
    emit_channels(w, s, false);
    block_end(w);
    line(w, "weights += weights_skip;");
    emit_residual(w, s);
    emit_activation(w, s->isa, "tile", s->tile.channels, sum_name, s);
    emit_sum_stores(w, s);
    line(w, "bias += %d;", floats);
    line(w, "out += %d;", floats);
    block_end(w);
    emit_tile_end(w);
}
