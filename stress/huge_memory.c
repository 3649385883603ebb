/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create */
#include "huge_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guarded.h"

/* A multiple of every size of pages in use. */
enum { PAGE = 1 << 16, PATTERN_PAGES = 257, FLOATS_PER_PAGE = PAGE / sizeof(float) };

static size_t pages_for(size_t count)
{
    return count / FLOATS_PER_PAGE + 1;
}

static char *first_page(float *data, size_t count)
{
    return (char *)(data + count) - pages_for(count) * PAGE;
}

static char *try_reserve(size_t count)
{
    char *const map =
        mmap(NULL, (pages_for(count) + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map == MAP_FAILED ? NULL : map + PAGE;
}

/* Address space with an inaccessible page at either end; the first usable byte. */
static char *reserve(size_t count)
{
    char *const first = try_reserve(count);
    if (!first)
        case_failed("there are no %zu pages of addresses", pages_for(count) + 2);
    return first;
}

static float *last_floats(char *first, size_t count)
{
    return (float *)(void *)(first + pages_for(count) * PAGE) - count;
}

/* A file without a name, of so many floats. */
static int pattern_file(uint64_t seed)
{
    static float numbers[FLOATS_PER_PAGE];
    const int file = memfd_create("pattern", 0);
    bool good = file >= 0;
    for (size_t page = 0; good && page < PATTERN_PAGES; page++) {
        fill_floats(numbers, FLOATS_PER_PAGE, FILL_UNIFORM, seed << 32 | page << 8);
        good = write(file, numbers, sizeof numbers) == (ssize_t)sizeof numbers;
    }
    if (!good)
        case_failed("a file in memory cannot be had");
    return file;
}

float *huge_pattern(size_t count, uint64_t seed)
{
    char *const first = reserve(count);
    const int file = pattern_file(seed);
    for (size_t page = 0, pages = pages_for(count); page < pages; page += PATTERN_PAGES) {
        const size_t piece = pages - page < PATTERN_PAGES ? pages - page : PATTERN_PAGES;
        if (mmap(first + page * PAGE, piece * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
            case_failed("a pattern cannot be mapped");
    }
    close(file);
    return last_floats(first, count);
}

float *huge_memory(size_t count, bool all)
{
    char *const first = reserve(count);
    if (mprotect(first, pages_for(count) * PAGE, PROT_READ | PROT_WRITE) != 0)
        case_failed("%zu pages cannot be had", pages_for(count));
    madvise(first, pages_for(count) * PAGE, all ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return last_floats(first, count);
}

void huge_fill_nan(float *data, size_t count)
{
    memset(first_page(data, count), 0xff, pages_for(count) * PAGE);
}

bool huge_intact(const float *data, size_t count)
{
    const size_t slack = pages_for(count) * FLOATS_PER_PAGE - count;
    for (const float *at = data - slack; at < data; at++) {
        uint32_t bits;
        memcpy(&bits, at, sizeof bits);
        if (bits != UINT32_MAX)
            return false;
    }
    return true;
}

bool huge_is_possible(size_t count)
{
    char *const first = try_reserve(count);
    if (first)
        munmap(first - PAGE, (pages_for(count) + 2) * PAGE);
    return first != NULL;
}

void huge_free(float *data, size_t count)
{
    munmap(first_page(data, count) - PAGE, (pages_for(count) + 2) * PAGE);
}
