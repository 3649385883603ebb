/* SPDX-License-Identifier: MIT */
/* Protocol buffers: a message is a sequence of fields, each a number with a kind, then a varint, 4 or 8 bytes, or a
 * length and so many bytes, which may be a message again. */
#include "model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5, FLOAT_TENSOR = 1 };

typedef struct span {
    const unsigned char *at, *end;
} span;

typedef struct field {
    uint64_t number, kind, value;
    span bytes;
} field;

/* Reads one message's fields into its owner; false stops. */
typedef bool read_field(void *owner, const field *f);

static bool next_varint(span *s, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; s->at < s->end && shift < 64; shift += 7) {
        *value |= (uint64_t)(*s->at & 0x7f) << shift;
        if (!(*s->at++ & 0x80))
            return true;
    }
    return false;
}

static bool next_bytes(span *s, uint64_t count, span *bytes)
{
    if (count > (uint64_t)(s->end - s->at))
        return false;
    *bytes = (span){s->at, s->at + count};
    s->at += count;
    return true;
}

static bool next_field(span *s, field *f)
{
    uint64_t key;
    if (!next_varint(s, &key))
        return false;
    f->number = key >> 3;
    f->kind = key & 7;
    switch (f->kind) {
    case VARINT:
        return next_varint(s, &f->value);
    case EIGHT_BYTES:
        return next_bytes(s, 8, &f->bytes);
    case FOUR_BYTES:
        return next_bytes(s, 4, &f->bytes);
    case BYTES:
        return next_varint(s, &f->value) && next_bytes(s, f->value, &f->bytes);
    default:
        return false;
    }
}

static bool read_message(span message, read_field *read, void *owner)
{
    field f;
    while (message.at < message.end)
        if (!next_field(&message, &f) || !read(owner, &f))
            return false;
    return true;
}

static bool read_text(const field *f, char text[NAME_SIZE])
{
    if (f->kind != BYTES || f->value >= NAME_SIZE)
        return false;
    memcpy(text, f->bytes.at, f->value);
    text[f->value] = 0;
    return true;
}

/* An integer, or a packed list of them. */
static bool read_integers(const field *f, int64_t *values, size_t capacity, size_t *count)
{
    span s = f->bytes;
    uint64_t value = f->value;
    if (f->kind == VARINT && *count < capacity)
        return values[(*count)++] = (int64_t)value, true;
    while (f->kind == BYTES && s.at < s.end && *count < capacity && next_varint(&s, &value))
        values[(*count)++] = (int64_t)value;
    return f->kind == BYTES && s.at == s.end;
}

typedef struct tensor_parts {
    model_tensor *tensor;
    uint64_t type;
    span raw, packed;
} tensor_parts;

static bool read_tensor_field(void *owner, const field *f)
{
    tensor_parts *parts = owner;
    switch (f->number) {
    case 1:
        return read_integers(f, parts->tensor->dims, MAX_DIMS, &parts->tensor->rank);
    case 2:
        parts->type = f->value;
        return true;
    case 4:
        parts->packed = f->bytes;
        return f->kind == BYTES;
    case 8:
        return read_text(f, parts->tensor->name);
    case 9:
        parts->raw = f->bytes;
        return f->kind == BYTES;
    default:
        return true;
    }
}

static bool read_tensor(span message, model_tensor *tensor)
{
    tensor_parts parts = {.tensor = tensor};
    if (!read_message(message, read_tensor_field, &parts))
        return false;
    if (parts.type != FLOAT_TENSOR)
        return true;
    const span data = parts.raw.at ? parts.raw : parts.packed;
    tensor->count = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        tensor->count *= (size_t)tensor->dims[i];
    if ((size_t)(data.end - data.at) != tensor->count * sizeof(float))
        return false;
    tensor->data = malloc(tensor->count * sizeof(float) + 1);
    if (!tensor->data)
        return false;
    memcpy(tensor->data, data.at, tensor->count * sizeof(float));
    return true;
}

static bool read_attribute_field(void *owner, const field *f)
{
    model_attribute *a = owner;
    if (f->number == 1 || f->number == 4)
        return read_text(f, f->number == 1 ? a->name : a->text);
    return (f->number != 3 && f->number != 8) || read_integers(f, a->values, MAX_VALUES, &a->count);
}

static bool read_node_field(void *owner, const field *f)
{
    model_file *m = owner;
    switch (f->number) {
    case 1:
        return m->input_count < MAX_TENSORS_OF_NODE && read_text(f, m->inputs[m->input_count++]);
    case 4:
        return read_text(f, m->type);
    case 5:
        return m->attribute_count < MAX_ATTRIBUTES &&
               read_message(f->bytes, read_attribute_field, &m->attributes[m->attribute_count++]);
    default:
        return true;
    }
}

static bool read_name_field(void *owner, const field *f)
{
    return f->number != 1 || read_text(f, owner);
}

static bool read_graph_field(void *owner, const field *f)
{
    model_file *m = owner;
    switch (f->number) {
    case 1:
        return m->nodes++ || read_message(f->bytes, read_node_field, m);
    case 5:
        return m->constant_count < MAX_TENSORS_OF_NODE && read_tensor(f->bytes, &m->constants[m->constant_count++]);
    case 11:
        return m->graph_input_count < MAX_TENSORS_OF_NODE &&
               read_message(f->bytes, read_name_field, m->graph_inputs[m->graph_input_count++]);
    default:
        return true;
    }
}

static bool read_model_field(void *owner, const field *f)
{
    return f->number != 7 || read_message(f->bytes, read_graph_field, owner);
}

static bool read_tensor_message(void *owner, span message)
{
    return read_tensor(message, owner);
}

static bool read_model_message(void *owner, span message)
{
    return read_message(message, read_model_field, owner);
}

static bool read_file(const char *path, bool (*read)(void *owner, span message), void *owner)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool good = fseek(file, 0, SEEK_END) == 0;
    const long size = good ? ftell(file) : -1;
    good = size >= 0 && fseek(file, 0, SEEK_SET) == 0;
    unsigned char *bytes = good ? malloc((size_t)size + 1) : NULL;
    good = bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size && read(owner, (span){bytes, bytes + size});
    free(bytes);
    fclose(file);
    return good;
}

bool model_file_read(const char *path, model_file *model)
{
    *model = (model_file){0};
    return read_file(path, read_model_message, model);
}

void model_file_release(model_file *model)
{
    for (size_t i = 0; i < model->constant_count; i++)
        free(model->constants[i].data);
    *model = (model_file){0};
}

bool tensor_file_read(const char *path, model_tensor *tensor)
{
    *tensor = (model_tensor){0};
    return read_file(path, read_tensor_message, tensor);
}
