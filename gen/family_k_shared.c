/* SPDX-License-Identifier: MIT */
/*
 * Family K, AVX-512, three taps of one vector of channels: an input is broadcast once for all taps that use it.  Tap by
 * tap each FMA has a load of its own, which with the weights is more than the two a cycle that there are (Zen 5, NHWC:
 * 1x128x128 16x3x3 1.30, 3x416x416 1.20, with stride 2 1.10 to 1.16; 16x56x56 16x3x3 1.13, 48x56x56 48x3x3 1.04).  Sums
 * get their products in the same order.  Narrower tiles have no sums to wait with for each other (7 columns 0.9 to
 * 1.0).  Tiles for any stride have this for strides of 1 and 2 without a dilation.
 *
 * Of any number of taps two at a time do, where neighbouring outputs read neighbouring inputs; at a border those that
 * all columns have (64x28x28 16x7x7 1.2, 64x12x12 16x2x2 1.21, 48x28x28 48x5x5 1.06).  With all tiles that gain by it
 * clang 14's library would exceed 3 MB.
 */
#include "emit_k.h"

enum { REACH = 4, LEAST_COLUMNS = 8, LEAST_OF_PAIRS = 11 };

static bool shares(const spec *s)
{
    return s->isa->mask_registers && s->tile.channels == 1 && s->tile.columns >= LEAST_COLUMNS && s->taps.stride < 2;
}

bool k_shares_inputs(const spec *s)
{
    return shares(s) && s->taps.kernel_width == 3;
}

bool k_pairs_taps(const spec *s)
{
    return shares(s) && !s->taps.kernel_width && s->tile.columns >= LEAST_OF_PAIRS;
}

/* Whether a border tile finds the input column, counted from its first, on the padding. */
static bool on_padding(const spec *s, int column, int last)
{
    const bool left = s->border == LEFT || s->border == BOTH, right = s->border == RIGHT || s->border == BOTH;
    return (left && column == 0) || (right && column == last);
}

static void emit_input(writer *w, const spec *s, int column)
{
    static const char *const offsets[REACH] = {"0", "tap_pitch", "2 * tap_pitch", "tap_pitch3"};
    char number[12];
    snprintf(number, sizeof number, "%d", column);
    const char *offset = s->taps.stride ? number : offsets[column % REACH];
    line(w, "%s in0 = %s_set1_ps(pixels[%s]);", s->isa->vector, s->isa->prefix, offset);
    line(w, "PIN(in0);");
}

void emit_k_shared_taps(writer *w, const spec *s, int taps, int stride)
{
    const int last = (s->tile.columns - 1) * stride + taps - 1;
    for (int tap = 0; tap < taps; tap++) {
        line(w, "%s weight%d = %s_loadu_ps(weights + %d);", s->isa->vector, tap, s->isa->prefix, tap * 16);
        line(w, "PIN(weight%d);", tap);
    }
    line(w, "const float *pixels = taps;");
    for (int column = 0; column <= last; column++) {
        if (!s->taps.stride && column > 0 && column % REACH == 0) {
            line(w, "pixels += %d * tap_pitch;", REACH);
            line(w, "OPAQUE(pixels);");
        }
        if (on_padding(s, column, last))
            continue;
        scope_begin(w);
        emit_input(w, s, column);
        for (int tap = taps - 1; tap >= 0; tap--) {
            const int pixel = (column - tap) / stride;
            if (column >= tap && (column - tap) % stride == 0 && pixel < s->tile.columns)
                line(w, "FMA_INTO(acc0_%d, in0, weight%d);", pixel, tap);
        }
        block_end(w);
    }
}
