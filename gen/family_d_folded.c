/* SPDX-License-Identifier: MIT */
/*
 * Family D, NCHW, at most half a vector of output columns: two neighbouring output rows, one behind the other as they
 * are in the output, share a vector.  With stride 1 so do their input rows, which lie in memory like that; with stride
 * 2 an input row fits a vector, and two of them take the place of the two vectors of a wide row: parted into even and
 * odd columns they are in the same order.
 */
#include "emit_d.h"

/* The first one, where output rows are odd in number. */
bool d_folds_one(const spec *s, int sum)
{
    return s->border == FOLDED && sum == 0 && s->tile.channels % 2;
}

static int first_output(const spec *s, int sum)
{
    return sum == 0 ? 0 : 2 * sum - s->tile.channels % 2;
}

int d_folded_sums(const spec *s)
{
    return (s->tile.channels + 1) / 2;
}

/* Which kernel row an input row is to a sum, to its first output row; or -1. */
static int kernel_row_of(const spec *s, int sum, int input_row)
{
    const int kernel_row = input_row - first_output(s, sum) * s->taps.stride;
    return kernel_row >= 0 && kernel_row < s->taps.kernel_width ? kernel_row : -1;
}

typedef struct users {
    bool any, pairs;
} users;

static users users_of(const spec *s, int input_row)
{
    users found = {false, false};
    for (int sum = 0; sum < d_folded_sums(s); sum++)
        if (kernel_row_of(s, sum, input_row) >= 0) {
            found.any = true;
            found.pairs |= !d_folds_one(s, sum);
        }
    return found;
}

/* Whether an input row, or the one for the second output row, may lie outside: padding takes at most half a kernel. */
static bool is_guarded(const spec *s, int input_row)
{
    const bool with_next = s->taps.stride == 1 || users_of(s, input_row).pairs;
    return input_row < centre(s) || input_row + (with_next ? s->taps.stride : 0) >= d_input_rows(s) - centre(s);
}

void emit_d_folded_setup(writer *w, const spec *s)
{
    const bool rows_lie_so = s->taps.stride == 1;
    if (rows_lie_so || d_folds_one(s, 0))
        line(w, "const uint32_t one_row = (1u << out_row_pitch) - 1;");
    if (!rows_lie_so)
        line(w, "const __m512i order = folded_order((int)out_row_pitch);");
    else if (s->tile.channels > 1)
        line(w, "const __mmask16 load0 = (__mmask16)(one_row | one_row << out_row_pitch);");
    for (int row = 0; row < d_input_rows(s); row++)
        if (users_of(s, row).any && is_guarded(s, row))
            line(w, "const __mmask16 has%d = (__mmask16)((rows >> %d & 1) * %s | (rows >> %d & 1) * %s);", row, row,
                 rows_lie_so ? "one_row" : "0x3333", row + s->taps.stride,
                 rows_lie_so ? "(one_row << out_row_pitch)" : "0xcccc");
}

static void emit_line(writer *w, const spec *s, int row)
{
    char load[64];
    if (s->taps.stride == 2 || row % 2 == 0) /* two rows fit a cache line */
        line(w, "__builtin_prefetch(row + prefetch_in + %d, 0, 3);", centre(s));
    const bool masked = s->taps.stride == 1 && is_guarded(s, row);
    snprintf(load, sizeof load, masked ? "has%d" : "load0", row);
    if (s->taps.stride == 2 && (row < centre(s) || row >= d_input_rows(s) - centre(s))) {
        line(w, "__m512 line%d = _mm512_setzero_ps();", row);
        line(w, "if (rows >> %d & 1)", row);
        line(w, "    line%d = _mm512_maskz_loadu_ps(load0, row + %d);", row, centre(s));
    } else
        line(w, "__m512 line%d = _mm512_maskz_loadu_ps(%s, row + %d);", row, load, centre(s));
    line(w, "PIN(line%d);", row);
}

/* The FMAs of an input row, and of that for the second output rows, for the sums [begin, end). */
static void emit_row(writer *w, const spec *s, int row, int begin, int end)
{
    char has[16], first[16], second[16];
    snprintf(has, sizeof has, "has%d", row);
    snprintf(first, sizeof first, "line%d", row);
    snprintf(second, sizeof second, "line%d", users_of(s, row).pairs ? row + s->taps.stride : row);
    scope_begin(w);
    if (!d_holds_all_weights(s))
        line(w, "OPAQUE(weights);");
    emit_d_folded_taps(w, s, row, first, second);
    for (int tap = 0; tap < s->taps.kernel_width; tap++)
        for (int sum = begin; sum < end; sum++) {
            const int kernel_row = kernel_row_of(s, sum, row);
            if (kernel_row >= 0)
                emit_d_fma(w, s, sum, row, kernel_row, tap, is_guarded(s, row) ? has : NULL);
        }
    for (int sum = begin; sum < end; sum++)
        if (kernel_row_of(s, sum, row) >= 0)
            line(w, "%s(acc%d);", kernel_row_of(s, sum, row + 1) >= 0 ? "PIN" : "USE", sum);
    block_end(w);
}

/* Loads what an input row takes, beyond the rows that are loaded; the result is how many these are. */
static int emit_lines(writer *w, const spec *s, int row, int loaded)
{
    const int end = (s->taps.stride == 2 && users_of(s, row).pairs ? row + 2 : row) + 1;
    for (; loaded < end; loaded++) {
        emit_line(w, s, loaded);
        if (loaded + 1 < d_input_rows(s))
            emit_d_advance(w);
    }
    return loaded;
}

/*
 * One kernel row of each sum after the other, so that the chains of FMAs of all sums run side by side: row by row there
 * are not enough of them in the CPU's schedulers (Zen 5: 14x14 5x5 s2 1.10, 3x3 s2 1.05, 7x7 3x3 1.01).  Tiles of more
 * sums would keep too many rows in registers.
 */
static void emit_side_by_side(writer *w, const spec *s)
{
    int loaded = 0;
    for (int kernel_row = 0; kernel_row < s->taps.kernel_width; kernel_row++)
        for (int sum = 0; sum < d_folded_sums(s); sum++) {
            const int row = first_output(s, sum) * s->taps.stride + kernel_row;
            loaded = emit_lines(w, s, row, loaded);
            emit_row(w, s, row, sum, sum + 1);
        }
}

void emit_d_folded(writer *w, const spec *s)
{
    enum { FEW_SUMS = 4 };
    const int sums = d_folded_sums(s);
    line(w, "const float *row = in;");
    if (sums <= FEW_SUMS)
        emit_side_by_side(w, s);
    else
        for (int row = 0, loaded = 0; row < d_input_rows(s); row++)
            if (users_of(s, row).any) {
                loaded = emit_lines(w, s, row, loaded);
                emit_row(w, s, row, 0, sums);
            }
    for (int sum = 0; s->taps.stride == 2 && sum < sums; sum++)
        line(w, "acc%d = _mm512_permutexvar_ps(order, acc%d);", sum, sum);
}
