/* SPDX-License-Identifier: MIT */
/*
 * The curved activations, each described once: a list of operations that every instruction set spells in its own way,
 * so that all of them give the same bits.  docs/contract.md has the same steps.
 */
#ifndef CONVGEN_ACTIVATION_H
#define CONVGEN_ACTIVATION_H

#include "spec.h"
#include "writer.h"

enum { MAX_PHASES = 5 };

/*
 * The steps, in a few texts because activations share some.  A step is a line "result = operation(operands)"; operands
 * are x, constants, and earlier results.  The last line gives y.
 */
typedef struct activation {
    const char *name;  /* of the generated function */
    const char *level; /* of enum conv2d_activation */
    const char *phases[MAX_PHASES];
} activation;

typedef struct constant {
    const char *name, *value;
} constant;

extern const activation activations[];
extern const size_t activation_count;
extern const constant activation_constants[];
extern const size_t activation_constant_count;

/* How many vectors go side by side. */
int activation_copies(const isa_row *isa, const activation *a);
/* All steps for the vectors X(0) .. X(copies - 1), with results y0 and so on. */
void emit_activation_steps(writer *w, const isa_row *isa, const activation *a, int copies);

#endif
