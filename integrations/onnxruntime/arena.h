/* SPDX-License-Identifier: MIT */
/* Memory for packed weights, which all live as long as the session: in huge pages if the system has them, for all of it
 * is read once a run. */
#ifndef CONV2D_ORT_ARENA_H
#define CONV2D_ORT_ARENA_H

#include <stddef.h>

typedef struct arena_block {
    struct arena_block *next;
    size_t bytes;
} arena_block;

typedef struct arena {
    arena_block *blocks; /* the newest first, which `used` bytes are taken of */
    size_t used;
} arena;

/* So many floats, aligned to 64 bytes; NULL if there is no memory. */
float *arena_take(arena *a, size_t floats);
void arena_free(arena *a);

#endif
