/* SPDX-License-Identifier: MIT */
/*
 * The functions that activate stored outputs in place, one for each instruction set.  All have the same text but for
 * the spelling of the operations, which is a table.
 */
#include <string.h>

#include "activation.h"
#include "emit.h"

/* min, max and less are C's conditional expressions, as the instructions are, NaN and signed zeros included. */
static const struct spelling {
    const char *head, *scalar, *avx2, *avx512;
} spellings[] = {
    {"fma(number a, number b, number c)", "fmaf(a, b, c)", "_mm256_fmadd_ps(a, b, c)", "_mm512_fmadd_ps(a, b, c)"},
    {"fnma(number a, number b, number c)", "fmaf(-a, b, c)", "_mm256_fnmadd_ps(a, b, c)", "_mm512_fnmadd_ps(a, b, c)"},
    {"fnms(number a, number b, number c)", "fmaf(-a, b, -c)", "_mm256_fnmsub_ps(a, b, c)", "_mm512_fnmsub_ps(a, b, c)"},
    {"add(number a, number b)", "a + b", "_mm256_add_ps(a, b)", "_mm512_add_ps(a, b)"},
    {"sub(number a, number b)", "a - b", "_mm256_sub_ps(a, b)", "_mm512_sub_ps(a, b)"},
    {"mul(number a, number b)", "a * b", "_mm256_mul_ps(a, b)", "_mm512_mul_ps(a, b)"},
    {"div(number a, number b)", "a / b", "_mm256_div_ps(a, b)", "_mm512_div_ps(a, b)"},
    {"min(number a, number b)", "a < b ? a : b", "_mm256_min_ps(a, b)", "_mm512_min_ps(a, b)"},
    {"max(number a, number b)", "a > b ? a : b", "_mm256_max_ps(a, b)", "_mm512_max_ps(a, b)"},
    {"less(number a, number b, number c, number d)", "a < b ? c : d",
     "_mm256_blendv_ps(d, c, _mm256_cmp_ps(a, b, _CMP_LT_OQ))",
     "_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), d, c)"},
    {"and(number a, number b)", "of_bits(to_bits(a) & to_bits(b))", "_mm256_and_ps(a, b)", "_mm512_and_ps(a, b)"},
    {"andnot(number a, number b)", "of_bits(~to_bits(a) & to_bits(b))", "_mm256_andnot_ps(a, b)",
     "_mm512_andnot_ps(a, b)"},
    {"or(number a, number b)", "of_bits(to_bits(a) | to_bits(b))", "_mm256_or_ps(a, b)", "_mm512_or_ps(a, b)"},
    {"power(number a)", "of_bits(to_bits(a) << 23)",
     "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 23))",
     "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), 23))"},
    {"constant(const float *a)", "*a", "_mm256_load_ps(a)", "_mm512_set1_ps(*a)"},
    {"load(const float *a)", "*a", "_mm256_loadu_ps(a)", "_mm512_loadu_ps(a)"},
};

static const char *const arguments =
    "conv2d_activation activation, float *out, size_t rows, size_t columns, ptrdiff_t row_pitch";

static void emit_helper(writer *w, const char *result, const char *head, const char *value)
{
    block_begin(w, "HELPER %s op_%s", result, head);
    line(w, "return %s;", value);
    block_end(w);
}

static void emit_scalar_prelude(writer *w, const char *file)
{
    line(w, "/* %s: written by convgen, do not edit. */", file);
    line(w, "#include <math.h>");
    line(w, "#include <string.h>");
    blank(w);
    line(w, "#include \"kernels.h\"");
    blank(w);
    line(w, "#define HELPER static inline __attribute__((always_inline))");
    line(w, "/* Hides the constants: compilers would compute with them in the default rounding mode, callers may have "
            "another. */");
    line(w, "#define OPAQUE(pointer) __asm__(\"\" : \"+r\"(pointer))");
    block_begin(w, "HELPER uint32_t to_bits(float x)");
    line(w, "uint32_t bits;");
    line(w, "memcpy(&bits, &x, sizeof bits);");
    line(w, "return bits;");
    block_end(w);
    block_begin(w, "HELPER float of_bits(uint32_t bits)");
    line(w, "float x;");
    line(w, "memcpy(&x, &bits, sizeof x);");
    line(w, "return x;");
    block_end(w);
}

static void emit_operations(writer *w, const isa_row *isa)
{
    line(w, "typedef %s number;", isa->vector);
    line(w, "#define FINISH(x, at, constant) __asm__(\"\" : \"%s\"(x), \"+r\"(at), \"+r\"(constant))", isa->constraint);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        const struct spelling *s = &spellings[i];
        emit_helper(w, "number", s->head, isa->lanes == 1 ? s->scalar : isa->mask_registers ? s->avx512 : s->avx2);
    }
    block_begin(w, "HELPER void op_store(float *out, number x)");
    if (isa->lanes == 1)
        line(w, "*out = x;");
    else
        line(w, "%s_storeu_ps(out, x);", isa->prefix);
    block_end(w);
    if (isa->mask_registers) {
        emit_helper(w, "number", "load_first(const float *from, uint32_t mask)",
                    "_mm512_maskz_loadu_ps((__mmask16)mask, from)");
        block_begin(w, "HELPER void store_first(float *out, number x, uint32_t mask)");
        line(w, "_mm512_mask_storeu_ps(out, (__mmask16)mask, x);");
        block_end(w);
    } else if (isa->lanes > 1) {
        emit_helper(w, "number", "load_first(const float *from, uint32_t mask)",
                    "_mm256_maskload_ps(from, lanes_of(mask))");
    }
    blank(w);
}

/* Operands of AVX2 have no broadcast, so there a constant is a whole vector. */
static void emit_constants(writer *w, const isa_row *isa)
{
    const int copies = isa->embedded_broadcast ? 1 : isa->lanes;
    block_begin(w, "static const struct constants");
    for (size_t i = 0; i < activation_constant_count; i++)
        line(w, "float %s[%d];", activation_constants[i].name, copies);
    w->depth--;
    line(w, "} constants __attribute__((aligned(64))) = {");
    w->depth++;
    for (size_t i = 0; i < activation_constant_count; i++) {
        char values[512] = "";
        for (int k = 0; k < copies; k++)
            snprintf(values + strlen(values), sizeof values - strlen(values), "%s%s", k ? ", " : "",
                     activation_constants[i].value);
        line(w, ".%s = {%s},", activation_constants[i].name, values);
    }
    block_end_with(w, ";");
    blank(w);
}

/* What a turn of a loop takes: so many vectors, which are neighbours, or at the same place of so many rows. */
typedef struct turn {
    int copies;
    bool of_rows, is_whole;
} turn;

/* As many turns as there are; if vectors are not whole, they are the last ones of rows. */
static void emit_turns(writer *w, const isa_row *isa, const activation *a, turn t)
{
    const int step = t.of_rows ? isa->lanes : isa->lanes * t.copies;
    char apart[16];
    snprintf(apart, sizeof apart, "%d", isa->lanes);
    line(w,
         t.is_whole ? "#define X(copy) op_load(at + (copy) * %s)"
                    : "#define X(copy) op_load_first(at + (copy) * %s, mask)",
         t.of_rows ? "row_pitch" : apart);
    if (t.is_whole)
        block_begin(w, "for (; columns - column >= %d; column += %d)", step, step);
    else
        block_begin(w, "if (column < columns)");
    line(w, "float *at = out + column;");
    line(w, "const struct constants *constant = &constants;");
    line(w, "OPAQUE(constant);");
    if (!t.is_whole)
        line(w, "const uint32_t mask = (1u << (columns - column)) - 1;");
    emit_activation_steps(w, isa, a, t.copies);
    for (int copy = 0; copy < t.copies; copy++)
        line(w, t.is_whole ? "op_store(at + %d * %s, y%d);" : "store_first(at + %d * %s, y%d, mask);", copy,
             t.of_rows ? "row_pitch" : apart, copy);
    block_end(w);
    line(w, "#undef X");
}

/*
 * Neighbouring rows side by side, which are short or far apart: the vectors of one row after the other would wait for
 * their chains, or each row for its first lines (Zen 5, 24x56x56 144x1x1 silu 1.11 times as fast in NHWC, 40x28x28
 * 240x1x1 silu 1.08 in NCHW; AVX2 1.00).
 */
static void emit_side_by_side(writer *w, const isa_row *isa, const activation *a, int copies)
{
    block_begin(w, "for (; rows >= %d; rows -= %d)", copies, copies);
    line(w, "size_t column = 0;");
    emit_turns(w, isa, a, (turn){.copies = copies, .of_rows = true, .is_whole = true});
    emit_turns(w, isa, a, (turn){.copies = copies, .of_rows = true});
    line(w, "out += %d * row_pitch;", copies);
    block_end(w);
}

/* The last vectors of a row. */
static void emit_rest(writer *w, const isa_row *isa, const activation *a)
{
    emit_turns(w, isa, a, (turn){.copies = 1, .is_whole = true});
    emit_turns(w, isa, a, (turn){.copies = 1});
}

/*
 * AVX2's form of it: 16 channels of NHWC, two vectors, would wait for each other (Zen 3, ns a vector: silu 7.5 -> 5.0,
 * gelu 14 -> 10, hard swish 2.6 -> 1.3).  What is left of rows goes one by one, for masks would double the code, and
 * the library has no room for it.
 */
static void emit_side_by_side_avx2(writer *w, const isa_row *isa, const activation *a, int copies)
{
    block_begin(w, "for (size_t together; rows != 0; rows -= together)");
    line(w, "size_t column = 0;");
    line(w, "together = rows >= %d ? %d : 1;", copies, copies);
    block_begin(w, "if (together > 1)");
    emit_turns(w, isa, a, (turn){.copies = copies, .of_rows = true, .is_whole = true});
    block_else(w);
    emit_turns(w, isa, a, (turn){.copies = copies, .is_whole = true});
    block_end(w);
    block_begin(w, "if (column == columns)");
    line(w, "out += (ptrdiff_t)together * row_pitch;");
    line(w, "continue;");
    block_end(w);
    block_begin(w, "for (size_t row = 0; row < together; row++)");
    emit_rest(w, isa, a); /* of several rows each has but part of a vector left */
    line(w, "out += row_pitch;");
    block_end(w);
    block_end(w);
}

static void emit_one_by_one(writer *w, const isa_row *isa, const activation *a, int copies)
{
    block_begin(w, "for (; rows != 0; rows--)");
    line(w, "size_t column = 0;");
    emit_turns(w, isa, a, (turn){.copies = copies, .is_whole = true});
    if (isa->lanes > 1)
        emit_rest(w, isa, a);
    line(w, "out += row_pitch;");
    block_end(w);
}

static void emit_curve(writer *w, const isa_row *isa, const activation *a)
{
    const int copies = activation_copies(isa, a);
    block_begin(w, "HELPER void activate_%s(float *out, size_t rows, size_t columns, ptrdiff_t row_pitch)", a->name);
    if (isa->mask_registers)
        emit_side_by_side(w, isa, a, copies);
    if (isa->lanes == 8 && copies > 2)
        emit_side_by_side_avx2(w, isa, a, copies);
    else
        emit_one_by_one(w, isa, a, copies);
    block_end(w);
    blank(w);
}

static void emit_choice(writer *w, const isa_row *isa, const char *attributes, const char *name, const char *suffix)
{
    block_begin(w, "%svoid %s%s(%s)", attributes, name, suffix, arguments);
    line(w, "/* Rows that follow each other are one: all its vectors but the last are whole. */");
    block_begin(w, "if (row_pitch == (ptrdiff_t)columns)");
    line(w, "columns *= rows;");
    line(w, "rows = 1;");
    block_end(w);
    for (size_t i = 0; i < activation_count; i++) {
        const activation *a = &activations[i];
        line(w, "if (activation == %s)", a->level);
        line(w, "    activate_%s(out, rows, columns, row_pitch);", a->name);
    }
    if (isa->lanes > 1)
        emit_vectors_end(w);
    else
        block_end(w);
}

void activate_name(const isa_row *isa, char *name, size_t size)
{
    snprintf(name, size, "conv2d_activate__%s", isa->name);
}

void emit_activate(writer *w, const isa_row *isa, const char *file)
{
    char name[SPEC_NAME_SIZE];
    activate_name(isa, name, sizeof name);
    if (isa->lanes > 1) {
        emit_prelude(w, isa, file, false);
    } else {
        emit_scalar_prelude(w, file);
    }
    emit_operations(w, isa);
    emit_constants(w, isa);
    for (size_t i = 0; i < activation_count; i++)
        emit_curve(w, isa, &activations[i]);
    if (isa->lanes > 1) {
        emit_choice(w, isa, "TARGET ", name, "");
        return;
    }
    emit_choice(w, isa, "", name, "_portable");
    line(w, "#if defined(__x86_64__) || defined(__i386__)");
    emit_choice(w, isa, "__attribute__((target(\"fma\"))) ", name, "_fma");
    line(w, "#endif");
}
