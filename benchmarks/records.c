/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

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

enum { LARGEST_FILE = 1 << 28 };

bool records_read(record_list *list, const char *path)
{
    size_t length, count = 0, line = 0;
    char *const text = file_read(path, LARGEST_FILE, &length);
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

typedef struct content {
    const record_list *list;
    bool as_c;
    char *text;
    size_t size;
} content;

static size_t format(const content *c)
{
    const conv2d_record *const records = c->list->records;
    return c->as_c ? conv2d_records_write_c(records, c->list->count, "conv2d_records", c->text, c->size)
                   : conv2d_records_write(records, c->list->count, c->text, c->size);
}

static void add_text(FILE *file, const void *context)
{
    fputs(((const content *)context)->text, file);
}

bool records_write(record_list *list, const char *path)
{
    const size_t name_length = strlen(path);
    content c = {.list = list, .as_c = name_length > 2 && strcmp(path + name_length - 2, ".h") == 0};
    conv2d_records_sort(list->records, list->count);
    c.size = format(&c) + 1;
    c.text = malloc(c.size);
    if (!c.text)
        return out_of_memory();
    format(&c);
    const bool good = file_write(path, add_text, &c);
    free(c.text);
    return good;
}

void records_free(record_list *list)
{
    free(list->records);
}
