/* SPDX-License-Identifier: MIT */
/* Reading JSON (RFC 8259) of any origin: nothing that it may hold reads or writes out of bounds, or takes long. */
#ifndef CONVBENCH_JSON_VALUE_H
#define CONVBENCH_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
    JSON_TYPES
} json_type;

/* Objects and arrays within each other; and values in all, which bounds the memory for a text of any size. */
enum { JSON_DEEPEST = 64, JSON_MOST_VALUES = 1 << 21 };

typedef struct json_value {
    json_type type;
    unsigned line, column;          /* where it begins, counted from 1, in bytes */
    const char *name;               /* of a member, NULL in an array */
    const char *text;               /* of a string: UTF-8 without a 0 in it */
    double number;                  /* finite */
    size_t count;                   /* of elements or members */
    const struct json_value *first; /* element or member, NULL if there is none */
    const struct json_value *next;  /* after this one in the same array or object */
} json_value;

typedef struct json_error {
    unsigned line, column;
    char message[120];
} json_error;

typedef struct json_document {
    const json_value *root;
    struct json_value *values; /* all of them, root first */
} json_document;

/*
 * Reads text[0 .. length), followed by a 0, which the strings of the document will lie in: it must live as long and be
 * left alone.  False: *error says what is wrong where; nothing needs json_free then.
 * Refused beside what RFC 8259 refuses: what is larger than above, text that is no UTF-8, half a pair of surrogates,
 * \u0000, and numbers beyond a double.
 */
bool json_parse(char *text, size_t length, json_document *document, json_error *error);
void json_free(json_document *document);

/* The member of that name (the first of several); NULL if there is none or it is no object. */
const json_value *json_member(const json_value *object, const char *name);

/* "a string", "null": for messages. */
const char *json_type_name(json_type type);

#endif
