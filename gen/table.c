/* SPDX-License-Identifier: MIT */
/* The dispatch table: one row per main tile and tap row, each with all tiles that it may use. */
#include "emit.h"

static spec interior_spec(const tile_set *set, const tap_row *taps, const tile_row *tile)
{
    return (spec){set->family, set->isa, *taps, *tile, INTERIOR, 0, false};
}

static void emit_named(writer *w, const char *before, const spec *s, const char *behind)
{
    char name[SPEC_NAME_SIZE];
    spec_name(s, name, sizeof name);
    line(w, "%s%s%s", before, name, behind);
}

static void emit_offset(writer *w, const spec *s)
{
    emit_named(w, "OFFSET(", s, ")");
}

/* The constant for a function's place among conv2d_tile_offsets: place_of_<name> */
static void emit_place(writer *w, const spec *s)
{
    emit_named(w, "place_of_", s, ",");
}

/* Any function of the set. */
static void emit_one(writer *w, const tile_set *set)
{
    spec s = interior_spec(set, set->taps, set->tiles);
    while (!spec_generated(&s))
        s.border++;
    emit_named(w, "", &s, ",");
}

/* Pointers would have to be relocated whenever the library is loaded, at 24 bytes each beside their own 8.  C has no
 * constants for differences. */
static void emit_offsets(writer *w)
{
    line(w, "/* How far each function is from here, and 0 for none. */");
    line(w, "#ifdef __x86_64__");
    line(w, "#define OFFSET(function) \".long \" #function \" - conv2d_tile_offsets\\n\"");
    line(w, "__asm__(\".pushsection .rodata\\n\"");
    line(w, "        \".balign 4\\n\"");
    line(w, "        \".globl conv2d_tile_offsets\\n\"");
    line(w, "        \".hidden conv2d_tile_offsets\\n\"");
    line(w, "        \".type conv2d_tile_offsets, @object\\n\"");
    line(w, "        \"conv2d_tile_offsets:\\n\"");
    line(w, "        \".long 0\\n\"");
    for (size_t i = 0; i < tile_set_count; i++)
        emit_set(w, &tile_sets[i], emit_offset);
    line(w, "        \".size conv2d_tile_offsets, . - conv2d_tile_offsets\\n\"");
    line(w, "        \".popsection\\n\");");
    line(w, "/* Objects that are optimized when they are linked are taken from an archive for what C refers to. */");
    block_begin(w, "static conv2d_tile_fn *const one_of_each_object[] __attribute__((used)) =");
    for (size_t i = 0; i < tile_set_count; i++)
        emit_one(w, &tile_sets[i]);
    block_end_with(w, ";");
    line(w, "#else");
    line(w, "const int32_t conv2d_tile_offsets[] = {0};");
    line(w, "#endif");
    blank(w);
}

static void emit_places(writer *w)
{
    block_begin(w, "enum");
    line(w, "no_tile,");
    line(w, "#ifdef __x86_64__");
    for (size_t i = 0; i < tile_set_count; i++)
        emit_set(w, &tile_sets[i], emit_place);
    line(w, "#endif");
    line(w, "tile_functions,");
    block_end_with(w, ";");
    line(w, "const size_t conv2d_tile_function_count = tile_functions;");
    blank(w);
}

static void emit_variant(writer *w, const spec *s)
{
    if (spec_generated(s))
        emit_place(w, s);
    else
        line(w, "no_tile,");
}

/* tiles_<taps>__<isa>_<family> */
static void tiles_name(const tile_set *set, const tap_row *taps, char *name, size_t size)
{
    snprintf(name, size, "tiles_kw%d_s%d__%s_%s", taps->kernel_width, taps->stride, set->isa->name,
             families[set->family].file);
}

/* In the order of kernel.h's constants for conv2d_tile_row's variant[]. */
static const border variants[] = {INTERIOR, LEFT, RIGHT, BOTH, THROUGH, ALONG, RIGHT_HALF, FOLDED};

static void emit_tile_rows(writer *w, const tile_set *set, const tap_row *taps)
{
    char name[SPEC_NAME_SIZE];
    tiles_name(set, taps, name, sizeof name);
    block_begin(w, "static const conv2d_tile_row %s[] =", name);
    for (size_t i = 0; i < set->tile_count; i++) {
        const spec tile = interior_spec(set, taps, &set->tiles[i]);
        block_begin(w, "{%d, %d,", tile.tile.channels, tile.tile.columns);
        for (size_t b = 0; b < sizeof variants / sizeof variants[0]; b++) {
            const spec called = spec_called(tile, variants[b]);
            emit_variant(w, &called);
        }
        block_end_with(w, "},");
    }
    block_end_with(w, ";");
}

/* tile_index__<isa>_<family> */
static void index_name(const tile_set *set, char *name, size_t size)
{
    snprintf(name, size, "tile_index__%s_%s", set->isa->name, families[set->family].file);
}

static void emit_tile_index(writer *w, const tile_set *set)
{
    char name[SPEC_NAME_SIZE];
    index_name(set, name, sizeof name);
    block_begin(w, "static const conv2d_tile_index %s =", name);
    for (size_t i = 0; i < set->tile_count; i++)
        line(w, "[%d][%d] = %zu,", set->tiles[i].channels, set->tiles[i].columns, i + 1);
    block_end_with(w, ";");
}

static void emit_kernel_row(writer *w, const tile_set *set, const tap_row *taps, const tile_row *tile)
{
    const spec s = interior_spec(set, taps, tile);
    const budget b = spec_budget(&s);
    char name[SPEC_NAME_SIZE], tiles[SPEC_NAME_SIZE], index[SPEC_NAME_SIZE];
    spec_name(&s, name, sizeof name);
    tiles_name(set, taps, tiles, sizeof tiles);
    index_name(set, index, sizeof index);
    scope_begin(w);
    line(w, ".name = \"%s\",", name);
    line(w, ".family = %s, .nhwc = %s, .grouped = %s,", families[set->family].level,
         families[set->family].nhwc ? "true" : "false", families[set->family].grouped ? "true" : "false");
    line(w, ".isa = %s, .lanes = %d,", set->isa->level, set->isa->lanes);
    line(w, ".kernel_width = %d, .stride_w = %d, .stride_h = %d,", taps->kernel_width, taps->stride,
         is_rows(set->family) ? row_stride(&s) : 0);
    line(w, ".kernel_height = %d, .dilates = %s, .rolls = %s, .rolls_down = %s,",
         is_rows(set->family) ? kernel_rows(&s) : 0, spec_dilates(&s) ? "true" : "false",
         set->family == FAMILY_D_ROLL ? "true" : "false", rolls_down(set->family) ? "true" : "false");
    line(w, ".tile_channels = %d, .tile_columns = %d,", tile->channels, tile->columns);
    line(w, ".registers = %d, .fmas = %d, .loads = %d,", budget_registers(&b), b.fmas, b.loads);
    line(w, ".tiles = %s, .tile_index = %s,", tiles, index);
    if (skips_columns(&s)) {
        tiles_name(set, &(tap_row){.kernel_width = 3}, tiles, sizeof tiles);
        line(w, ".three_taps = %s,", tiles);
    }
    line(w, ".offsets = conv2d_tile_offsets, .helpers = &helpers__%s,", set->isa->name);
    block_end_with(w, ",");
}

static void emit_helpers(writer *w, const isa_row *isa)
{
    char nchw[SPEC_NAME_SIZE], nhwc[SPEC_NAME_SIZE], transpose[SPEC_NAME_SIZE];
    char deinterleave[SPEC_NAME_SIZE], activate[SPEC_NAME_SIZE];
    store_name(isa, "nchw", nchw, sizeof nchw);
    store_name(isa, "nhwc", nhwc, sizeof nhwc);
    transpose_name(isa, transpose, sizeof transpose);
    deinterleave_name(isa, deinterleave, sizeof deinterleave);
    activate_name(isa, activate, sizeof activate);
    block_begin(w, "static const conv2d_helpers helpers__%s =", isa->name);
    line(w, ".store_nchw = %s, .store_nhwc = %s, .transpose = %s,", nchw, nhwc, transpose);
    line(w, ".deinterleave = %s, .activate = %s,", deinterleave, activate);
    block_end_with(w, ";");
}

void emit_table(writer *w)
{
    line(w, "/* kernel_table.c: written by convgen, do not edit. */");
    line(w, "#include \"kernels.h\"");
    blank(w);
    emit_offsets(w);
    emit_places(w);
    line(w, "static const conv2d_helpers helpers__scalar = {.activate = conv2d_activate__scalar};");
    line(w, "#ifdef __x86_64__");
    emit_helpers(w, &isa_avx2);
    emit_helpers(w, &isa_avx512);
    for (size_t i = 0; i < tile_set_count; i++) {
        emit_tile_index(w, &tile_sets[i]);
        for (size_t t = 0; t < tile_sets[i].tap_count; t++)
            emit_tile_rows(w, &tile_sets[i], &tile_sets[i].taps[t]);
    }
    line(w, "#endif");
    blank(w);
    line(w, "/* The reference runs everything, so every problem has a kernel. */");
    block_begin(w, "const conv2d_kernel conv2d_kernels[] =");
    line(w, "{.name = \"conv2d_f32_reference__scalar\", .family = CONV2D_FAMILY_REFERENCE,");
    line(w, " .isa = CONV2D_ISA_SCALAR, .lanes = 1, .tile_channels = 1, .tile_columns = 1, .fmas = 1, .loads = 2,");
    line(w, " .helpers = &helpers__scalar},");
    line(w, "#ifdef __x86_64__");
    for (size_t i = 0; i < tile_set_count; i++)
        for (size_t t = 0; t < tile_sets[i].tap_count; t++)
            for (size_t k = 0; k < tile_sets[i].tile_count; k++)
                if (is_kernel(&tile_sets[i].taps[t], &tile_sets[i].tiles[k]))
                    emit_kernel_row(w, &tile_sets[i], &tile_sets[i].taps[t], &tile_sets[i].tiles[k]);
    line(w, "#endif");
    block_end_with(w, ";");
    line(w, "const size_t conv2d_kernel_count = sizeof conv2d_kernels / sizeof conv2d_kernels[0];");
}
