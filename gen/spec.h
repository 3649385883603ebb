/* SPDX-License-Identifier: MIT */
/*
 * What to generate.  A *tap row* says which convolutions a tile serves, a *tile row* how it uses the registers; each
 * family has a list of both, and every pair of them is a spec: one tile, in an interior and an edge variant.
 */
#ifndef CONVGEN_SPEC_H
#define CONVGEN_SPEC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct isa_row {
    const char *name;       /* as in kernel names */
    const char *level;      /* of enum conv2d_isa */
    const char *target;     /* of the target attribute; prfchw, or __builtin_prefetch(p, 1) would become a read */
    const char *tune;       /* CPU of the same, for gcc and families that wait for FMAs; NULL: none (gen/emit.c) */
    const char *vector;     /* type */
    const char *prefix;     /* of the intrinsics */
    const char *constraint; /* of a vector register in an asm statement */
    int lanes, registers;
    int mask_registers;      /* 0: masks are vectors, merged by blending */
    bool embedded_broadcast; /* an FMA can broadcast its memory operand */
} isa_row;

/* W, STRIDED: the columns of an input row are sorted as they are read.  D has its own emitter for each layout, and for
 * unrolled and looped taps.  UNEVEN: one stride is 1, the other 2.  DOWN: sums roll down the rows.  STRIPS: those of
 * several vectors side by side.  LINE: of one kernel row.  ROLL: of one, whose taps are neighbours.  SCALE: of one tap.
 * SUM: of several input channels. */
typedef enum family {
    FAMILY_W,
    FAMILY_W_STRIDED,
    FAMILY_K,
    FAMILY_F,
    FAMILY_D,
    FAMILY_D_UNEVEN,
    FAMILY_D_DOWN,
    FAMILY_D_DOWN_UNEVEN,
    FAMILY_D_STRIPS,
    FAMILY_D_STRIPS_UNEVEN,
    FAMILY_D_STRIPS_LINE,
    FAMILY_D_LINE,
    FAMILY_D_ROLL,
    FAMILY_D_SCALE,
    FAMILY_D_SUM,
    FAMILY_D_ANY,
    FAMILY_D_NHWC,
    FAMILY_D_NHWC_ANY,
    FAMILY_D_GROUP,
    FAMILY_D_GROUP_ANY
} family;

typedef struct family_row {
    const char *file;  /* in names of files and tables */
    const char *level; /* of enum conv2d_family */
    const char *tile;  /* what a tile's two numbers count */
    char letter;       /* in kernel names */
    bool nhwc;
    bool grouped;   /* several channels a group */
    bool fma_bound; /* tiles wait for FMAs; those of the others for loads */
} family_row;

typedef struct tap_row {
    int kernel_width; /* unrolled kernel columns; 0: a loop over any number */
    int stride;       /* along the row; 0: any */
} tap_row;

/* MAIN: a kernel of its own in the dispatch table; the others serve remainders.  SHORT: one in 1x1, where tiles of W
 * are short.  LEAN: those of D, NHWC, that have no variants for parts of vectors and, unrolled, for rows of tiles
 * inside the input.  OF_3X3: kernels of their own, but of three taps with any stride alone, as what serves their
 * remainders is.  UP_TO_5: of no more taps than that; OF_7: of 7, and a remainder of fewer. */
typedef enum tile_use { REST, MAIN, SHORT, LEAN, OF_3X3, OF_3X3_REST, UP_TO_5, OF_7 } tile_use;

typedef struct tile_row {
    int channels; /* W: output channels.  K and F: vectors of output channels.  D: output rows */
    int columns;  /* W and D, NCHW: vectors of output columns.  K and D, NHWC: output columns */
    tile_use use;
} tile_row;

/* One family on one ISA: all pairs of its rows are generated. */
typedef struct tile_set {
    family family;
    const isa_row *isa;
    const tap_row *taps;
    size_t tap_count;
    const tile_row *tiles;
    size_t tile_count;
} tile_set;

/* Where a tile lies.  EDGE finds out at run time which taps lie outside the input; LEFT, RIGHT and BOTH, of K with 3
 * unrolled kernel columns, leave out those on one column of padding.  Those of D mask them; it has HALF for what fits
 * in a vector of half the width, and FOLDED where whole rows do: two of them share a vector.  Of W's 1x1, inside:
 * THROUGH goes through blocks of output channels, ALONG, for one of them, along the columns, with some input channels
 * at a time; FILL copies what it reads to the panel, for the tiles behind it.  BRIEF, of K inside: for short sums,
 * beside which nothing is fetched.  ENDS, of D's sums that roll down: the first and the last vector of a row.  DOWN
 * and ACROSS, of D, NHWC: sums do so, of one vector of channels after the other, or of all of them row by row; inside
 * and at the sides. */
typedef enum border {
    INTERIOR,
    EDGE,
    LEFT,
    RIGHT,
    BOTH,
    RIGHT_HALF,
    FOLDED,
    THROUGH,
    ALONG,
    FILL,
    BRIEF,
    ENDS,
    DOWN,
    ACROSS,
    BORDER_COUNT
} border;

typedef struct spec {
    family family;
    const isa_row *isa;
    tap_row taps;
    tile_row tile;
    border border;
    int at_once; /* D, NHWC: the part of a tile that takes so many vectors of channels; sums are as of more rows */
    bool halved; /* K: the last vector has at most half its channels, of two columns */
} spec;

/* Whether there is such a tile with these taps. */
static inline bool tile_suits(const tap_row *taps, const tile_row *tile)
{
    const bool of_3x3 = tile->use == OF_3X3 || tile->use == OF_3X3_REST;
    if (tile->use == UP_TO_5)
        return taps->kernel_width <= 5;
    return !of_3x3 || (taps->kernel_width == 3 && taps->stride == 0);
}

/* Whether the dispatch table has a row for these taps and this tile. */
static inline bool is_kernel(const tap_row *taps, const tile_row *tile)
{
    const bool is_short = tile->use == SHORT && taps->kernel_width == 1;
    const bool is_only = tile->use == OF_3X3 && tile_suits(taps, tile);
    const bool is_widest = tile->use == (taps->kernel_width == 7 ? OF_7 : UP_TO_5);
    return tile->use == MAIN || is_short || is_only || is_widest;
}

/* Whether no tap of the tile lies outside the input. */
static inline bool is_inside(const spec *s)
{
    return s->border == INTERIOR || s->border == BRIEF;
}

/* Whether a tile inside may leave out kernel columns at its sides, and has a twin with three unrolled ones. */
static inline bool skips_columns(const spec *s)
{
    return s->family == FAMILY_K && !s->isa->mask_registers && !s->taps.kernel_width && is_inside(s);
}

/* From an output row to the next, in input rows. */
static inline int row_stride(const spec *s)
{
    const bool uneven =
        s->family == FAMILY_D_UNEVEN || s->family == FAMILY_D_DOWN_UNEVEN || s->family == FAMILY_D_STRIPS_UNEVEN;
    return uneven ? 3 - s->taps.stride : s->taps.stride;
}

/* D, NHWC: whether the sums roll down the rows. */
static inline bool is_down(const spec *s)
{
    return s->border == DOWN || s->border == ACROSS;
}

/* D, NCHW, unrolled: whether a tile is any number of output rows; and of several vectors of columns. */
static inline bool has_strips(family f)
{
    return f == FAMILY_D_STRIPS || f == FAMILY_D_STRIPS_UNEVEN || f == FAMILY_D_STRIPS_LINE;
}
static inline bool rolls_down(family f)
{
    return f == FAMILY_D_DOWN || f == FAMILY_D_DOWN_UNEVEN || has_strips(f);
}

/* D, NCHW, unrolled: whether the kernel has one row, and how many it has. */
static inline bool is_one_row(family f)
{
    return f == FAMILY_D_STRIPS_LINE || f == FAMILY_D_LINE || f == FAMILY_D_ROLL;
}

static inline int kernel_rows(const spec *s)
{
    return is_one_row(s->family) ? 1 : s->taps.kernel_width;
}

/* D, NCHW, unrolled, stride 1: whether neighbouring taps may be any distance apart. */
static inline bool spec_dilates(const spec *s)
{
    return s->family == FAMILY_D_LINE || s->family == FAMILY_D_SCALE ||
           ((s->family == FAMILY_D || s->family == FAMILY_D_DOWN) && s->taps.kernel_width == 3 && s->taps.stride == 1);
}

/* D, NCHW, unrolled: output rows side by side. */
static inline bool is_rows(family f)
{
    return f == FAMILY_D || f == FAMILY_D_UNEVEN || rolls_down(f) || f == FAMILY_D_LINE || f == FAMILY_D_ROLL ||
           f == FAMILY_D_SCALE || f == FAMILY_D_SUM;
}

/* Registers and instructions of a spec's innermost tap. */
typedef struct budget {
    int accumulators, inputs, weights, others; /* vector registers */
    int masks;                                 /* mask registers */
    int fmas, loads;                           /* vector instructions a tap; an embedded broadcast is a load */
} budget;

/* isa_avx512_half: AVX-512 instructions on 256-bit vectors, for D's narrow maps. */
extern const isa_row isa_scalar, isa_avx2, isa_avx512, isa_avx512_half;
extern const family_row families[];
extern const tile_set tile_sets[];
extern const size_t tile_set_count;

budget spec_budget(const spec *s);
int budget_registers(const budget *b);
/* Whether the spec's registers suffice, and the library has room for the tile. */
bool spec_fits(const spec *s);
/* D, NCHW, AVX2: whether masks are in registers, as 3 taps have room for. */
bool spec_holds_masks(const spec *s);
bool w_streams_inputs(const spec *s);
/* W, at an edge: whether whole rows of few channels are one tile, and whether taps are unrolled. */
bool w_is_wide_edge(const spec *s);
bool w_is_unrolled_edge(const spec *s);
/* Whether a tile of K asks for what the next ones need. */
bool spec_fetches(const spec *s);
/* How many vectors of channels a tile of D, NHWC, takes at a time, before it takes what is left one by one. */
int spec_at_once(const spec *s);
/* Whether this variant exists. */
bool spec_generated(const spec *s);
/* The spec of the function that a kernel of these taps calls for a tile at INTERIOR, LEFT, RIGHT or BOTH. */
spec spec_called(spec tile, border border);

/* The name of the kernel, or of the tile with its border appended. */
void spec_name(const spec *s, char *name, size_t size);
enum { SPEC_NAME_SIZE = 64 };

#endif
