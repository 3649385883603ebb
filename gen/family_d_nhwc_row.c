/* SPDX-License-Identifier: MIT */
/*
 * Family D, NHWC, unrolled: the taps of one input row.  Its vectors wait in registers for all their taps where there is
 * room, else each FMA reads them again.
 */
#include "emit_d.h"

/* Padding takes at most half a kernel: only the first and last input columns of a tile at an edge may lie outside. */
static bool guarded(const spec *s, int column)
{
    const int half = s->taps.kernel_width / 2;
    return s->border != INTERIOR && (column < half || column >= d_input_columns(s) - half);
}

/* Registers left if the vectors of an input row wait there for all their taps, besides so many weights. */
static int room_of_row(const spec *s, int weights)
{
    const int mask = s->border == EDGE && !s->isa->mask_registers;
    return s->isa->registers - d_input_columns(s) - s->tile.channels * s->tile.columns - weights - mask;
}

/*
 * AVX2: loads name their columns by scaled pitches, where AVX-512, which computes twice as much with an instruction,
 * moves a pointer from one to the next (Zen 3, 3x3: 181 instead of 204 instructions for 72 FMAs, those of sums and
 * outputs among them).  Each sum has a register of its own, and what a single FMA reads is its operand (7x7: 0.84 of
 * the instructions).
 */
static bool names_columns(const spec *s)
{
    return !s->isa->mask_registers && !is_grouped(s);
}

/* AVX2's 3x3 with stride 1 has room for the row if the output rows' weights are loaded one by one (Zen 3, NHWC: 13
 * layers 1.12 times as fast, at borders another 1.02). */
static bool takes_turns(const spec *s)
{
    const bool narrow = names_columns(s) && s->border != EDGE;
    return narrow && room_of_row(s, s->tile.channels) <= 0 && room_of_row(s, 1) > 0;
}

/* Whether they wait there. */
static bool holds_row(const spec *s)
{
    return takes_turns(s) || room_of_row(s, s->tile.channels) > 0;
}

/* AVX2's 3x3 with stride 2 has room for the columns that two taps use, every other one (Zen 3, 9 layers 1.02 to
 * 1.09). */
static bool holds_shared(const spec *s)
{
    const bool narrow = names_columns(s) && s->border != EDGE;
    return narrow && !holds_row(s) && s->taps.kernel_width == 3 && s->taps.stride == 2 && s->tile.columns > 1;
}

/* AVX2, three taps: a column that may lie outside has one tap, which asks whether it does. */
static bool loads_late(const spec *s, int column)
{
    return names_columns(s) && s->taps.kernel_width == 3 && guarded(s, column);
}

/* Other columns are read again by each FMA. */
static bool holds(const spec *s, int column)
{
    return !loads_late(s, column) && (holds_row(s) || (holds_shared(s) && column % 2 == 0));
}

/* So many are named from one pointer: those of a row that is held, or of all outputs' inputs of a tap. */
static int named_columns(const spec *s)
{
    return holds_row(s) ? d_input_columns(s) : s->tile.columns + holds_shared(s);
}

static void column_address(const spec *s, const char *from, int pitches, char *address, size_t size)
{
    if (!names_columns(s) || pitches == 0)
        snprintf(address, size, "%s", from);
    else if (pitches == 3 || pitches == 5)
        snprintf(address, size, "AT(%s, pitch%d)", from, pitches);
    else
        snprintf(address, size, "AT(%s, %d * pitch)", from, pitches);
}

/* Opaque: gcc 12 otherwise adds pitch to pitch; but not where a test would leave it with two of it. */
static void emit_address(writer *w, const spec *s, int column, const char *from, int pitches, char *address,
                         size_t size)
{
    column_address(s, from, pitches, address, size);
    if (names_columns(s) && pitches > 0 && !loads_late(s, column))
        line(w, "OPAQUE(pitch);");
}

static void emit_load(writer *w, const spec *s, int column, const char *from, int pitches)
{
    char address[48];
    emit_address(w, s, column, from, pitches, address, sizeof address);
    if (s->border != EDGE)
        line(w, "in%d = %s_loadu_ps(%s);", column, s->isa->prefix, address);
    else if (s->isa->mask_registers)
        line(w, "in%d = %s_maskz_loadu_ps(lanes, %s);", column, s->isa->prefix, address);
    else
        line(w, "in%d = _mm256_maskload_ps(%s, lanes);", column, address);
    line(w, "PIN(in%d);", column);
}

void emit_d_nhwc_pitches(writer *w, const spec *s)
{
    if (!names_columns(s) || named_columns(s) == 1)
        return;
    line(w, "ptrdiff_t pitch = %d * column_pitch * (ptrdiff_t)sizeof(float);", holds_row(s) ? 1 : s->taps.stride);
    if (named_columns(s) > 3)
        line(w, "const ptrdiff_t pitch3 = 3 * pitch;");
    if (named_columns(s) > 5)
        line(w, "const ptrdiff_t pitch5 = 5 * pitch;");
}

static void emit_next_column(writer *w, const spec *s, int columns)
{
    if (names_columns(s))
        return;
    line(w, "column += %d * column_pitch;", columns);
    line(w, "OPAQUE(column);");
}

/* Opaque: gcc 12 and clang 14 otherwise make a copy of all that follows for each outcome, and spill. */
void emit_d_nhwc_column(writer *w, const spec *s, int column)
{
    if (!guarded(s, column)) {
        scope_begin(w);
        return;
    }
    line(w, "OPAQUE(columns);");
    block_begin(w, "if (columns >> %d & 1)", column);
}

static void emit_row_loads(writer *w, const spec *s)
{
    if (!names_columns(s))
        line(w, "const float *column = row;");
    const int step = holds_shared(s) ? 2 : 1;
    for (int j = 0; j < d_input_columns(s); j += step) {
        if (!holds(s, j))
            continue;
        line(w, guarded(s, j) ? "%s in%d = %s_setzero_ps();" : "%s in%d;", s->isa->vector, j, s->isa->prefix);
        emit_d_nhwc_column(w, s, j);
        emit_load(w, s, j, names_columns(s) ? "row" : "column", j / step);
        block_end(w);
        if (j + step < d_input_columns(s))
            emit_next_column(w, s, step);
    }
}

/* Whether a tap's columns are some of those that are held, or would be if they were inside. */
static bool reads_row(const spec *s, int tap)
{
    return holds_row(s) || (holds_shared(s) && tap % 2 == 0);
}

/* The tap of one output column, for the output rows [first, last]. */
static void emit_column_fmas(writer *w, const spec *s, int first, int last, int p, int tap)
{
    const int column = p * s->taps.stride + tap;
    const char *from = reads_row(s, tap) ? "row" : "column";
    const int pitches = !reads_row(s, tap) ? p : holds_row(s) ? column : column / 2;
    emit_d_nhwc_column(w, s, column);
    if (first == last && !holds(s, column) && names_columns(s) && s->border != EDGE) {
        char address[48];
        emit_address(w, s, column, from, pitches, address, sizeof address);
        line(w, "FMA_FROM(acc%d, %s, weight%d);", first * s->tile.columns + p, address, first);
        block_end(w);
        return;
    }
    if (!holds(s, column)) {
        line(w, "%s in%d;", s->isa->vector, column);
        emit_load(w, s, column, from, pitches);
    }
    for (int out_row = first; out_row <= last; out_row++) {
        const int acc = out_row * s->tile.columns + p;
        if (names_columns(s))
            line(w, "FMA_INTO(acc%d, in%d, weight%d);", acc, column, out_row);
        else
            line(w, "acc%d = %s_fmadd_ps(in%d, weight%d, acc%d);", acc, s->isa->prefix, column, out_row, acc);
    }
    block_end(w);
}

/* Of one of the output rows from `first` on. */
static void emit_tap_of_row(writer *w, const spec *s, int first, int out_row, int tap)
{
    scope_begin(w);
    line(w, "%s weight%d = %s_loadu_ps(%s + %d);", s->isa->vector, out_row, s->isa->prefix, d_weights(first, out_row),
         tap * 16);
    line(w, "PIN(weight%d);", out_row);
    for (int p = 0; p < s->tile.columns; p++)
        emit_column_fmas(w, s, out_row, out_row, p, tap);
    for (int acc = out_row * s->tile.columns; acc < (out_row + 1) * s->tile.columns; acc++)
        line(w, "PIN(acc%d);", acc);
    block_end(w);
}

static void emit_tap(writer *w, const spec *s, int first, int last, int tap)
{
    if ((takes_turns(s) || (holds_shared(s) && reads_row(s, tap))) && first < last) {
        emit_tap_of_row(w, s, first, first, tap);
        emit_tap_of_row(w, s, first, last, tap);
        return;
    }
    scope_begin(w);
    for (int out_row = first; out_row <= last; out_row++) {
        line(w, "%s weight%d = %s_loadu_ps(%s + %d);", s->isa->vector, out_row, s->isa->prefix,
             d_weights(first, out_row), tap * 16);
        line(w, "PIN(weight%d);", out_row);
    }
    const bool held = reads_row(s, tap);
    if (!held)
        line(w, "const float *column = row + %d * column_pitch;", tap);
    for (int p = 0; p < s->tile.columns; p++) {
        emit_column_fmas(w, s, first, last, p, tap);
        if (!held && p + 1 < s->tile.columns)
            emit_next_column(w, s, s->taps.stride);
    }
    for (int acc = first * s->tile.columns; acc < (last + 1) * s->tile.columns; acc++)
        line(w, "PIN(acc%d);", acc);
    block_end(w);
}

/* One input row, for the output rows [first, last]; `taps` points to its weights for the first of them. */
void emit_d_nhwc_row(writer *w, const spec *s, int first, int last)
{
    if (holds_row(s) || holds_shared(s))
        emit_row_loads(w, s);
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        emit_tap(w, s, first, last, tap);
}

/* Declares a sum, which begins with the bias so many channels further. */
void emit_d_nhwc_sum(writer *w, const spec *s, int index, int channel)
{
    const char *prefix = s->isa->prefix;
    if (names_columns(s) || s->at_once)
        line(w, "SUM(acc%d, %d) = %s_loadu_ps(bias + %d);", index, s->isa->registers - 1 - index, prefix, channel);
    else
        line(w, "%s acc%d = %s_loadu_ps(bias);", s->isa->vector, index, prefix);
}
