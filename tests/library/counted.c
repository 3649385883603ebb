/* SPDX-License-Identifier: MIT */
#include "counted.h"

#include <string.h>

#include "support.h"

static bool entered[COUNTED_SLOTS];
static conv2d_tile_fn *originals[COUNTED_SLOTS];

/* So many entry points of 16 bytes; each adds its number as a second argument to the tile's only one. */
__asm__(".pushsection .text\n"
        ".balign 16\n"
        "counted_entry_points:\n"
        ".set slot, 0\n"
        ".rept 1024\n"
        ".balign 16\n"
        "movl $slot, %esi\n"
        "jmp counted_enter\n"
        ".set slot, slot + 1\n"
        ".endr\n"
        ".popsection\n");
extern const char counted_entry_points[] __attribute__((visibility("hidden")));

void counted_enter(const conv2d_tile *tile, unsigned slot) __attribute__((used, visibility("hidden")));
void counted_enter(const conv2d_tile *tile, unsigned slot)
{
    entered[slot] = true;
    originals[slot](tile);
}

static int32_t offset_of(uintptr_t address)
{
    const intptr_t offset = (intptr_t)(address - (uintptr_t)conv2d_tile_offsets);
    cr_assert(offset >= INT32_MIN && offset <= INT32_MAX, "the kernels are in another library");
    return (int32_t)offset;
}

size_t counted_tiles(const conv2d_kernel *kernel)
{
    size_t last = 0;
    for (size_t channels = 0; kernel->tile_index && channels <= CONV2D_MAX_TILE_CHANNELS; channels++)
        for (size_t columns = 0; columns <= CONV2D_MAX_TILE_COLUMNS; columns++)
            last = max_size(last, kernel->tile_index[channels][columns]);
    return last;
}

void counted_make(counted *c, const char *name)
{
    const conv2d_kernel *kernel = conv2d_find_kernel(name);
    cr_assert_not_null(kernel);
    memset(c, 0, sizeof *c);
    memset(entered, 0, sizeof entered);
    c->kernel = *kernel;
    c->kernel.tiles = c->tiles;
    c->tile_count = counted_tiles(kernel);
    cr_assert_leq(c->tile_count, (size_t)COUNTED_TILES);
    const size_t shared = conv2d_tile_function_count;
    cr_assert_leq(shared + c->tile_count * 8, (size_t)COUNTED_FUNCTIONS);
    c->kernel.offsets = c->offsets;
    memcpy(c->offsets, kernel->offsets, shared * sizeof c->offsets[0]);
    memcpy(c->tiles, kernel->tiles, c->tile_count * sizeof c->tiles[0]);
    for (size_t slot = 0; slot < c->tile_count * 8; slot++) {
        const conv2d_tile_row *row = &kernel->tiles[slot / 8];
        const int variant = (int)(slot % 8);
        originals[slot] = row->variant[variant] ? tile_function(kernel, row, variant) : NULL;
        c->offsets[shared + slot] = offset_of((uintptr_t)counted_entry_points + 16 * slot);
        if (originals[slot])
            c->tiles[slot / 8].variant[variant] = (uint16_t)(shared + slot);
    }
}

void counted_replace(counted *c, conv2d_tile_fn *function)
{
    for (size_t slot = 0; slot < c->tile_count * 8; slot++)
        c->offsets[conv2d_tile_function_count + slot] = offset_of((uintptr_t)function);
}

void counted_use(counted *c, conv2d_plan *plan)
{
    ((ready_plan *)(void *)plan)->kernel = &c->kernel;
}

bool counted_has(const counted *c, size_t slot)
{
    return slot < c->tile_count * 8 && originals[slot] != NULL;
}

bool counted_take(size_t slot)
{
    const bool was = entered[slot];
    entered[slot] = false;
    return was;
}
