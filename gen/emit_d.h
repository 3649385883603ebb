/* SPDX-License-Identifier: MIT */
/* What the emitters of family D share. */
#ifndef CONVGEN_EMIT_D_H
#define CONVGEN_EMIT_D_H

#include <string.h>

#include "emit.h"

/* The sides of the input beyond which a border's taps reach. */
enum { SIDE_LEFT = 1, SIDE_RIGHT = 2 };

static inline bool border_has(const spec *s, int side)
{
    static const int sides[BORDER_COUNT] = {[LEFT] = SIDE_LEFT,
                                            [RIGHT] = SIDE_RIGHT,
                                            [RIGHT_HALF] = SIDE_RIGHT,
                                            [EDGE] = SIDE_LEFT | SIDE_RIGHT,
                                            [BOTH] = SIDE_LEFT | SIDE_RIGHT,
                                            [FOLDED] = SIDE_LEFT | SIDE_RIGHT};
    /* With stride 1, where a mask costs nothing, half a vector may be a whole row. */
    return (sides[s->border] & side) || (s->border == RIGHT_HALF && s->taps.stride == 1);
}

/* Where in tile->words the masks of loads begin, in vectors. */
enum { LOAD_WORDS = 7 };

/* The vectors of a tile: half as wide in the variant for a few columns. */
static inline const isa_row *vectors_of(const spec *s)
{
    return s->border == RIGHT_HALF ? &isa_avx512_half : s->isa;
}

static inline const char *mask_type(const isa_row *isa)
{
    return isa->lanes == 16 ? "__mmask16" : "__mmask8";
}

/* The middle of the unrolled taps; no output lacks it. */
static inline int centre(const spec *s)
{
    return s->taps.kernel_width / 2;
}

static inline bool is_grouped(const spec *s)
{
    return families[s->family].grouped;
}

/* NHWC: whether the lanes of an input vector are put in the order of output channels.  Parts of depthwise vectors are,
 * too, so that they serve groups; of AVX-512, which has registers for a row of weights, and not of 3x3, for which there
 * are grouped tiles, as that takes longer (Zen 5, 8x112x112 3x3 g8 0.85). */
static inline bool d_orders_lanes(const spec *s)
{
    const bool wide = s->isa->mask_registers && s->taps.kernel_width > 3;
    return is_grouped(s) || (s->family == FAMILY_D_NHWC && s->border == EDGE && wide);
}

/* NHWC, unrolled: the columns of an input row that a tile reads. */
static inline int d_input_columns(const spec *s)
{
    return (s->tile.columns - 1) * s->taps.stride + s->taps.kernel_width;
}

/* NHWC: which pointer has the weights of an input row, which serves rows from `first` on, for one of these. */
static inline const char *d_weights(int first, int out_row)
{
    return out_row > first ? "below" : "taps";
}

/* NCHW: whether taps are loaded from where the dilation has them; folded rows are shifted in registers. */
static inline bool d_loads_apart(const spec *s)
{
    return spec_dilates(s) && s->taps.kernel_width > 1 && s->border != FOLDED;
}

/* NCHW: several input channels. */
static inline bool is_sum(const spec *s)
{
    return s->family == FAMILY_D_SUM;
}

/* Rows that one vector covers come from the L2 in time for AVX2's tiles; AVX-512's are too fast (src/run_d.c). */
static inline bool prefetches(const spec *s)
{
    return s->border != BOTH || (s->isa->mask_registers && !is_sum(s));
}

/* Whether some wanted outputs lack a tap of an NCHW tile, so that its FMAs are masked. */
bool d_tap_masked(const spec *s, int tap);
/* Sums that roll down: those of a column that are under way; whether no register is left for weights, which the
 * vectors share one after the other (5x5); the weights that are kept, and all that an input row adds to, which is
 * kernel row `first` to the first sum (family_d_down_row.c). */
static inline int d_down_sums(const spec *s)
{
    return (kernel_rows(s) - 1) / row_stride(s) + 1;
}
static inline bool d_shares_weights(const spec *s)
{
    return kernel_rows(s) > 3;
}
void emit_d_down_weights(writer *w, const spec *s);
void emit_d_down_row(writer *w, const spec *s, int vectors, int first);
/* Masks, and what stride 2 needs to bring taps in order. */
void emit_d_order(writer *w, const spec *s);
/* AVX2: which of tile->words masks the sums of a tap; how code names a word; and the loads of those that are kept in
 * registers, in each pass of the loop over channels, as beyond the sums there is no room. */
enum { WORD_SIZE = 48 };
int d_sum_word(const spec *s, int tap);
const char *d_word(const spec *s, int word, char text[WORD_SIZE]);
void emit_d_words(writer *w, const spec *s);
void emit_d_neighbour(writer *w, const spec *s, const char *name, int step);
/* Declares in<row>_<tap> where emit_d_loads does not. */
void declare_d_row(writer *w, const spec *s, int row);
/* What is loaded of an input row at once, and what is made ready just before a tap's FMAs, to spare registers. */
void emit_d_loads(writer *w, const spec *s, int row);
void emit_d_tap(writer *w, const spec *s, int row, int tap);
/* Folded rows: in<row>_<tap> of one vector, or with stride 2 of that of its first and of its second output row. */
void emit_d_folded_taps(writer *w, const spec *s, int row, const char *first, const char *second);
/* The input rows that an NCHW tile reads; to the next of them; whether all its weights stay in registers. */
int d_input_rows(const spec *s);
void emit_d_advance(writer *w);
bool d_holds_all_weights(const spec *s);
/* acc<sum> += in<row>_<tap> * its weight, in the lanes that have the tap, and are in `has` if that is not NULL. */
void emit_d_fma(writer *w, const spec *s, int sum, int row, int kernel_row, int tap, const char *has);
/* Folded rows: the sums there are; whether one is of a single output row; what is known before the loop over channels,
 * and the taps. */
int d_folded_sums(const spec *s);
bool d_folds_one(const spec *s, int sum);
void emit_d_folded_setup(writer *w, const spec *s);
void emit_d_folded(writer *w, const spec *s);
/* The loop over an NCHW tile's channels, and the end of a pass of it. */
void emit_d_channels_begin(writer *w);
void emit_d_next_channel(writer *w, const spec *s);
/* The beginning of a pass of the loop over an NHWC tile's vectors of channels; `in` and `out` are the first one's. */
void emit_d_nhwc_channel(writer *w, const spec *s, const char *in, const char *out);
/* NHWC: the pitches by which loads name columns; a sum, which begins with the bias so many channels further; an input
 * row's taps for output rows [first, last]; and a loop over several vectors at once, which leaves the last ones to the
 * one above. */
void emit_d_nhwc_pitches(writer *w, const spec *s);
void emit_d_nhwc_sum(writer *w, const spec *s, int index, int channel);
void emit_d_nhwc_row(writer *w, const spec *s, int first, int last);
void emit_d_nhwc_several(writer *w, const spec *s);
/* A tile whose sums roll down the rows. */
void emit_d_nhwc_down_tile(writer *w, const spec *s);
/* The beginning of a pass of a loop over so many of the tile's vectors, several at once. */
void emit_d_nhwc_vectors(writer *w, const spec *s, const char *channels);
/* The beginning of what is done with an input column only where it lies inside. */
void emit_d_nhwc_column(writer *w, const spec *s, int column);
/* Several groups a vector: the load of a permuted input vector; the loop over a group's input channels; all taps of an
 * input row for the output rows [first, last]. */
void emit_d_group_load(writer *w, const spec *s, const char *to, const char *from);
void emit_d_group_begin(writer *w, const spec *s);
void emit_d_group_end(writer *w, const spec *s);
void emit_d_group_row(writer *w, const spec *s, int first, int last, int input_columns);
/* Looped taps: the loop over kernel rows, from the input column so named on, with `s` kernel columns left; that over
 * these; and the end of both. */
void emit_d_kernel_rows_begin(writer *w, const char *first_column);
void emit_d_taps_begin(writer *w);
void emit_d_taps_end(writer *w);
/* The activation of acc0.., but leaky ReLU where it has no registers besides them. */
bool d_has_room_for_leaky(const spec *s, int count);
void emit_d_activation(writer *w, const spec *s, int count);
/* Residual, activation and store of acc0.., one output row behind the other, at `out`; the variants at an edge store
 * `store_mask`. */
void emit_d_finish(writer *w, const spec *s, int count, const char *out);
/* AVX2, NHWC: whether outputs of a row are named, as inputs are, by scaled pitches. */
bool d_names_outputs(const spec *s);
/* The lanes that an NHWC tile stores, and those that it loads. */
void emit_d_lanes(writer *w, const spec *s);
/* Functions and macros that D's NCHW tiles use. */
void emit_d_helpers(writer *w, const isa_row *isa);

#endif
