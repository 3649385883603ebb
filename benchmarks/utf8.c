/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <stdbool.h>

/* Shortest forms only, no surrogates, nothing above U+10FFFF. */
static const struct form {
    unsigned char first, last, low, high; /* of the first byte; of the second */
    size_t length;
} forms[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
             {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
             {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

size_t utf8_length(const char *text, size_t available)
{
    const unsigned char *const bytes = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *const f = &forms[i];
        if (bytes[0] < f->first || bytes[0] > f->last)
            continue;
        bool good = available >= f->length && (f->length == 1 || (bytes[1] >= f->low && bytes[1] <= f->high));
        for (size_t b = 2; good && b < f->length; b++)
            good = (bytes[b] & 0xc0) == 0x80;
        return good ? f->length : 0;
    }
    return 0;
}
