/* SPDX-License-Identifier: MIT */
/* Whole files: read at once, and written so that one is there only when it is complete. */
#ifndef CONVBENCH_FILE_H
#define CONVBENCH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The bytes of a file ("-" is standard input) and a final 0, which *length does not count; free() it.  NULL if it
 * cannot be read or has more than `most` bytes: then that has been said on stderr.
 */
char *file_read(const char *path, size_t most, size_t *length);

/* The same of what is left of an open file; said by the caller, by errno. */
char *file_read_rest(FILE *file, size_t most, size_t *length);

/*
 * Has `add` write to path ("-" is standard output), under a temporary name beside it that becomes the final one when
 * everything is on the disk.  What is no plain file (a pipe, a device) is written to directly.  False if that fails:
 * then it has been said on stderr, and what the file was before is still there.
 */
bool file_write(const char *path, void (*add)(FILE *file, const void *context), const void *context);

/* Whether all that went to standard output has arrived; false if not: then that has been said, once, on stderr. */
bool file_finish_output(void);

/* Whether file_write will be able to, to know before an hour of measuring; false as above. */
bool file_can_write(const char *path);

#endif
