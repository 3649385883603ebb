/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fail_allocation.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

enum { PLACES = 1 << 16, CALLERS = 1 << 12 };
static _Atomic(uint64_t) callers[CALLERS]; /* twice the address, and 1 if it is counted: dladdr takes long */
static _Atomic(void *) held[PLACES];
static const void *const GONE = &held; /* in a place that was in use: a search goes on behind it */
static atomic_ulong allocations;
static atomic_long mapped_bytes;
static unsigned long refused;
static char object[256]; /* none: everybody's */
static atomic_bool counting;

void fail_allocation(unsigned long number, const char *of)
{
    counting = false;
    snprintf(object, sizeof object, "%s", of ? of : "");
    refused = number;
    allocations = 0;
    for (size_t i = 0; i < CALLERS; i++)
        callers[i] = 0; /* another library may be there now */
    counting = true;
}

unsigned long allocations_counted(void)
{
    return allocations;
}

unsigned long allocations_held(void)
{
    enum { PAGE = 4096 };
    unsigned long count = (unsigned long)(mapped_bytes / PAGE);
    for (size_t i = 0; i < PLACES; i++)
        count += held[i] != NULL && held[i] != GONE;
    return count;
}

__attribute__((constructor)) static void begin(void)
{
    const char *const number = getenv("FAULT_NUMBER");
    fail_allocation(number ? strtoul(number, NULL, 10) : 0, getenv("FAULT_OBJECT"));
}

static bool is_counted(const void *caller)
{
    const uint64_t key = (uint64_t)(uintptr_t)caller * 2;
    _Atomic(uint64_t) *const known = &callers[(uintptr_t)caller % CALLERS];
    if (!counting || !*object)
        return counting;
    uint64_t found = *known;
    if ((found & ~UINT64_C(1)) != key) {
        Dl_info place;
        found = key + (dladdr(caller, &place) && place.dli_fname && strstr(place.dli_fname, object));
        *known = found;
    }
    return found & 1;
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

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (!next)
        next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    const bool counted = is_counted(__builtin_return_address(0));
    if (counted && refuse())
        return MAP_FAILED;
    void *const got = next(address, size, protection, flags, file, offset);
    if (counted && got != MAP_FAILED)
        atomic_fetch_add(&mapped_bytes, (long)size);
    return got;
}

/* Whoever is not counted unmaps nothing of those who are. */
int munmap(void *address, size_t size)
{
    static int (*next)(void *, size_t);
    if (!next)
        next = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
    if (is_counted(__builtin_return_address(0)))
        atomic_fetch_sub(&mapped_bytes, (long)size);
    return next(address, size);
}

__attribute__((destructor)) static void end(void)
{
    const char *const path = getenv("FAULT_REPORT");
    counting = false;
    FILE *const file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%lu %lu\n", (unsigned long)allocations, allocations_held());
        fclose(file);
    }
}
