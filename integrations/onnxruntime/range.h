/* SPDX-License-Identifier: MIT */
#ifndef CONV2D_ORT_RANGE_H
#define CONV2D_ORT_RANGE_H

#include <stddef.h>

typedef struct range {
    size_t begin, end;
} range;

/* What part `part` of `parts` does of so many units of work. */
static inline range range_of(size_t units, size_t part, size_t parts)
{
    const size_t whole = units / parts, rest = units % parts;
    return (range){whole * part + rest * part / parts, whole * (part + 1) + rest * (part + 1) / parts};
}

#endif
