/* SPDX-License-Identifier: MIT */
/* What the operating system and the CPU say of this machine. */
#ifndef CONVBENCH_MACHINE_H
#define CONVBENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

enum { MACHINE_NAME_SIZE = 64, MACHINE_SYSTEM_SIZE = 256 };

/* The CPU's own name for itself. */
void machine_cpu_name(char name[MACHINE_NAME_SIZE]);

typedef enum machine_vendor { MACHINE_OTHER, MACHINE_INTEL, MACHINE_AMD } machine_vendor;

typedef struct machine_cpu {
    machine_vendor vendor;
    unsigned family, model; /* with their extensions */
    bool is_virtual;        /* a hypervisor says that it is there */
} machine_cpu;

/* Which CPU this is. */
machine_cpu machine_find_cpu(void);

/* Operating system, its release and the processor's architecture. */
void machine_system(char name[MACHINE_SYSTEM_SIZE]);

/* CPUs that this system has in use. */
size_t machine_cpus(void);

/* The compiler that built this program. */
const char *machine_compiler(void);

/* Bytes of the data (or unified) cache of that level, or 0. */
size_t machine_cache_bytes(int level);

/* All memory; what can be had of it without swapping. */
double machine_memory_bytes(void);
double machine_available_bytes(void);

#endif
