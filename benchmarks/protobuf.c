/* SPDX-License-Identifier: MIT */
#include "protobuf.h"

static bool fail(protobuf *p)
{
    *p->damaged = true;
    p->at = p->end;
    return false;
}

bool protobuf_next_varint(protobuf *p, uint64_t *value)
{
    if (p->at == p->end)
        return false;
    *value = 0;
    for (unsigned shift = 0; shift < 70 && p->at < p->end; shift += 7) {
        const unsigned char byte = *p->at++;
        if (shift < 64)
            *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return fail(p);
}

static bool read_fixed(protobuf *p, size_t bytes, uint64_t *value)
{
    if ((size_t)(p->end - p->at) < bytes)
        return fail(p);
    *value = 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)*p->at++ << 8 * i;
    return true;
}

bool protobuf_next(protobuf *p, protobuf_field *field)
{
    uint64_t key, length;
    if (!protobuf_next_varint(p, &key))
        return false;
    *field = (protobuf_field){.number = (unsigned)(key >> 3), .type = key & 7};
    switch (field->type) {
    case PROTOBUF_VARINT:
        return protobuf_next_varint(p, &field->value) || fail(p);
    case PROTOBUF_FIXED64:
        return read_fixed(p, 8, &field->value);
    case PROTOBUF_FIXED32:
        return read_fixed(p, 4, &field->value);
    case PROTOBUF_BYTES:
        if (!protobuf_next_varint(p, &length) || length > (uint64_t)(p->end - p->at))
            return fail(p);
        field->bytes = (protobuf){p->at, p->at + length, p->damaged};
        p->at += length;
        return true;
    default: /* groups, which nobody writes any more */
        return fail(p);
    }
}

bool protobuf_next_of(protobuf *p, unsigned number, protobuf_field *field)
{
    while (protobuf_next(p, field))
        if (field->number == number)
            return true;
    return false;
}
