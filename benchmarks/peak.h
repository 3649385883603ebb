/* SPDX-License-Identifier: MIT */
/* What the machine can do at most: multiply-adds per second, and bytes per second from each level of memory. */
#ifndef CONVBENCH_PEAK_H
#define CONVBENCH_PEAK_H

#include <stdbool.h>
#include <stddef.h>

/* How peak_gflops measures: the instruction and the number of independent chains. */
const char *peak_method(void);

/*
 * One burst of a good millisecond of the CPU's widest f32 multiply-add on so many threads at the same time; their sum.
 * To compare with a measurement, take bursts between its runs: then both see the same clock.  0 without threads.
 */
double peak_gflops(size_t threads);

/* Runs 512-bit multiply-adds, `rounds` of them in each of the chains; returns how many, 0 without AVX-512. */
double peak_run_512(long rounds);

typedef enum memory_traffic { TRAFFIC_READ, TRAFFIC_WRITE, TRAFFIC_COPY, MEMORY_TRAFFICS } memory_traffic;

typedef struct memory_level {
    const char *name;
    double capacity;                   /* bytes that so many threads find there */
    double bandwidth[MEMORY_TRAFFICS]; /* bytes per second; of a copy, read and written ones both counted */
} memory_level;

enum { MEMORY_LEVELS = 4 };

/* Measures the private caches, the shared one and memory with so many threads at the same time. */
bool measure_memory(size_t threads, memory_level levels[MEMORY_LEVELS]);

/* The level that holds so many bytes. */
const memory_level *find_memory_level(const memory_level levels[MEMORY_LEVELS], double bytes);

/* Seconds to read and write so many bytes there: as much as can be by copying, the rest one way. */
double memory_seconds(const memory_level *level, double read_bytes, double write_bytes);

#endif
