/* SPDX-License-Identifier: MIT */
/* Which bytes are a character of UTF-8 (RFC 3629). */
#ifndef CONVBENCH_UTF8_H
#define CONVBENCH_UTF8_H

#include <stddef.h>

/* Bytes of the character that text[0 .. available) begins with, available > 0; 0 if it begins with none. */
size_t utf8_length(const char *text, size_t available);

#endif
