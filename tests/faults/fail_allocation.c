/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a program: lets one of its allocations fail, and says at the end how many there were.
 *   FAULT_NUMBER   which one, from 1; 0 or nothing for none
 *   FAULT_OBJECT   count only those that the program, or the library whose path has this in it, asks for itself
 *   FAULT_REPORT   where to write "ALLOCATIONS HELD": HELD counts what such callers got and nobody freed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

enum { PLACES = 1 << 16 };
static _Atomic(void *) held[PLACES];
static const void *const GONE = &held; /* in a place that was in use: a search goes on behind it */
static atomic_ulong allocations;
static unsigned long refused;
static const char *object;
static bool counting;

__attribute__((constructor)) static void begin(void)
{
    const char *const number = getenv("FAULT_NUMBER");
    refused = number ? strtoul(number, NULL, 10) : 0;
    object = getenv("FAULT_OBJECT");
    counting = true;
}

static bool is_counted(const void *caller)
{
    Dl_info place;
    return counting && (!object || (dladdr(caller, &place) && place.dli_fname && strstr(place.dli_fname, object)));
}

static size_t place_of(const void *memory)
{
    return (size_t)((uintptr_t)memory >> 4) * 0x9e3779b1u % PLACES;
}

static void *keep(void *memory)
{
    for (size_t i = place_of(memory), tries = 0; memory && tries < PLACES; i = (i + 1) % PLACES, tries++) {
        void *there = atomic_load(&held[i]);
        if ((!there || there == GONE) && atomic_compare_exchange_strong(&held[i], &there, memory))
            break;
    }
    return memory;
}

static void let_go(void *memory)
{
    for (size_t i = place_of(memory), tries = 0; memory && tries < PLACES; i = (i + 1) % PLACES, tries++) {
        void *there = atomic_load(&held[i]);
        if (!there)
            return;
        if (there == memory) {
            atomic_store(&held[i], (void *)(uintptr_t)GONE);
            return;
        }
    }
}

static bool refuse(void)
{
    if (atomic_fetch_add(&allocations, 1) + 1 != refused)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    if (!is_counted(__builtin_return_address(0)))
        return __libc_malloc(size);
    return refuse() ? NULL : keep(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    if (!is_counted(__builtin_return_address(0)))
        return __libc_calloc(count, size);
    return refuse() ? NULL : keep(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    const bool counted = is_counted(__builtin_return_address(0));
    if (counted && refuse())
        return NULL;
    void *const grown = __libc_realloc(memory, size);
    if (grown)
        let_go(memory);
    return counted ? keep(grown) : grown;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (!is_counted(__builtin_return_address(0)))
        return __libc_memalign(alignment, size);
    return refuse() ? NULL : keep(__libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    const bool counted = is_counted(__builtin_return_address(0));
    if (counted && refuse())
        return ENOMEM;
    void *const got = __libc_memalign(alignment, size);
    if (!got)
        return ENOMEM;
    *memory = counted ? keep(got) : got;
    return 0;
}

void free(void *memory)
{
    let_go(memory);
    __libc_free(memory);
}

__attribute__((destructor)) static void end(void)
{
    const char *const path = getenv("FAULT_REPORT");
    size_t left = 0;
    counting = false;
    for (size_t i = 0; i < PLACES; i++)
        left += held[i] != NULL && held[i] != GONE;
    FILE *const file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%lu %zu\n", (unsigned long)allocations, left);
        fclose(file);
    }
}
