/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, a few channels a group: several groups side by side in a vector of output channels.  Each lane needs
 * the same input channel of its own group, which a permutation of the input vector puts there; the loop over a group's
 * input channels is the outermost, as in every sum, and takes the next permutation each time.
 */
#include "emit_d.h"

/* vpermps of 512 bits with its operand in memory is slower than a load and one (Zen 5, NHWC 1.02-1.06). */
static bool loads_apart(const spec *s)
{
    return s->family == FAMILY_D_GROUP && s->isa->mask_registers && s->taps.stride == 1;
}

void emit_d_group_load(writer *w, const spec *s, const char *to, const char *from)
{
    char load[96];
    if (s->border != EDGE)
        snprintf(load, sizeof load, "%s_loadu_ps(%s)", s->isa->prefix, from);
    else if (s->isa->mask_registers)
        snprintf(load, sizeof load, "_mm512_maskz_loadu_ps(group_lanes, %s)", from);
    else
        snprintf(load, sizeof load, "_mm256_maskload_ps(%s, group_lanes)", from);
    if (loads_apart(s)) {
        line(w, "%s = %s;", to, load);
        line(w, "PIN(%s);", to);
        line(w, "%s = _mm512_permutexvar_ps(lane_from, %s);", to, to);
    } else if (s->isa->mask_registers)
        line(w, "%s = _mm512_permutexvar_ps(lane_from, %s);", to, load);
    else
        line(w, "%s = _mm256_permutevar8x32_ps(%s, lane_from);", to, load);
}

void emit_d_group_begin(writer *w, const spec *s)
{
    if (s->isa->mask_registers)
        line(w, "__m512i lane_from = _mm512_loadu_si512(tile->lane_from);");
    else
        line(w, "__m256i lane_from = _mm256_loadu_si256((const __m256i *)tile->lane_from);");
    block_begin(w, "for (size_t ic = tile->in_channels; ic != 0; ic--)");
}

void emit_d_group_end(writer *w, const spec *s)
{
    const char *bits = s->isa->lanes == 16 ? "512" : "256";
    const bool full = !is_grouped(s); /* 14 weights and 14 sums of 7x7: no register is left, but gcc 12 takes one */
    if (full) {
        line(w, "int next = 1;");
        line(w, "OPAQUE(next);");
    }
    line(w, "lane_from = _mm%s_add_epi32(lane_from, _mm%s_set1_epi32(%s));", bits, bits, full ? "next" : "1");
    line(w, "weights += tile->weights_channel;");
    block_end(w);
}

/* The taps of output rows [first, last] that fall on an input column. */
static void emit_column_fmas(writer *w, const spec *s, int first, int last, int column)
{
    for (int pass = 0; pass < 2; pass++)
        for (int acc = first * s->tile.columns; acc < (last + 1) * s->tile.columns; acc++) {
            const int out_row = acc / s->tile.columns, tap = column - acc % s->tile.columns * s->taps.stride;
            if (tap < 0 || tap >= s->taps.kernel_width)
                continue;
            if (!is_grouped(s) && pass == 0) /* gcc 12 at -O3 moves 14 sums about, and a weight to the stack */
                line(w, "FMA_INTO(acc%d, input, weight%d_%d);", acc, out_row, tap);
            else if (pass == 0)
                line(w, "acc%d = %s_fmadd_ps(input, weight%d_%d, acc%d);", acc, s->isa->prefix, out_row, tap, acc);
            else
                line(w, "PIN(acc%d);", acc);
        }
}

/* Columns one after the other, so that one input vector is alive; the weights of the row all stay in registers. */
void emit_d_group_row(writer *w, const spec *s, int first, int last, int input_columns)
{
    const int half = s->taps.kernel_width / 2;
    for (int out_row = first; out_row <= last; out_row++)
        for (int tap = 0; tap < s->taps.kernel_width; tap++) {
            line(w, "%s weight%d_%d = %s_loadu_ps(%s + %d);", s->isa->vector, out_row, tap, s->isa->prefix,
                 d_weights(first, out_row), tap * 16);
            line(w, "PIN(weight%d_%d);", out_row, tap);
        }
    line(w, "const float *column = row;");
    for (int column = 0; column < input_columns; column++) {
        const bool guarded = s->border != INTERIOR && (column < half || column >= input_columns - half);
        if (guarded) {
            line(w, "OPAQUE(columns);");
            block_begin(w, "if (columns >> %d & 1)", column);
        } else {
            scope_begin(w);
        }
        line(w, "%s input;", s->isa->vector);
        emit_d_group_load(w, s, "input", "column");
        line(w, "PIN(input);");
        emit_column_fmas(w, s, first, last, column);
        block_end(w);
        if (column + 1 < input_columns) {
            line(w, "column += column_pitch;");
            line(w, "OPAQUE(column);");
        }
    }
}
