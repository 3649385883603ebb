/* SPDX-License-Identifier: MIT */
/* Results that convbench --json wrote, read again: what convbench diff compares. */
#ifndef CONVBENCH_STORED_H
#define CONVBENCH_STORED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct stored_part {
    double began;       /* seconds since 1970 */
    double seconds;     /* of one call: the first decile of the part's runs */
    double peak_gflops; /* measured between them */
} stored_part;

typedef struct stored_row {
    const char *problem, *allowed_isa, *network, *kernel; /* network: "" for none */
    size_t threads;
    bool wrong; /* its result differed from the oracle's */
    const stored_part *parts;
    size_t part_count; /* 0: not timed */
} stored_row;

typedef struct stored_results {
    const char *path;
    const char *cpu, *library_version, *compiler, *date; /* "unknown" where the file does not say */
    double began;                                        /* of the first part of all */
    double lost; /* the share of the time in which the measuring thread had to wait for the CPU, mean of the rows */
    stored_row *rows;
    size_t row_count;
    /* What the strings and parts above lie in. */
    char *text;
    stored_part *parts;
} stored_results;

/* False if the file is no such one: that has been said on stderr, with the place.  stored_free is due in any case. */
bool stored_read(stored_results *s, const char *path);
/* The same of a text that file_read gave, which goes over to the results; path: what they are called. */
bool stored_read_text(stored_results *s, const char *path, char *text, size_t length);
void stored_free(stored_results *s);

/*
 * For each row of a the number of the row of b that measured the same: problem, instruction sets allowed, network and
 * threads, and also the kernel where one of them was measured with several.  STORED_NONE if there is none.
 */
#define STORED_NONE ((size_t)-1)
bool stored_match(const stored_results *a, const stored_results *b, size_t *found);

#endif
