/* SPDX-License-Identifier: MIT */
/* Text of any origin in HTML and SVG. */
#ifndef CONVBENCH_MARKUP_H
#define CONVBENCH_MARKUP_H

#include <stdio.h>

/*
 * Writes text so that it reads as it is, between tags and in an attribute with quotation marks alike; what no document
 * may hold (control characters, bytes that are no UTF-8) becomes U+FFFD.
 */
void markup_text(FILE *file, const char *text);

/* The same of what a format gives, up to 600 bytes. */
void markup_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
