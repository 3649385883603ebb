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

/* Between two readings of the clock. */
enum { BYTES_PER_ROUND = 1 << 18 };

/* A buffer for each member. */
typedef struct memory_job {
    float **buffers;
    size_t half_bytes; /* of whole blocks in each stream */
    memory_traffic traffic;
    size_t streams; /* of reading */
} memory_job;

enum { BLOCK_BYTES = 512, MOST_STREAMS = 4 };

#if defined(__x86_64__)
static inline __attribute__((always_inline)) void load_128_bytes_avx(const char *at)
{
    __asm__ volatile("vmovups %0, %%ymm0\n\tvmovups %1, %%ymm1\n\tvmovups %2, %%ymm2\n\tvmovups %3, %%ymm3"
                     :
                     : "m"(at[0]), "m"(at[32]), "m"(at[64]), "m"(at[96])
                     : "xmm0", "xmm1", "xmm2", "xmm3");
}

static inline __attribute__((always_inline)) void load_128_bytes_sse(const char *at)
{
    for (int half = 0; half < 128; half += 64)
        __asm__ volatile("movups %0, %%xmm0\n\tmovups %1, %%xmm1\n\tmovups %2, %%xmm2\n\tmovups %3, %%xmm3"
                         :
                         : "m"(at[half]), "m"(at[half + 16]), "m"(at[half + 32]), "m"(at[half + 48])
                         : "xmm0", "xmm1", "xmm2", "xmm3");
}

/* From so many places in turn, because the hardware fetches ahead for each of them. */
static inline __attribute__((always_inline)) void read_streams(const char *from, size_t bytes, size_t streams,
                                                               void (*load)(const char *at))
{
    const size_t part = bytes / streams / BLOCK_BYTES * BLOCK_BYTES;
    for (size_t offset = 0; offset < part; offset += BLOCK_BYTES)
        for (size_t stream = 0; stream < streams; stream++)
            for (size_t i = 0; i < BLOCK_BYTES; i += 128)
                load(from + stream * part + offset + i);
}
#endif

/* Loads only: any C function that reads has something to do with what it read. */
static void read_bytes(const char *from, size_t bytes, size_t streams)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        read_streams(from, bytes, streams, load_128_bytes_avx);
    else
        read_streams(from, bytes, streams, load_128_bytes_sse);
#else
    (void)streams;
    __asm__ volatile("" : : "r"(memchr(from, 0xff, bytes)));
#endif
}

/* Moves the job's bytes once. */
static void move_bytes(const memory_job *job, float *buffer)
{
    float *const other = buffer + (job->half_bytes + GAP_BYTES) / sizeof(float);
    switch (job->traffic) {
    case TRAFFIC_READ:
        read_bytes((const char *)buffer, job->half_bytes, job->streams);
        read_bytes((const char *)other, job->half_bytes, job->streams);
        break;
    case TRAFFIC_WRITE:
        memset(buffer, 1, job->half_bytes);
        memset(other, 1, job->half_bytes);
        break;
    default:
        memcpy(buffer, other, job->half_bytes);
    }
    __asm__ volatile("" : : "r"(buffer) : "memory"); /* or it could be done just once */
}

/* The amount is in bytes. */
static team_share move(size_t member, void *context)
{
    const memory_job *const job = context;
    const size_t bytes = 2 * job->half_bytes, times = bytes < BYTES_PER_ROUND ? BYTES_PER_ROUND / bytes : 1;
    team_share share = {.start = now()};
    do {
        for (size_t i = 0; i < times; i++)
            move_bytes(job, job->buffers[member]);
        share.amount += (double)(times * bytes);
        share.end = now();
    } while (share.end - share.start < 1e-3);
    return share;
}

static bool measure_level(size_t threads, size_t bytes_per_thread, memory_level *level)
{
    memory_job job = {.buffers = calloc(threads, sizeof *job.buffers),
                      .half_bytes = bytes_per_thread / 2 / (BLOCK_BYTES * MOST_STREAMS) * (BLOCK_BYTES * MOST_STREAMS)};
    bool good = job.buffers != NULL;
    for (size_t i = 0; good && i < threads; i++) {
        const size_t bytes = 2 * job.half_bytes + GAP_BYTES;
        job.buffers[i] = allocate_floats(bytes / sizeof(float));
        good = job.buffers[i] != NULL;
        if (good)
            memset(job.buffers[i], 1, bytes);
    }
    for (int traffic = 0; traffic < MEMORY_TRAFFICS; traffic++) {
        job.traffic = (memory_traffic)traffic;
        /* The best of a few: it becomes a bound. */
        for (int attempt = 0; good && attempt < 6; attempt++) {
            double rate;
            job.streams = attempt & 1 ? MOST_STREAMS : 1;
            good = team_run(threads, move, &job, &rate);
            level->bandwidth[traffic] = good && rate > level->bandwidth[traffic] ? rate : level->bandwidth[traffic];
        }
    }
    for (size_t i = 0; job.buffers && i < threads; i++)
        free(job.buffers[i]);
    free(job.buffers);
    return good;
}

bool measure_memory(size_t threads, memory_level levels[MEMORY_LEVELS])
{
    size_t first_bytes = machine_cache_bytes(1), second_bytes = machine_cache_bytes(2),
           shared_bytes = machine_cache_bytes(3);
    first_bytes = first_bytes ? first_bytes : (size_t)32 << 10;
    second_bytes = second_bytes ? second_bytes : (size_t)1 << 20;
    /* Without a third level the second one is the last. */
    shared_bytes = shared_bytes > second_bytes ? shared_bytes : second_bytes * threads;
    /* A quarter of the shared cache: others may use it too. */
    const size_t sizes[MEMORY_LEVELS] = {first_bytes / 2, second_bytes / 2, shared_bytes / 4 / threads,
                                         shared_bytes * 3 / threads};
    levels[0] = (memory_level){.name = "L1", .capacity = (double)(first_bytes * threads)};
    levels[1] = (memory_level){.name = "L2", .capacity = (double)(second_bytes * threads)};
    levels[2] = (memory_level){.name = "L3", .capacity = (double)shared_bytes};
    levels[3] = (memory_level){.name = "memory"};
    for (size_t i = 0; i < MEMORY_LEVELS; i++)
        if (!measure_level(threads, sizes[i], &levels[i]))
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

double memory_seconds(const memory_level *level, double read_bytes, double write_bytes)
{
    const double copied = read_bytes < write_bytes ? read_bytes : write_bytes;
    return 2 * copied / level->bandwidth[TRAFFIC_COPY] + (read_bytes - copied) / level->bandwidth[TRAFFIC_READ] +
           (write_bytes - copied) / level->bandwidth[TRAFFIC_WRITE];
}
