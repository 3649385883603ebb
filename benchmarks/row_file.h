/* SPDX-License-Identifier: MIT */
/* A file of --json whose rows come one by one while a command goes on, and which is written when all are there. */
#ifndef CONVBENCH_ROW_FILE_H
#define CONVBENCH_ROW_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"
#include "report.h"

typedef struct row_file {
    const char *path; /* NULL: none was asked for, and there are no rows */
    char date[DATE_SIZE];
    char *text; /* of the rows so far */
    size_t size;
    json rows;
} row_file;

/* What the file has besides its rows. */
typedef struct row_file_frame {
    const char *schema, *rows;                 /* "convbench-counters"; what the array of rows is called */
    const limits *machine;                     /* with one thread; NULL: was not measured */
    void (*add)(json *j, const void *context); /* writes further members; NULL: there are none */
    const void *context;
} row_file_frame;

/* False if the file could not be written in the end, which is said on stderr; if true, row_file_free is due. */
bool row_file_begin(row_file *f, const options *asked);

/* On a new line, for one value; NULL if nothing is to be written. */
json *row_file_next(row_file *f);

/* As file_write does; nothing if no file was asked for. */
bool row_file_write(row_file *f, const row_file_frame *frame);

void row_file_free(row_file *f);

#endif
