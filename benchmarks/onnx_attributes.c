/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "onnx_graph.h"

/* Fields of AttributeProto. */
enum { NAME = 1, REAL = 2, INTEGER = 3, STRING = 4, TENSOR = 5, REALS = 7, INTEGERS = 8 };

static bool find(const onnx_node *node, const char *name, protobuf *found)
{
    enum { ATTRIBUTE = 5 };
    protobuf body = node->body;
    protobuf_field field, part;
    while (protobuf_next_of(&body, ATTRIBUTE, &field)) {
        protobuf attribute = field.bytes;
        if (field.type != PROTOBUF_BYTES || !protobuf_next_of(&attribute, NAME, &part) || part.type != PROTOBUF_BYTES)
            continue;
        if (onnx_is((onnx_name){(const char *)part.bytes.at, (size_t)(part.bytes.end - part.bytes.at)}, name)) {
            *found = field.bytes;
            return true;
        }
    }
    return false;
}

bool onnx_has(const onnx_node *node, const char *name)
{
    protobuf attribute;
    return find(node, name, &attribute);
}

long onnx_integer(const onnx_node *node, const char *name, long otherwise)
{
    protobuf attribute;
    protobuf_field field;
    if (find(node, name, &attribute) && protobuf_next_of(&attribute, INTEGER, &field))
        return (long)field.value;
    return otherwise;
}

int onnx_integers(const onnx_node *node, const char *name, long values[ONNX_VALUES])
{
    protobuf attribute;
    protobuf_field field;
    int count = 0;
    if (!find(node, name, &attribute))
        return ONNX_UNKNOWN;
    while (protobuf_next_of(&attribute, INTEGERS, &field)) {
        uint64_t value = field.value;
        const bool is_packed = field.type == PROTOBUF_BYTES;
        while (count < ONNX_VALUES && (!is_packed || protobuf_next_varint(&field.bytes, &value))) {
            values[count++] = (long)value;
            if (!is_packed)
                break;
        }
    }
    return count;
}

static double real_of(const unsigned char *bytes)
{
    float value;
    memcpy(&value, bytes, sizeof value);
    return (double)value;
}

int onnx_reals(const onnx_node *node, const char *name, double values[ONNX_VALUES])
{
    protobuf attribute;
    protobuf_field field;
    int count = 0;
    if (!find(node, name, &attribute))
        return ONNX_UNKNOWN;
    while (protobuf_next_of(&attribute, REALS, &field)) {
        const uint32_t bits = (uint32_t)field.value;
        unsigned char bytes[sizeof bits];
        memcpy(bytes, &bits, sizeof bits);
        if (field.type == PROTOBUF_FIXED32 && count < ONNX_VALUES)
            values[count++] = real_of(bytes);
        for (; field.type == PROTOBUF_BYTES && field.bytes.end - field.bytes.at >= 4 && count < ONNX_VALUES;
             field.bytes.at += 4)
            values[count++] = real_of(field.bytes.at);
    }
    return count;
}

onnx_name onnx_string(const onnx_node *node, const char *name)
{
    protobuf attribute;
    protobuf_field field;
    if (find(node, name, &attribute) && protobuf_next_of(&attribute, STRING, &field) && field.type == PROTOBUF_BYTES)
        return (onnx_name){(const char *)field.bytes.at, (size_t)(field.bytes.end - field.bytes.at)};
    return (onnx_name){"", 0};
}

bool onnx_constant(const onnx_node *node, const char *name, onnx_tensor *tensor)
{
    protobuf attribute;
    protobuf_field field;
    if (!find(node, name, &attribute) || !protobuf_next_of(&attribute, TENSOR, &field) || field.type != PROTOBUF_BYTES)
        return false;
    onnx_read_tensor(field.bytes, tensor);
    return true;
}
