/* SPDX-License-Identifier: MIT */
/* The registers and instructions of a spec. */
#include "spec.h"

/* AVX2's low tiles have no registers for all their inputs. */
bool w_streams_inputs(const spec *s)
{
    return !s->isa->mask_registers && s->tile.columns > 2 * s->tile.channels;
}

/* A vector of outputs has three inputs, from two loads and a broadcast. */
static budget w_strided_budget(const spec *s)
{
    const int channels = s->tile.channels, columns = s->tile.columns;
    return (budget){
        .accumulators = channels * columns,
        .inputs = 3 * columns,
        .weights = columns > 1,
        .others = 2,
        .masks = s->border == EDGE ? 6 : 0,
        .fmas = channels * columns,
        .loads = channels + columns,
    };
}

static budget w_budget(const spec *s)
{
    const int channels = s->tile.channels, columns = s->tile.columns;
    const bool embedded = s->isa->embedded_broadcast && columns == 1;
    budget b = {
        .accumulators = channels * columns,
        .inputs = columns,
        .weights = embedded ? 0 : 1,
        .fmas = channels * columns,
        .loads = channels + columns,
    };
    if (w_is_wide_edge(s)) {
        b.masks = columns;
        b.weights = 1;
    } else if (w_is_unrolled_edge(s))
        b.masks = s->taps.kernel_width;
    else if (s->border == EDGE)
        *(s->isa->mask_registers ? &b.masks : &b.others) = 2; /* the mask, and what it is made from */
    if (w_streams_inputs(s)) {
        b.inputs = 1;
        b.weights = channels;
    }
    return b;
}

static budget k_budget(const spec *s)
{
    const int vectors = s->tile.channels, columns = s->tile.columns;
    const int sums = vectors * columns - (s->halved ? columns / 2 : 0);
    return (budget){
        .accumulators = sums,
        .inputs = s->halved ? 2 : 1,
        .weights = vectors,
        .fmas = sums,
        .loads = vectors + columns,
    };
}

static budget f_budget(const spec *s)
{
    const int vectors = s->tile.channels;
    return (budget){.accumulators = vectors, .inputs = 1, .fmas = vectors, .loads = vectors + 1};
}

bool spec_holds_masks(const spec *s)
{
    return is_rows(s->family) && !rolls_down(s->family) && !s->isa->mask_registers && s->taps.kernel_width == 3;
}

/* Of D's rows; 1 is that of a broadcast.  With 32 registers, as many as leave five, some of which the activation takes:
 * to broadcast for each FMA and to load across lines for each tap is more than two loads a cycle (Zen 5: 5x5 1.2-1.33
 * times as fast, 7x7 1.1).  Stride 2 has fewer loads, and shuffles that need the registers (5x5 0.85-1.04). */
static int held_weights(const spec *s, const budget *b)
{
    const int taps = s->taps.kernel_width, all = kernel_rows(s) * taps;
    if (!s->isa->mask_registers)
        return all <= 9 && s->taps.stride == 1 && s->border == INTERIOR ? all : 1;
    if (taps != 3 && s->taps.stride != 1)
        return 0;
    const int left = s->isa->registers - 5 - b->accumulators - b->inputs - b->others;
    return left < all ? left : all;
}

int spec_at_once(const spec *s)
{
    const bool unrolled = s->family == FAMILY_D_NHWC && s->taps.kernel_width == 3;
    if (s->border == EDGE || is_down(s) || s->tile.channels > 1 || s->tile.columns < 3)
        return 1;
    if (s->isa->mask_registers)
        return unrolled && s->taps.stride == 2 && s->tile.columns <= 7 ? 4 : 1;
    return unrolled || s->family == FAMILY_D_NHWC_ANY ? 2 : 1;
}

/* Those of D count FMAs and loads per kernel row and column: a load serves the output rows (NCHW), or several outputs
 * (NHWC). */
static budget d_budget(const spec *s)
{
    const int taps = s->taps.kernel_width, rows = s->border == FOLDED ? 2 : 1;
    const int at_once = spec_at_once(s);
    const int outputs = (s->tile.channels + rows - 1) / rows * s->tile.columns * at_once;
    budget b = {.accumulators = outputs, .inputs = 1, .weights = 1, .fmas = outputs, .loads = at_once + outputs};
    if (at_once > 2)
        b.weights = taps;
    if (is_down(s)) {
        b.accumulators = outputs * ((taps - 1) / s->taps.stride + 1);
        b.weights = taps == 3 ? taps * taps : s->isa->registers - 1 - b.accumulators;
        b.fmas = taps * outputs;
        b.loads = outputs;
    }
    if (s->family == FAMILY_D_ROLL) {
        b.inputs = 2;
        b.others = s->isa->mask_registers ? 1 : 2;                  /* a tap, and what AVX2 shifts it out of */
        b.weights = s->isa->mask_registers || taps <= 7 ? taps : 7; /* a border takes the others for its masks */
        b.loads = 1;
    } else if (is_rows(s->family)) {
        if (s->isa->mask_registers)
            b.inputs = taps == 3 ? 3 * s->taps.stride : 1;
        b.others = s->taps.stride == 2 ? 2 : 0;
        if (spec_holds_masks(s) && s->border != INTERIOR)
            b.others += 3; /* those of three loads */
        b.weights = held_weights(s, &b);
    }
    if (has_strips(s->family)) {
        const int vectors = s->tile.columns, sums = (kernel_rows(s) - 1) / row_stride(s) + 1;
        const int all = kernel_rows(s) * taps;
        b.accumulators = vectors * sums;
        b.inputs = (vectors + (taps > 3 ? 2 : 1)) * s->taps.stride;
        b.others = s->taps.stride == 2 ? 2 : vectors; /* the order of even and odd columns; a tap of each vector */
        const int left = s->isa->registers - b.accumulators - b.inputs - b.others;
        b.weights = left >= all ? all : 1;
        b.masks = (taps < 7 ? taps - 1 : 1) + s->taps.stride;
        b.loads = vectors;
    } else if (rolls_down(s->family)) {
        const int vectors = s->border == INTERIOR || s->border == ENDS ? 2 : 1;
        const bool strided = s->taps.stride == 2;
        b.accumulators = vectors * ((kernel_rows(s) - 1) / row_stride(s) + 1);
        b.inputs = strided ? 3 : 1;
        b.weights = s->border == INTERIOR || s->taps.stride > row_stride(s) ? 6 : 9;
        if (taps > 3) { /* the vectors share a weight, and two parts of each, where strided, leave its taps */
            b.inputs = strided ? 2 * vectors + 2 : vectors;
            b.weights = 1;
        }
        b.others = 1; /* the mask of a load, or a weight that is broadcast */
    }
    if (s->family == FAMILY_D_NHWC_ANY && at_once == 2) {
        b.inputs = 0; /* of a pair; FMAs and loads are those of one vector */
        b.weights = 2;
        b.fmas = outputs / 2;
        b.loads = 1 + b.fmas;
    }
    if (s->family == FAMILY_D_GROUP)
        b.weights = s->tile.channels * taps;
    b.others += families[s->family].nhwc && families[s->family].grouped; /* the permutation */
    return b;
}

budget spec_budget(const spec *s)
{
    switch (s->family) {
    case FAMILY_W:
        return w_budget(s);
    case FAMILY_W_STRIDED:
        return w_strided_budget(s);
    case FAMILY_K:
        return k_budget(s);
    case FAMILY_F:
        return f_budget(s);
    default:
        return d_budget(s);
    }
}

int budget_registers(const budget *b)
{
    return b->accumulators + b->inputs + b->weights + b->others;
}
