/* SPDX-License-Identifier: MIT */
/* The emitters: each writes one function. */
#ifndef CONVGEN_EMIT_H
#define CONVGEN_EMIT_H

#include "spec.h"
#include "writer.h"

/* The top of a generated file: includes, and the helpers that its tiles inline. */
void emit_prelude(writer *w, const isa_row *isa, const char *file, bool fma_bound);
/* The comment above a tile and its opening line; and its end. */
void emit_tile_begin(writer *w, const spec *s);
void emit_tile_end(writer *w);
/* The end of any function with wide vectors. */
void emit_vectors_end(writer *w);

/* Has emit write about every tile of the set that is generated. */
typedef void emit_fn(writer *w, const spec *s);
void emit_set(writer *w, const tile_set *set, emit_fn *emit);

void emit_tile(writer *w, const spec *s);
void emit_w_tile(writer *w, const spec *s);
/* W: one of the unrolled taps, or tap 0 for a loop over them. */
void emit_w_tap(writer *w, const spec *s, int tap);
/* W: all input channels of a tile. */
void emit_w_channels(writer *w, const spec *s);
/* W, 1x1: one output channel along the columns. */
void emit_w_along(writer *w, const spec *s);
/* family_w_strided.c: what a tile holds, and a kernel row. */
void emit_w_strided_setup(writer *w, const spec *s);
void emit_w_strided_row(writer *w, const spec *s);
void emit_k_tile(writer *w, const spec *s);
void emit_f_tile(writer *w, const spec *s);
void emit_d_tile(writer *w, const spec *s);
void emit_d_down_tile(writer *w, const spec *s);
void emit_d_strips_tile(writer *w, const spec *s);
void emit_d_roll_tile(writer *w, const spec *s);
void emit_d_any_tile(writer *w, const spec *s);
void emit_d_nhwc_tile(writer *w, const spec *s);
void emit_d_nhwc_any_tile(writer *w, const spec *s);

/* The functions that store K's buffer as NCHW rows and as NHWC pixels. */
void emit_stores(writer *w, const isa_row *isa);
/* And the one that makes pixels of NCHW rows. */
void transpose_name(const isa_row *isa, char *name, size_t size);
void store_name(const isa_row *isa, const char *layout, char *name, size_t size);

/* W: the function that sorts the columns of a row of stride 2. */
void emit_deinterleave(writer *w, const isa_row *isa);
void deinterleave_name(const isa_row *isa, char *name, size_t size);

/* Applies the activation of `source` to `count` vectors; name(i) formats the i-th variable. */
typedef void vector_name(int index, const void *context, char *name, size_t size);
void emit_activation(writer *w, const isa_row *isa, const char *source, int count, vector_name *name,
                     const void *context);
/* Of these CONV2D_CLAMP only. */
void emit_clamp(writer *w, const isa_row *isa, const char *source, int count, vector_name *name, const void *context);

/* A file with the function that applies the curved activations, those of activation.h, to outputs in place. */
void emit_activate(writer *w, const isa_row *isa, const char *file);
void activate_name(const isa_row *isa, char *name, size_t size);

/* Declarations of every tile, the tile rows, and the dispatch rows. */
void emit_table(writer *w);

/* edge_columns.c: how a family makes the place of a tile's column `column` known at first, goes on to column `p` from
 * the one before or behind it, and multiplies there. */
typedef struct column_code {
    void (*begin)(writer *w, const spec *s, const char *column);
    void (*next)(writer *w, const spec *s, int p);
    void (*back)(writer *w, const spec *s, int p);
    void (*fmas)(writer *w, const spec *s, int p);
} column_code;
/* The columns of which some at the beginning, or at the end, lie outside the input, but not all.  Tiles of few columns
 * ask each of them, or a mask, instead: a jump costs AVX2's 2x6 up to 6 %. */
enum { FEW_COLUMNS = 6 };
void emit_last_columns(writer *w, const spec *s, const column_code *code);
void emit_first_columns(writer *w, const spec *s, const column_code *code);

#endif
