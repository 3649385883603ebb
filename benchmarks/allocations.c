/* SPDX-License-Identifier: MIT */
#include "allocations.h"

#include <math.h>
#include <stdlib.h>

#if WRAPS_ALLOCATIONS
/* The linker's --wrap=NAME makes calls of NAME go to __wrap_NAME, and those of __real_NAME to NAME. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

static size_t count;

static void count_one(void)
{
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t size)
{
    count_one();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t members, size_t size)
{
    count_one();
    return __real_calloc(members, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    count_one();
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    count_one();
    return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    count_one();
    return __real_posix_memalign(memory, alignment, size);
}

/* Whether one is seen that is made here. */
static int is_counted(void)
{
    const size_t before = __atomic_load_n(&count, __ATOMIC_RELAXED);
    void *volatile memory = malloc(1); /* volatile, or the compiler leaves both out */
    free(memory);
    return __atomic_load_n(&count, __ATOMIC_RELAXED) != before;
}

double allocations_of(timed_call *call, void *context, size_t calls)
{
    if (!is_counted())
        return NAN;
    const size_t before = __atomic_load_n(&count, __ATOMIC_RELAXED);
    for (size_t i = 0; i < calls; i++)
        call(context);
    return (double)(__atomic_load_n(&count, __ATOMIC_RELAXED) - before) / (double)calls;
}
#else
double allocations_of(timed_call *call, void *context, size_t calls)
{
    (void)call;
    (void)context;
    (void)calls;
    return NAN;
}
#endif
