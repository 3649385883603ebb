/* SPDX-License-Identifier: MIT */
/* Results as text and as JSON. */
#ifndef CONVBENCH_REPORT_H
#define CONVBENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "input.h"
#include "json_text.h"
#include "measure.h"

/* As 2026-11-21T20:15:00Z. */
enum { DATE_SIZE = 24 };

typedef struct report {
    FILE *file;
    const problem_list *problems;
    const limits *machine; /* of each number of threads; none if nothing is timed */
    size_t machine_count;
    int problem_width, kernel_width;
    bool speedup; /* has a column */
    char date[DATE_SIZE];
} report;

enum { CELL_SIZE = 300 };

/* Of now, UTC. */
void report_date(char date[DATE_SIZE]);

/* Four digits and a unit. */
void format_seconds(char cell[CELL_SIZE], double seconds);

/* What the numbers below were measured on, and with. */
void report_machine(const report *r);
/* The titles of the columns. */
void report_titles(const report *r);
void report_row(const report *r, const measurement *m);

/* The kernels of the library. */
void report_kernels(FILE *file);

typedef struct results {
    measurement *rows;
    size_t count;
} results;

/* Warns of measurements that the machine disturbed. */
void report_noise(const report *r, const results *all);

/* What all rows of one kind say together, kind by kind (summary.h); and the member "summaries". */
void report_summary(const report *r, const results *all);
void json_summaries(json *j, const report *r, const results *all);

/* Writes everything as json_write_file does. */
bool json_write(const char *path, const report *r, const results *all);

/* The members "date" and "machine". */
void json_machine(json *j, const report *r);
/* The member "disturbed"; and one with the quartiles: null if the pointer is NULL, as nothing was timed. */
void json_disturbed(json *j, const interference *d);
void json_quartile_members(json *j, const quartiles *q); /* of an object that has others too */
void json_quartiles(json *j, const char *name, const quartiles *q);

#endif
