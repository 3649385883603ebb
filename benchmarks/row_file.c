/* SPDX-License-Identifier: MIT */
#include "row_file.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"

static void complain(const row_file *f)
{
    fprintf(stderr, "convbench: no memory for the rows of %s\n", f->path);
}

bool row_file_begin(row_file *f, const options *asked)
{
    *f = (row_file){.path = asked->json, .rows = {.first = true}};
    report_date(f->date);
    if (!f->path)
        return true;
    if (!file_can_write(f->path))
        return false;
    f->rows.file = open_memstream(&f->text, &f->size);
    if (!f->rows.file)
        complain(f);
    return f->rows.file != NULL;
}

json *row_file_next(row_file *f)
{
    if (!f->rows.file)
        return NULL;
    json_new_line(&f->rows);
    return &f->rows;
}

typedef struct content {
    const row_file *file;
    const row_file_frame *frame;
} content;

static void add_content(json *j, const void *context)
{
    const content *const c = context;
    report r = {.machine = c->frame->machine, .machine_count = c->frame->machine ? 1 : 0};
    memcpy(r.date, c->file->date, sizeof r.date);
    json_open(j, NULL, '{');
    json_schema(j, c->frame->schema);
    json_machine(j, &r);
    json_open(j, c->frame->rows, '[');
    fwrite(c->file->text, 1, c->file->size, j->file);
    json_close(j, ']');
    if (c->frame->add)
        c->frame->add(j, c->frame->context);
    json_close(j, '}');
}

bool row_file_write(row_file *f, const row_file_frame *frame)
{
    if (!f->path)
        return true;
    const bool whole = fclose(f->rows.file) == 0;
    f->rows.file = NULL;
    if (!whole)
        complain(f);
    return whole && json_write_file(f->path, add_content, &(content){.file = f, .frame = frame});
}

void row_file_free(row_file *f)
{
    if (f->rows.file)
        fclose(f->rows.file);
    free(f->text);
}
