/* SPDX-License-Identifier: MIT */
/*
 * The functions that activate stored outputs in place, one for each instruction set.  All have the same text but for
 * the spelling of the operations, which is a table.
 */
#include <ctype.h>
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

typedef struct program {
    char text[4096];
} program;

/* All steps of an activation in one text. */
static program steps_of(const activation *a)
{
    program all = {""};
    for (int i = 0; i < MAX_PHASES && a->phases[i]; i++)
        strncat(all.text, a->phases[i], sizeof all.text - 1 - strlen(all.text));
    return all;
}

static const char *next_step(const char *step)
{
    return strchr(step, '\n') + 1;
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

static bool is_constant(const char *name)
{
    for (size_t i = 0; i < activation_constant_count; i++)
        if (strcmp(activation_constants[i].name, name) == 0)
            return true;
    return false;
}

/* Whether a step before `here` has the same result, which is a letter: then it is declared. */
static bool is_declared(const char *text, const char *here)
{
    for (const char *step = text; step < here; step = next_step(step))
        if (*step == *here)
            return true;
    return false;
}

/* Whether a step reads this result; all other words have more letters. */
static bool reads(const char *step, char result)
{
    for (const char *at = strchr(step, '('); *at != '\n'; at++)
        if (*at == result && !isalnum((unsigned char)at[-1]) && (at[1] == ',' || at[1] == ')'))
            return true;
    return false;
}

/* Whether it is read from `step` on, before another one takes its name. */
static bool is_live(const char *step, char result)
{
    for (; *step && !reads(step, result); step = next_step(step))
        if (*step == result)
            return false;
    return *step != '\0';
}

/*
 * How many vectors go side by side: that hides the latency of the chains from a small scheduler, and constants are
 * loaded once for all.  As many as leave a register for an operand, and at most 4.  x is in memory.
 */
static int copies_of(const isa_row *isa, const activation *a)
{
    const program all = steps_of(a);
    int most = 1;
    for (const char *step = all.text; *step; step = next_step(step)) {
        int live = 0;
        for (char result = 'a'; result <= 'z'; result++)
            live += result != 'x' && is_live(step, result);
        most = live > most ? live : most;
    }
    const int copies = (isa->registers - 1) / most;
    return isa->lanes == 1 ? 1 : copies > 4 ? 4 : copies;
}

/*
 * A word of a step in C: results get the number of their copy.  Constants and x are read where they are used: loaded
 * before, they would take registers that there are not.
 */
static void append_word(char *code, size_t size, const char *word, bool operation, int copy)
{
    const size_t length = strlen(code);
    if (operation)
        snprintf(code + length, size - length, "op_%s", word);
    else if (is_constant(word))
        snprintf(code + length, size - length, "op_constant(constant->%s)", word);
    else if (strcmp(word, "x") == 0)
        snprintf(code + length, size - length, "X(%d)", copy);
    else if (strlen(word) == 1)
        snprintf(code + length, size - length, "%s%d", word, copy);
    else
        snprintf(code + length, size - length, "%s", word);
}

static void emit_step(writer *w, const char *step, int copy, bool declared)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_", others[] = " =(),";
    char code[512] = "";
    while (*step != '\n') {
        char word[32];
        const int span = (int)strspn(step, letters);
        snprintf(word, sizeof word, "%.*s", span, step);
        append_word(code, sizeof code, word, step[span] == '(', copy);
        step += span;
        const size_t length = strlen(code), gap = strspn(step, others);
        snprintf(code + length, sizeof code - length, "%.*s", (int)gap, step);
        step += gap;
    }
    line(w, "%s%s;", declared ? "" : "number ", code);
}

/*
 * Between two phases.  Compilers forget what is in memory, so that x and constants are read again rather than kept; and
 * nothing of the next phase can be done before all of this one is: clang 14 mixes phases until registers run out.
 */
static void emit_boundary(writer *w, const char *step, int copies)
{
    for (char result = 'a'; result <= 'z'; result++)
        for (int copy = 0; copy < copies && result != 'x' && is_live(step, result); copy++)
            line(w, "FINISH(%c%d, at, constant);", result, copy);
}

/* All steps for the vectors X(0) .. X(copies - 1), side by side. */
static void emit_steps(writer *w, const isa_row *isa, const activation *a, int copies)
{
    const program all = steps_of(a);
    const char *step = all.text;
    for (int i = 0; i < MAX_PHASES && a->phases[i]; i++) {
        if (i > 0 && isa->lanes > 1)
            emit_boundary(w, step, copies);
        for (const char *end = step + strlen(a->phases[i]); step < end; step = next_step(step))
            for (int copy = 0; copy < copies; copy++)
                emit_step(w, step, copy, is_declared(all.text, step));
    }
}

static void emit_loop_begin(writer *w, const char *condition, int step)
{
    block_begin(w, "for (; %s; column += %d)", condition, step);
    line(w, "float *at = out + column;");
    line(w, "const struct constants *constant = &constants;");
    line(w, "OPAQUE(constant);");
}

static void emit_whole_vectors(writer *w, const isa_row *isa, const activation *a, int copies)
{
    const int step = isa->lanes * copies;
    char condition[40];
    snprintf(condition, sizeof condition, "columns - column >= %d", step);
    line(w, "#define X(copy) op_load(at + (copy) * %d)", isa->lanes);
    emit_loop_begin(w, condition, step);
    emit_steps(w, isa, a, copies);
    for (int copy = 0; copy < copies; copy++)
        line(w, "op_store(at + %d, y%d);", copy * isa->lanes, copy);
    block_end(w);
    line(w, "#undef X");
}

/* A loop of at most one turn. */
static void emit_last_vector(writer *w, const isa_row *isa, const activation *a)
{
    line(w, "#define X(copy) op_load_first(at, mask)");
    emit_loop_begin(w, "column < columns", isa->lanes);
    line(w, "const uint32_t mask = (1u << (columns - column)) - 1;");
    emit_steps(w, isa, a, 1);
    line(w, "store_first(at, y0, mask);");
    block_end(w);
    line(w, "#undef X");
}

static void emit_curve(writer *w, const isa_row *isa, const activation *a)
{
    block_begin(w, "HELPER void activate_%s(float *out, size_t rows, size_t columns, ptrdiff_t row_pitch)", a->name);
    block_begin(w, "for (; rows != 0; rows--)");
    line(w, "size_t column = 0;");
    emit_whole_vectors(w, isa, a, copies_of(isa, a));
    if (isa->lanes > 1) {
        emit_whole_vectors(w, isa, a, 1);
        emit_last_vector(w, isa, a);
    }
    line(w, "out += row_pitch;");
    block_end(w);
    block_end(w);
    blank(w);
}

static void emit_choice(writer *w, const char *attributes, const char *name, const char *suffix)
{
    block_begin(w, "%svoid %s%s(%s)", attributes, name, suffix, arguments);
    for (size_t i = 0; i < activation_count; i++) {
        const activation *a = &activations[i];
        line(w, "if (activation == %s)", a->level);
        line(w, "    activate_%s(out, rows, columns, row_pitch);", a->name);
    }
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
        emit_prelude(w, isa, file);
    } else {
        emit_scalar_prelude(w, file);
    }
    emit_operations(w, isa);
    emit_constants(w, isa);
    for (size_t i = 0; i < activation_count; i++)
        emit_curve(w, isa, &activations[i]);
    if (isa->lanes > 1) {
        emit_choice(w, "TARGET ", name, "");
        return;
    }
    emit_choice(w, "", name, "_portable");
    line(w, "#if defined(__x86_64__) || defined(__i386__)");
    emit_choice(w, "__attribute__((target(\"fma\"))) ", name, "_fma");
    line(w, "#endif");
}
