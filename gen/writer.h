/* SPDX-License-Identifier: MIT */
/* Writes C source line by line and keeps the indentation. */
#ifndef CONVGEN_WRITER_H
#define CONVGEN_WRITER_H

#include <stdio.h>

typedef struct writer {
    FILE *file;
    int depth;
} writer;

#define PRINTF_LIKE __attribute__((format(printf, 2, 3)))

/* One line of code at the current depth. */
PRINTF_LIKE void line(writer *w, const char *format, ...);
/* A line that opens a block: " {" is appended. */
PRINTF_LIKE void block_begin(writer *w, const char *format, ...);
/* A block of its own. */
void scope_begin(writer *w);
void block_else(writer *w);
void block_else_if(writer *w, const char *condition);
void block_end(writer *w);
/* Closes the block with text behind the brace. */
void block_end_with(writer *w, const char *text);
void blank(writer *w);

#endif
