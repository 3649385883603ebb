/* SPDX-License-Identifier: MIT */
/* The steps of an activation in C, for several vectors side by side. */
#include <ctype.h>
#include <string.h>

#include "activation.h"

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
int activation_copies(const isa_row *isa, const activation *a)
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
void emit_activation_steps(writer *w, const isa_row *isa, const activation *a, int copies)
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
