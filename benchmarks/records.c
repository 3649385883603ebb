/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool out_of_memory(void)
{
    fprintf(stderr, "convbench: no memory for so many records\n");
    return false;
}

/* Room for so many more. */
static bool grow(record_list *list, size_t more)
{
    conv2d_record *const grown = realloc(list->records, (list->count + more) * sizeof *grown);
    if (!grown)
        return out_of_memory();
    list->records = grown;
    return true;
}

bool records_add(record_list *list, const conv2d_record *record)
{
    if (!grow(list, 1))
        return false;
    list->records[list->count++] = *record;
    return true;
}

/* The whole file; NULL if it cannot be read. */
static char *read_text(const char *path, size_t *length)
{
    FILE *const file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    *length = 0;
    while (file && !ferror(file) && !feof(file)) {
        if (*length == size) {
            size = size ? 2 * size : 4096;
            char *const grown = realloc(text, size);
            if (!grown)
                break;
            text = grown;
        }
        *length += fread(text + *length, 1, size - *length, file);
    }
    const bool good = file && feof(file);
    if (!good)
        fprintf(stderr, "convbench: %s: %s\n", path, strerror(errno));
    if (file)
        fclose(file);
    if (!good)
        free(text);
    return good ? text : NULL;
}

bool records_read(record_list *list, const char *path)
{
    size_t length, count = 0, line = 0;
    char *const text = read_text(path, &length);
    if (!text)
        return false;
    bool good = conv2d_records_parse(text, length, NULL, 0, &count, &line) == CONV2D_OK;
    if (!good)
        fprintf(stderr, "convbench: %s:%zu: this is no record\n", path, line);
    else if (count)
        good = grow(list, count);
    if (good) {
        conv2d_records_parse(text, length, list->records + list->count, count, &count, NULL);
        list->count += count;
    }
    free(text);
    return good;
}

static size_t format(const record_list *list, bool as_c, char *text, size_t size)
{
    return as_c ? conv2d_records_write_c(list->records, list->count, "conv2d_records", text, size)
                : conv2d_records_write(list->records, list->count, text, size);
}

bool records_write(record_list *list, const char *path)
{
    const size_t name_length = strlen(path);
    const bool as_c = name_length > 2 && strcmp(path + name_length - 2, ".h") == 0;
    conv2d_records_sort(list->records, list->count);
    const size_t size = format(list, as_c, NULL, 0) + 1;
    char *const text = malloc(size);
    if (!text)
        return out_of_memory();
    format(list, as_c, text, size);
    FILE *const file = fopen(path, "w");
    bool good = file && fputs(text, file) >= 0;
    if (file)
        good = fclose(file) == 0 && good;
    if (!good)
        fprintf(stderr, "convbench: %s: %s\n", path, strerror(errno));
    free(text);
    return good;
}

void records_free(record_list *list)
{
    free(list->records);
}
