/* SPDX-License-Identifier: MIT */
/* The bandwidth half of peak.h. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "peak.h"
#include "sample.h"
#include "team.h"
#include "workload.h"

/* Between the two halves of a buffer: or the same lines of both would fall into the same places of a cache. */
enum { GAP_BYTES = 33 * 64 };

/* Each member copies from the second half of its buffer to the first. */
typedef struct copy_job {
    float **buffers;
    size_t half_bytes;
} copy_job;

/* The amount is in bytes, read and written ones. */
static team_share copy(size_t member, void *context)
{
    const copy_job *const job = context;
    float *const to = job->buffers[member];
    const float *const from = to + (job->half_bytes + GAP_BYTES) / sizeof(float);
    team_share share = {.start = now()};
    do {
        memcpy(to, from, job->half_bytes);
        __asm__ volatile("" : : "r"(to) : "memory"); /* or it could be done just once */
        share.amount += 2 * (double)job->half_bytes;
        share.end = now();
    } while (share.end - share.start < 1e-3);
    return share;
}

static bool measure_level(size_t threads, size_t bytes_per_thread, double *bandwidth)
{
    /* Halves of whole cache lines. */
    copy_job job = {.buffers = calloc(threads, sizeof *job.buffers), .half_bytes = bytes_per_thread / 128 * 64};
    bool good = job.buffers != NULL;
    for (size_t i = 0; good && i < threads; i++) {
        const size_t bytes = 2 * job.half_bytes + GAP_BYTES;
        job.buffers[i] = allocate_floats(bytes / sizeof(float));
        good = job.buffers[i] != NULL;
        if (good)
            memset(job.buffers[i], 1, bytes);
    }
    /* The best of a few: it becomes a bound. */
    *bandwidth = 0;
    for (int attempt = 0; good && attempt < 5; attempt++) {
        double rate;
        good = team_run(threads, copy, &job, &rate);
        *bandwidth = good && rate > *bandwidth ? rate : *bandwidth;
    }
    for (size_t i = 0; job.buffers && i < threads; i++)
        free(job.buffers[i]);
    free(job.buffers);
    return good;
}

bool measure_memory(size_t threads, memory_level levels[MEMORY_LEVELS])
{
    size_t private_bytes = machine_cache_bytes(2), shared_bytes = machine_cache_bytes(3);
    private_bytes = private_bytes ? private_bytes : (size_t)1 << 20;
    /* Without a third level the second one is the last. */
    shared_bytes = shared_bytes > private_bytes ? shared_bytes : private_bytes * threads;
    const size_t sizes[MEMORY_LEVELS] = {private_bytes / 2, shared_bytes / 2 / threads, shared_bytes * 3 / threads};
    levels[0] = (memory_level){.name = "L2", .capacity = (double)(private_bytes * threads)};
    levels[1] = (memory_level){.name = "L3", .capacity = (double)shared_bytes};
    levels[2] = (memory_level){.name = "memory"};
    for (size_t i = 0; i < MEMORY_LEVELS; i++)
        if (!measure_level(threads, sizes[i], &levels[i].bandwidth))
            return false;
    return true;
}

const memory_level *find_memory_level(const memory_level levels[MEMORY_LEVELS], double bytes)
{
    size_t i = 0;
    while (i < MEMORY_LEVELS - 1 && bytes > levels[i].capacity)
        i++;
    return &levels[i];
}
