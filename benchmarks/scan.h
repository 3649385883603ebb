/* SPDX-License-Identifier: MIT */
/* Reading numbers and words out of an argument or a line, with errors that point at a character. */
#ifndef CONVBENCH_SCAN_H
#define CONVBENCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* What is wrong, and at which character of the text that was read. */
typedef struct scan_error {
    size_t offset;
    char message[200];
} scan_error;

typedef struct scan {
    const char *text; /* where the offsets count from */
    const char *at;
    scan_error *error;
} scan;

/* The largest number accepted: sums of a few, and the product of two, fit in a size_t. */
#define SCAN_LARGEST ((size_t)0x7fffffff)

/* Notes the error and returns false, so that a reader can `return scan_fail(...)`. */
bool scan_fail(scan *s, const char *at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A decimal number of at least `least`; `what` names it in an error. */
bool scan_number(scan *s, const char *what, size_t least, size_t *value);

/* A number with a fraction, or inf; not NaN. */
bool scan_real(scan *s, const char *what, float *value);

/* Steps over c if it comes next. */
bool scan_skip(scan *s, char c);

void scan_skip_blanks(scan *s);

/* At a blank or at the end of the text. */
bool scan_word_ended(const scan *s);

/* Fails unless the word has ended. */
bool scan_end_word(scan *s);

#endif
