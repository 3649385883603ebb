/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#include "arena.h"

#include <stdint.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* A block of whole huge pages: more is mapped, and what is before the first one and behind the last given back. */
static arena_block *map_block(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE)
        return NULL;
    bytes = round_up(bytes, HUGE_PAGE);
    char *mapped = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    const size_t before = -(uintptr_t)mapped % HUGE_PAGE;
    if (before)
        munmap(mapped, before);
    if (before < HUGE_PAGE)
        munmap(mapped + before + bytes, HUGE_PAGE - before);
    arena_block *block = (arena_block *)(mapped + before);
    madvise(block, bytes, MADV_HUGEPAGE);
    block->bytes = bytes;
    return block;
}

float *arena_take(arena *a, size_t floats)
{
    if (floats > (SIZE_MAX - 2 * HUGE_PAGE) / sizeof(float))
        return NULL;
    const size_t bytes = round_up(floats * sizeof(float), ALIGNMENT);
    if (!a->blocks || bytes > a->blocks->bytes - a->used) {
        arena_block *block = map_block(bytes + ALIGNMENT);
        if (!block)
            return NULL;
        block->next = a->blocks;
        a->blocks = block;
        a->used = ALIGNMENT; /* its head */
    }
    float *taken = (float *)((char *)a->blocks + a->used);
    a->used += bytes;
    return taken;
}

void arena_free(arena *a)
{
    while (a->blocks) {
        arena_block *block = a->blocks;
        a->blocks = block->next;
        munmap(block, block->bytes);
    }
}
