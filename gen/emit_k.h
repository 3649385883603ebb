/* SPDX-License-Identifier: MIT */
/* What the files of family K share. */
#ifndef CONVGEN_EMIT_K_H
#define CONVGEN_EMIT_K_H

#include "emit.h"

/* Inside the input, any stride, and all of AVX2's: tiles that follow each other along a row are run in one call (AVX2's
 * 3x3 with stride 1, Zen 3: 65 layers 1.015; AVX-512's with a stride were not tried). */
bool k_repeats(const spec *s);

/* family_k_columns.c: whether pitches are in bytes; what addresses are made of; the FMAs of one output column with the
 * tap; the pointer before the column, before the one that a variable names, and behind the column on the way back;
 * all columns; and how far a column lies behind the pointer (AVX-512, any stride). */
bool k_any_stride_avx2(const spec *s);
void emit_k_pitches(writer *w, const spec *s);
void emit_k_pixel(writer *w, const spec *s, int tap, int pixel);
void emit_k_step(writer *w, const spec *s, int pixel);
void emit_k_begin_at(writer *w, const spec *s, const char *column);
void emit_k_step_back(writer *w, const spec *s, int pixel);
void emit_k_pixels(writer *w, const spec *s);
const char *k_pixel_offset(const spec *s, int pixel);
/* family_k_edge.c: whether masks say which columns have a tap; those columns whose tap lies inside the input. */
bool k_asks_masks(const spec *s);
void emit_k_edge_pixels(writer *w, const spec *s);

/* Whether compilers choose registers and addresses without help. */
bool k_is_left_alone(const spec *s);
/* Whether FMAs are told to leave sums in their registers. */
bool k_fixes_sums(const spec *s);

/* Whether a border tile leaves the tap of an output column out: it falls on the column of padding. */
bool k_on_padding(const spec *s, int tap, int pixel);

/* The weight vectors of a tap; the FMAs of one output column with the input at an address; and what makes the sums of
 * some columns stay where they are, at the end of a loop: gcc 12 lets them change places there. */
void emit_k_weights(writer *w, const spec *s, int tap);
void emit_k_fmas(writer *w, const spec *s, int tap, int pixel, const char *address);
void emit_k_pins(writer *w, const spec *s, int first, int last);

/* family_k_shared.c: whether taps share the broadcasts of inputs, and these taps, for a stride. */
bool k_shares_inputs(const spec *s);
/* Whether two of any number of taps do. */
bool k_pairs_taps(const spec *s);
void emit_k_shared_taps(writer *w, const spec *s, int taps, int stride);

/* family_k_halved.c: how many sums a vector of channels has; and, if two columns share the last vector's, its bias and
 * weights, the FMAs of a column, its sums as they are loaded, what is added to them, and where they are stored. */
int k_sums_of(const spec *s, int vector);
void emit_k_halved_load(writer *w, const char *variable, const char *address);
void emit_k_halved_fmas(writer *w, const spec *s, int tap, int pixel, const char *address);
void emit_k_halved_sums(writer *w, int pixel);
void emit_k_halved_masks(writer *w);
void emit_k_halved_residual(writer *w, int pixel);
void emit_k_halved_store(writer *w, int pixel);

/* family_k_short.c: whether a loop over channels that have one tap each is worth its code, and that loop. */
bool k_has_short_loop(const spec *s);
void emit_k_short_channels(writer *w, const spec *s);

/* family_k_ahead.c: whether a tile takes too few cycles to do anything else meanwhile; whether one that fetches what
 * the next tiles need fetches their outputs too; before the loop over channels, and in it. */
bool k_is_short(const spec *s);
bool k_prefetches_out(const spec *s);
void emit_k_prefetch_setup(writer *w, const spec *s);
void emit_k_prefetch(writer *w, const spec *s, bool outputs);

/* family_k_sums.c: sums at their start; with residual and activation, where they go. */
void emit_k_start(writer *w, const spec *s);
void emit_k_sums(writer *w, const spec *s);

#endif
