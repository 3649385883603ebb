/* SPDX-License-Identifier: MIT */
/*
 * Every function of every tile, with all its border variants, at each of the 16 places of a float in a cache line, with
 * all tensors against inaccessible pages on their right and on their left.  The tiles themselves say which of them a
 * case enters (counted.h): of many candidates those cases are taken that enter a function for the first time.  Each is
 * planned for CPUs that begin two FMAs of 512 bits in a cycle and for those that begin one, whichever this one is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counted.h"
#include "other_cpu.h"
#include "support.h"

enum { MOST_FUNCTIONS = 4096, MOST_CASES = 512, PLACES = 16 };

/* A tile function of any kernel, since kernels share them: its place among all, and where it was entered, bit side *
 * 16 + offset. */
typedef struct function {
    uint16_t place;
    uint32_t places;
} function;

/* CPUs whose plans differ: whether two wide FMAs begin in a cycle, and what the L2 has. */
static const struct other_kind {
    bool two_wide_fmas;
    size_t l2_bytes;
} kinds[] = {{false, 1 << 20}, {true, 1 << 20}, {false, 512 << 10}};

/* A descriptor, and the kind of CPU that it is planned for. */
typedef struct chosen_case {
    conv2d_desc desc;
    size_t kind;
} chosen_case;

typedef struct survey {
    function functions[MOST_FUNCTIONS];
    size_t count, kernels, cases, runs;
    counted kernel;
    const conv2d_tile_row *tiles; /* the original ones of that kernel */
    cpu_facts facts;              /* of the CPU that plans are for */
    size_t kind;                  /* of it */
    chosen_case chosen[MOST_CASES];
    size_t chosen_count;
    float *data; /* what candidates run on */
    size_t data_floats;
} survey;

static function *function_of(survey *s, size_t slot)
{
    const uint16_t place = s->tiles[slot / 8].variant[slot % 8];
    for (size_t i = 0; i < s->count; i++)
        if (s->functions[i].place == place)
            return &s->functions[i];
    cr_assert_lt(s->count, (size_t)MOST_FUNCTIONS);
    s->functions[s->count].place = place;
    return &s->functions[s->count++];
}

/* Notes what has been entered since the last call; whether it was the first time for any function in this place. */
static bool note_entries(survey *s, uint32_t place)
{
    bool is_new = false;
    for (size_t slot = 0; slot < s->kernel.tile_count * 8; slot++) {
        if (!counted_has(&s->kernel, slot) || !counted_take(slot))
            continue;
        function *const f = function_of(s, slot);
        is_new |= !(f->places & place);
        f->places |= place;
    }
    return is_new;
}

static float *data_of(survey *s, size_t floats)
{
    if (floats > s->data_floats) {
        free(s->data);
        s->data = calloc(floats, sizeof *s->data);
        s->data_floats = floats;
        cr_assert_not_null(s->data);
    }
    return s->data;
}

/* Plans from here on are for a CPU of this kind. */
static void become(survey *s, size_t kind)
{
    s->kind = kind;
    s->facts.two_wide_fmas = kinds[kind].two_wide_fmas;
    s->facts.l2_bytes = kinds[kind].l2_bytes;
}

/* Runs a candidate without any checks; keeps it if it enters a new function. */
static void try_candidate(survey *s, const conv2d_kernel_info *info, const conv2d_desc *d)
{
    enum { FIRST_PLACE = 1 };
    conv2d_options options = options_for(info->isa);
    options.kernel = info->name;
    conv2d_plan plan;
    if (conv2d_plan_init(&plan, d, &options) != CONV2D_OK)
        return;
    const size_t sizes[] = {in_extent(d), conv2d_packed_size(&plan), conv2d_workspace_size(&plan, 1), out_extent(d)};
    float *const in = data_of(s, sizes[0] + sizes[1] + sizes[2] + sizes[3]);
    float *const packed = in + sizes[0], *const workspace = packed + sizes[1], *const out = workspace + sizes[2];
    counted_use(&s->kernel, &plan);
    const conv2d_args args = {
        .in = in, .packed = packed, .residual = d->residual ? out : NULL, .out = out, .workspace = workspace};
    cr_assert_eq(conv2d_run(&plan, &args), CONV2D_OK);
    if (!note_entries(s, FIRST_PLACE))
        return;
    cr_assert_lt(s->chosen_count, (size_t)MOST_CASES);
    s->chosen[s->chosen_count++] = (chosen_case){*d, s->kind};
}

/* Bias, residual, activation and layouts differ from candidate to candidate. */
static conv2d_desc candidate(const conv2d_kernel_info *info, size_t number, size_t channels, size_t rows,
                             size_t columns, size_t pads)
{
    const size_t looped = info->family[0] == 'k' ? 4 : 3; /* K has three unrolled for AVX2 */
    const size_t width = info->kernel_width ? info->kernel_width : looped, stride = info->stride_w ? info->stride_w : 2;
    const bool depthwise = info->family[0] == 'd', nhwc = strstr(info->name, "_nhwc_") != NULL;
    const bool pointwise = info->family[0] == 'w' && width == 1 && number / 4 % 2; /* whatever the padding */
    /* 15: 8, 4, 2 and 1 (gen/family_w_along.c) */
    const size_t height = !depthwise ? pointwise ? 1 : 2 : nhwc || !info->kernel_width ? width : unrolled_rows(info);
    const size_t dilation = takes_dilation(info) && number % 3 == 2 ? 2 : 1;
    conv2d_desc d = simple_desc(pointwise ? 15 : 2, 0, 0, channels, height, width);
    d.dilation_h = d.dilation_w = dilation;
    d.stride_h = row_stride(info);
    d.stride_w = stride;
    const size_t pad = depthwise ? width / 2 * dilation : 1; /* D folds rows only where it is half a kernel */
    d.pad_left = (pads & 1) * pad;
    d.pad_right = (pads >> 1) * pad;
    if (depthwise) {
        const bool sums = sums_channels(info);
        d.groups = sums ? 1 : channels;
        d.in_channels = d.out_channels = sums || strstr(info->name, "_g") ? 2 * channels : channels;
        d.pad_top = height > 1 ? d.pad_left : 0;
        d.pad_bottom = height > 1 ? d.pad_right : 0;
    }
    d.in_height = input_for(rows, d.kernel_height, d.stride_h, dilation, d.pad_top + d.pad_bottom);
    d.in_width = input_for(columns, width, stride, dilation, d.pad_left + d.pad_right);
    if (pointwise && number / 8 % 2) { /* planes that share a set, of which AVX2 makes a panel */
        d.in_pitch[1] = 1024;
        d.in_pitch[0] = d.in_channels * d.in_pitch[1];
    }
    if (info->family[0] == 'f') {
        d.in_channels = 5;
        d.in_height = d.in_width = d.kernel_height = 1;
        d.packing = (conv2d_packing)(number % 2);
    }
    if (info->family[0] == 'k') {
        d.in_layout = info->stride_w ? CONV2D_NCHW : CONV2D_NHWC;
        d.out_layout = (conv2d_layout)(number % 2);
    } else if (nhwc) { /* NCHW passes through the workspace */
        d.in_layout = number % 3 ? CONV2D_NHWC : CONV2D_NCHW;
        d.out_layout = number % 3 < 2 ? CONV2D_NHWC : CONV2D_NCHW;
        if (number % 3 == 1 && number / 12 % 2) /* pixels that share a set, between which sums go across the channels */
            d.in_pitch[2] = d.out_pitch[2] = 1024;
    }
    d.bias = number % 4 ? bias_given : NULL;
    d.residual = number % 5 == 0 ? residual_given : number % 5 == 1 ? residual_in_place : NULL;
    d.activation = (conv2d_activation)(number % (CONV2D_MISH + 1));
    d.act_a = -0.25f;
    d.act_b = 0.5f;
    return d;
}

/* Which sizes lead to every tile of a family: up to what, in which steps. */
typedef struct grid {
    size_t channels, channels_step, rows, columns, columns_step;
} grid;

static grid grid_of(const conv2d_kernel_info *info)
{
    const bool nhwc = strstr(info->name, "_nhwc_") != NULL;
    switch (info->family[0]) {
    case 'w': /* groups of up to 14 vectors between two that lie at edges */
        return (grid){18, 1, 1, 16 * info->lanes, info->lanes / 2};
    case 'k':
        /* Half a vector of AVX-512, too, which two columns share behind a whole one. */
        return (grid){info->tile_channels, 8, 1, 2 * info->tile_columns + 1, 1};
    case 'f':
        return (grid){128, info->lanes, 1, 1, 1};
    case 'd':
        /* Less than a vector of channels, and one with a rest; besides the main tile's rows, up to twice as many. */
        return nhwc ? (grid){2 * info->lanes - 2, info->lanes - 1, info->tile_rows + 1, 3 * info->tile_columns + 1, 1}
                    : (grid){1, 1, 2 * info->tile_rows, 6 * info->lanes, info->lanes / 2};
    default:
        return (grid){1, 1, 1, 1, 1};
    }
}

static void try_candidates(survey *s, const conv2d_kernel_info *info)
{
    const grid g = grid_of(info);
    size_t number = 0;
    for (size_t channels = g.channels_step; channels <= g.channels; channels += g.channels_step)
        for (size_t rows = 1; rows <= g.rows; rows++)
            for (size_t columns = 1; columns <= g.columns; columns += g.columns_step)
                for (size_t pads = 4; pads-- > 0;) { /* what masks most, first */
                    const conv2d_desc d = candidate(info, number++, channels, rows, columns, pads);
                    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
                        become(s, kind);
                        try_candidate(s, info, &d);
                    }
                }
}

/* A chosen case in guarded memory, against the oracle, at all places. */
static void run_everywhere(survey *s, const conv2d_kernel_info *info, const chosen_case *chosen)
{
    become(s, chosen->kind);
    conv_case c = {.desc = chosen->desc, .options = options_for(info->isa), .fill = FILL_UNIFORM, .seed = 1};
    c.options.kernel = info->name;
    for (c.side = GUARD_RIGHT; c.side <= GUARD_LEFT; c.side++)
        for (c.offset = 0; c.offset < PLACES; c.offset++) {
            prepared ready;
            cr_assert_eq(prepare_case(&c, &ready), CONV2D_OK, "%s", describe_case(&c));
            counted_use(&s->kernel, &ready.plan);
            run_case(&c, &ready);
            compare_case(&c, &ready);
            note_entries(s, 1u << (c.side * PLACES + c.offset));
            s->runs++;
        }
}

/* W on AVX2 has 8x1 for the sake of its edges; inside, the main tile is larger with fewer channels. */
static bool is_for_edges(const survey *s, size_t slot)
{
    return s->kernel.kernel.family == CONV2D_FAMILY_W && slot % 8 == CONV2D_INTERIOR &&
           s->tiles[slot / 8].channels > s->kernel.kernel.tile_channels;
}

static void survey_kernel(survey *s, const conv2d_kernel_info *info)
{
    counted_make(&s->kernel, info->name);
    s->tiles = conv2d_find_kernel(info->name)->tiles;
    s->chosen_count = 0;
    for (size_t slot = 0; slot < s->kernel.tile_count * 8; slot++)
        if (counted_has(&s->kernel, slot) && !is_for_edges(s, slot))
            function_of(s, slot);
    try_candidates(s, info);
    for (size_t i = 0; i < s->chosen_count; i++)
        run_everywhere(s, info, &s->chosen[i]);
    s->cases += s->chosen_count;
    s->kernels++;
}

/* The tile and variant of a function that was left out. */
static void describe_function(const function *f, char *text, size_t size)
{
    for (size_t k = 0; k < conv2d_kernel_count; k++)
        for (size_t slot = 0; slot < COUNTED_SLOTS; slot++) {
            const conv2d_tile_row *row = &conv2d_kernels[k].tiles[slot / 8];
            if (slot / 8 >= counted_tiles(&conv2d_kernels[k]) || row->variant[slot % 8] != f->place)
                continue;
            snprintf(text, size, "%s: tile %ux%u, variant %zu", conv2d_kernels[k].name, row->channels, row->columns,
                     slot % 8);
            return;
        }
}

ParameterizedTestParameters(variants, each_at_each_place)
{
    return each_isa();
}

ParameterizedTest(conv2d_isa *isa, variants, each_at_each_place)
{
    static survey s;
    require_isa(*isa);
    if (*isa == CONV2D_ISA_SCALAR)
        cr_skip_test("the reference has no tiles");
    s.facts = real_cpu();
    other_cpu = &s.facts;
    conv2d_kernel_info info;
    for (size_t i = 0; conv2d_kernel_at(i, &info); i++)
        if (info.isa == *isa && info.family[0] != 'r')
            survey_kernel(&s, &info);
    other_cpu = NULL;
    size_t missing = 0;
    for (size_t i = 0; i < s.count; i++)
        if (s.functions[i].places != UINT32_MAX) {
            char text[256] = "";
            describe_function(&s.functions[i], text, sizeof text);
            fprintf(stderr, "not at all places (%08x): %s\n", s.functions[i].places, text);
            missing++;
        }
    fprintf(stderr, "%s: %zu kernels, %zu tile functions, each at %d places on both sides: %zu cases, %zu runs\n",
            conv2d_isa_name(*isa), s.kernels, s.count, PLACES, s.cases, s.runs);
    cr_assert_eq(missing, 0, "%zu functions were not entered at all places", missing);
}
