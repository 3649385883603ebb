/* SPDX-License-Identifier: MIT */
/* One function of a program as objdump prints it (AT&T syntax), its hot loop, and what that does. */
#ifndef CONVBENCH_MACHINE_CODE_H
#define CONVBENCH_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct code_line {
    unsigned long address;
    const char *text; /* the instruction and its operands, in the listing's memory */
} code_line;

typedef struct code_function {
    code_line *lines;
    size_t count;
} code_function;

/* What one turn of a loop does. */
typedef struct code_counts {
    size_t instructions, bytes; /* of code */
    size_t fmas, wide_fmas;     /* vector multiply-adds; those of the widest registers in them */
    size_t width;               /* bits of those */
    size_t loads, loaded_bytes, stores, stored_bytes;
    size_t stack; /* loads and stores among them on the stack: spills, or arguments */
} code_counts;

/* Instructions [first, last] of a function. */
typedef struct code_loop {
    size_t first, last;
    code_counts counts;
} code_loop;

/* Takes the instructions of a listing, which is changed and must live as long; false if there are none or no memory. */
bool code_read(char *listing, code_function *function);
void code_free(code_function *function);

/* The innermost loop with the most multiply-adds; false if no loop has any. */
bool code_find_hot_loop(const code_function *function, code_loop *loop);

#endif
