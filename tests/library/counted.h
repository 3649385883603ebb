/* SPDX-License-Identifier: MIT */
/* A kernel whose tiles note which of their functions are entered. */
#ifndef CONV2D_TESTS_COUNTED_H
#define CONV2D_TESTS_COUNTED_H

#include "plan.h"

enum { COUNTED_SLOTS = 1024, COUNTED_TILES = COUNTED_SLOTS / 8, COUNTED_FUNCTIONS = 4096 };

/* Slot tile * 8 + variant is that function; one kernel at a time. */
typedef struct counted {
    conv2d_kernel kernel;
    conv2d_tile_row tiles[COUNTED_TILES];
    int32_t offsets[COUNTED_FUNCTIONS]; /* of all kernels' functions, then of those of the slots */
    size_t tile_count;
} counted;

/* Makes *c the kernel of that name, with nothing entered. */
void counted_make(counted *c, const char *name);
/* Has a plan of the original kernel run the counted one; c must stay where it is. */
void counted_use(counted *c, conv2d_plan *plan);
/* Has it call `function` instead of each of its own. */
void counted_replace(counted *c, conv2d_tile_fn *function);

bool counted_has(const counted *c, size_t slot);
/* Whether the function was entered since the last call. */
bool counted_take(size_t slot);
/* How many tiles any kernel has. */
size_t counted_tiles(const conv2d_kernel *kernel);

#endif
