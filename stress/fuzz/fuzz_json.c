/* SPDX-License-Identifier: MIT */
/* Text as JSON: values lie in the text's order, strings in the text, counts are right. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "json_value.h"

/* So many values, itself included. */
static size_t check_value(const json_value *v, const char *text, size_t size, size_t depth)
{
    size_t values = 1, children = 0;
    REQUIRE(depth <= JSON_DEEPEST && (unsigned)v->type < JSON_TYPES);
    REQUIRE(v->line >= 1 && v->column >= 1);
    if (v->type == JSON_STRING)
        REQUIRE(v->text >= text && v->text + strlen(v->text) <= text + size);
    if (v->type == JSON_NUMBER)
        REQUIRE(isfinite(v->number));
    for (const json_value *child = v->first; child; child = child->next, children++) {
        REQUIRE((child->name != NULL) == (v->type == JSON_OBJECT));
        if (child->name)
            REQUIRE(json_member(v, child->name) != NULL);
        values += check_value(child, text, size, depth + 1);
    }
    REQUIRE(children == ((v->type == JSON_ARRAY || v->type == JSON_OBJECT) ? v->count : 0));
    return values;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *const text = fuzz_string(bytes, size);
    json_document document;
    json_error error;
    if (json_parse(text, size, &document, &error)) {
        REQUIRE(check_value(document.root, text, size, 0) <= size);
        json_free(&document);
    } else {
        REQUIRE(error.line >= 1 && strlen(error.message) > 0);
    }
    free(text);
    return 0;
}
