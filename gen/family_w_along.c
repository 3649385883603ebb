/* SPDX-License-Identifier: MIT */
/*
 * Family W, 1x1 to one output channel: a call runs along a block of columns for some input channels, whose weights stay
 * in registers, and then for the next ones, while the sums rest in the output, which the L1 keeps.  So few planes are
 * read at a time that their lines do not share a set of the caches, and each of them as one stream of memory.
 */
#include "emit.h"

/* Input channels at a time, the largest number first. */
static const int counts[] = {8, 4, 2, 1};

static void emit_weights(writer *w, const spec *s, int count)
{
    for (int i = 0; i < count; i++) {
        line(w, "%s weight%d = %s_set1_ps(weights[%d]);", s->isa->vector, i, s->isa->prefix, i * 16);
        line(w, "PIN(weight%d);", i);
    }
}

/* `vectors` side by side, for the latency of their chains. */
static void emit_step(writer *w, const spec *s, int count, int vectors)
{
    const isa_row *isa = s->isa;
    for (int v = 0; v < vectors; v++)
        line(w, "%s acc%d = first ? start : %s_loadu_ps(out + %d);", isa->vector, v, isa->prefix, v * isa->lanes);
    line(w, "const float *from = in;");
    for (int i = 0; i < count; i++) {
        for (int v = 0; v < vectors; v++)
            line(w, "acc%d = %s_fmadd_ps(%s_loadu_ps(from + %d), weight%d, acc%d);", v, isa->prefix, isa->prefix,
                 v * isa->lanes, i, v);
        if (i + 1 < count)
            line(w, "from += in_channel_pitch;");
    }
    for (int v = 0; v < vectors; v++)
        line(w, "%s_storeu_ps(out + %d, acc%d);", isa->prefix, v * isa->lanes, v);
    line(w, "in += %d;", vectors * isa->lanes);
    line(w, "out += %d;", vectors * isa->lanes);
}

static void emit_channels(writer *w, const spec *s, int count)
{
    enum { SIDE_BY_SIDE = 2 };
    block_begin(w, "%s (left >= %d)", count == counts[0] ? "while" : "if", count);
    emit_weights(w, s, count);
    line(w, "const float *in = channel;");
    line(w, "float *out = tile->out;");
    line(w, "size_t vectors = tile->vectors;");
    block_begin(w, "for (; vectors >= %d; vectors -= %d)", SIDE_BY_SIDE, SIDE_BY_SIDE);
    emit_step(w, s, count, SIDE_BY_SIDE);
    block_end(w);
    block_begin(w, "if (vectors)");
    emit_step(w, s, count, 1);
    block_end(w);
    line(w, "first = false;");
    line(w, "channel += %d * in_channel_pitch;", count);
    line(w, "weights += %d;", 16 * count);
    line(w, "left -= %d;", count);
    block_end(w);
}

static void accumulator_name(int index, const void *context, char *name, size_t size)
{
    (void)context;
    snprintf(name, size, "acc%d", index);
}

/* Once more over what the L1 has; a row of padding is the bias. */
static void emit_finish(writer *w, const spec *s)
{
    block_begin(w, "if (first || tile->activation != CONV2D_NONE)");
    line(w, "float *out = tile->out;");
    block_begin(w, "for (size_t vectors = tile->vectors; vectors != 0; vectors--)");
    line(w, "%s acc0 = first ? start : %s_loadu_ps(out);", s->isa->vector, s->isa->prefix);
    emit_activation(w, s->isa, "tile", 1, accumulator_name, s);
    line(w, "%s_storeu_ps(out, acc0);", s->isa->prefix);
    line(w, "out += %d;", s->isa->lanes);
    block_end(w);
    block_end(w);
}

void emit_w_along(writer *w, const spec *s)
{
    emit_tile_begin(w, s);
    line(w, "const ptrdiff_t in_channel_pitch = tile->in_channel_pitch;");
    line(w, "const float *weights = tile->weights, *channel = tile->in;");
    line(w, "const %s start = %s_set1_ps(tile->bias[0]);", s->isa->vector, s->isa->prefix);
    line(w, "bool first = true;");
    line(w, "size_t left = tile->in_channels;");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        emit_channels(w, s, counts[i]);
    emit_finish(w, s);
    emit_tile_end(w);
}
