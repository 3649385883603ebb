/* SPDX-License-Identifier: MIT */
/* The wire format of Protocol Buffers, as much of it as reading a message of any origin takes. */
#ifndef CONVBENCH_PROTOBUF_H
#define CONVBENCH_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message, or what is left of it; or the bytes of a string, or of packed numbers. */
typedef struct protobuf {
    const unsigned char *at, *end;
    bool *damaged; /* set when a message is cut off or is none; shared by all that are made of it */
} protobuf;

enum { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };

typedef struct protobuf_field {
    unsigned number, type;
    uint64_t value; /* of the three types of numbers, as bits */
    protobuf bytes; /* of PROTOBUF_BYTES */
} protobuf_field;

/* The next field, and steps behind it; false at the end and where the message is damaged. */
bool protobuf_next(protobuf *message, protobuf_field *field);

/* The next of packed varints; false at the end. */
bool protobuf_next_varint(protobuf *packed, uint64_t *value);

/* The field of this number that comes next, and no other. */
bool protobuf_next_of(protobuf *message, unsigned number, protobuf_field *field);

#endif
