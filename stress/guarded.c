/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "guarded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __has_feature /* clang */
#define WITH_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
#if WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { CANARY_FLOATS = 16 };
const uint32_t canary_bits = 0xdeadbeef;

uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

size_t random_below(uint64_t *state, size_t bound)
{
    return (size_t)(random_next(state) >> 33) % bound;
}

size_t random_between(uint64_t *state, size_t first, size_t last)
{
    return first + random_below(state, last - first + 1);
}

void fill_floats(float *data, size_t count, fill kind, uint64_t seed)
{
    static const float specials[] = {INFINITY, -INFINITY, NAN,      0.0f,     -0.0f,      1e-45f,
                                     -1e-40f,  1.1e-38f,  3.4e+38f, -3.4e38f, -1.18e-38f, 1.0f};
    const bool odd = seed % 2;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = random_next(&seed);
        if (kind == FILL_ZEROS)
            data[i] = odd == (bits % 1024 != 0) ? -0.0f : 0.0f;
        else if (kind == FILL_INTEGERS)
            data[i] = (float)((int)(bits >> 33) % 17 - 8);
        else if (kind == FILL_SPECIAL && bits % 64 == 0)
            data[i] = specials[(bits >> 8) % COUNT_OF(specials)];
        else
            data[i] = (float)((int)(bits >> 39) - (1 << 24)) / (1 << 24);
    }
}

void fill_canary(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&data[i], &canary_bits, sizeof data[i]);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * QEMU reads also those lanes that the mask of an AVX load leaves out, so under it the pages may be read.  Writing to
 * them fails all the same.
 */
static int page_protection(void)
{
    const char *const wanted = getenv("CONV2D_GUARD_PAGES");
    return wanted && strcmp(wanted, "readable") == 0 ? PROT_READ : PROT_NONE;
}

/* The canaries are the up to 16 floats before and after the data. */
static size_t floats_before(const guarded *g)
{
    const size_t room = (size_t)((const char *)g->data - (g->map + page_size())) / sizeof(float);
    return room < CANARY_FLOATS ? room : CANARY_FLOATS;
}

static size_t floats_after(const guarded *g)
{
    const char *end = g->map + page_size() + g->bytes;
    const size_t room = (size_t)(end - (const char *)(g->data + g->count)) / sizeof(float);
    return room < CANARY_FLOATS ? room : CANARY_FLOATS;
}

/* With AddressSanitizer, reads of the canaries fail too. */
static void forbid_canaries(const guarded *g, bool forbidden)
{
    const float *const before = g->data - floats_before(g), *const behind = g->data + g->count;
    ASAN_UNPOISON_MEMORY_REGION(before, (g->count + floats_before(g) + floats_after(g)) * sizeof *before);
    if (forbidden) {
        ASAN_POISON_MEMORY_REGION(before, floats_before(g) * sizeof *before);
        ASAN_POISON_MEMORY_REGION(behind, floats_after(g) * sizeof *behind);
    }
}

float *guarded_place(guarded *g, size_t count, guard_side side, size_t offset)
{
    const size_t page = page_size(), need = (count + CANARY_FLOATS) * sizeof(float);
    if (g->bytes < need) {
        if (g->map) {
            forbid_canaries(g, false);
            munmap(g->map, g->bytes + 2 * page);
        }
        g->bytes = (need + page - 1) / page * page;
        void *map = mmap(NULL, g->bytes + 2 * page, page_protection(), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED)
            case_failed("mmap of %zu bytes", g->bytes + 2 * page);
        g->map = map;
        g->data = NULL;
        g->protection = page_protection();
    }
    if (g->data)
        forbid_canaries(g, false);
    guarded_protect(g, PROT_READ | PROT_WRITE);
    float *first = (float *)(void *)(g->map + page), *end = first + g->bytes / sizeof(float);
    g->data = side == GUARD_LEFT ? first + offset : end - offset - count;
    g->count = count;
    forbid_canaries(g, false);
    fill_canary(g->data - floats_before(g), floats_before(g));
    fill_canary(g->data + count, floats_after(g));
    forbid_canaries(g, true);
    return g->data;
}

void guarded_protect(guarded *g, int protection)
{
    if (g->map && g->protection != protection && mprotect(g->map + page_size(), g->bytes, protection) != 0)
        case_failed("mprotect of %zu bytes", g->bytes);
    g->protection = protection;
}

bool guarded_intact(const guarded *g)
{
    float alive[CANARY_FLOATS];
    fill_canary(alive, CANARY_FLOATS);
    forbid_canaries(g, false);
    const bool intact = memcmp(g->data - floats_before(g), alive, floats_before(g) * sizeof(float)) == 0 &&
                        memcmp(g->data + g->count, alive, floats_after(g) * sizeof(float)) == 0;
    forbid_canaries(g, true);
    return intact;
}
