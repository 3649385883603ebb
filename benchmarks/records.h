/* SPDX-License-Identifier: MIT */
/* Files of tuning records (conv2d_tune.h). */
#ifndef CONVBENCH_RECORDS_H
#define CONVBENCH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "conv2d_tune.h"

typedef struct record_list {
    conv2d_record *records;
    size_t count;
} record_list;

/* Appends one; false, which is said on stderr, without memory. */
bool records_add(record_list *list, const conv2d_record *record);

/* Appends a file's; on false it has said on stderr what is wrong, and with which line. */
bool records_read(record_list *list, const char *path);

/* Sorts them and writes a file: text, or C if its name ends in .h. */
bool records_write(record_list *list, const char *path);

void records_free(record_list *list);

#endif
