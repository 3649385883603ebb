/* SPDX-License-Identifier: MIT */
#include "json_value.h"

#include <stdlib.h>
#include <string.h>

#include "json_reader.h"

/* A value while the array of all of them may still move: links are places in it, 0 is none (root is nobody's next). */
typedef struct node {
    json_value value;
    size_t first, next;
} node;

typedef struct parser {
    json_reader in;
    node *nodes;
    size_t count, room;
    int depth;
} parser;

/* A place for the value that begins here; 0 if there is none left. */
static size_t add_node(parser *p)
{
    if (p->count == JSON_MOST_VALUES)
        return json_fail(&p->in, "more than %d values", JSON_MOST_VALUES);
    if (p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 64;
        node *const grown = realloc(p->nodes, room * sizeof *grown);
        if (!grown)
            return json_fail(&p->in, "no memory for so many values");
        p->nodes = grown;
        p->room = room;
    }
    p->nodes[p->count] =
        (node){.value = {.type = JSON_NULL, .line = p->in.line, .column = (unsigned)(p->in.at - p->in.line_start) + 1}};
    return ++p->count;
}

static bool read_value(parser *p, const char *name, size_t *place);

/* The elements or members of the value in place `parent`, behind its bracket. */
static bool read_inside(parser *p, size_t parent, char close)
{
    const bool is_object = close == '}';
    size_t last = 0, count = 0;
    json_skip_blanks(&p->in);
    for (bool more = json_next(&p->in) != close; more;) {
        const char *name = NULL;
        size_t place;
        if (is_object &&
            (!json_read_string(&p->in, &name) || (json_skip_blanks(&p->in), !json_skip(&p->in, ':', "a colon"))))
            return false;
        if (!read_value(p, name, &place))
            return false;
        *(last ? &p->nodes[last].next : &p->nodes[parent].first) = place;
        last = place;
        count++;
        json_skip_blanks(&p->in);
        more = json_next(&p->in) == ',';
        p->in.at += more;
        json_skip_blanks(&p->in);
    }
    p->nodes[parent].value.count = count;
    return json_skip(&p->in, close, is_object ? "a comma or }" : "a comma or ]");
}

static bool read_value(parser *p, const char *name, size_t *place)
{
    json_skip_blanks(&p->in);
    if (!add_node(p))
        return false;
    *place = p->count - 1;
    json_value *const v = &p->nodes[*place].value;
    v->name = name;
    const char c = json_next(&p->in);
    if (c == '[' || c == '{') {
        v->type = c == '[' ? JSON_ARRAY : JSON_OBJECT;
        if (p->depth == JSON_DEEPEST)
            return json_fail(&p->in, "deeper than %d arrays and objects", JSON_DEEPEST);
        p->in.at++;
        p->depth++;
        const bool good = read_inside(p, *place, c == '[' ? ']' : '}');
        p->depth--;
        return good;
    }
    if (c == '"') {
        v->type = JSON_STRING;
        return json_read_string(&p->in, &v->text);
    }
    if (c == '-' || json_is_digit(c)) {
        v->type = JSON_NUMBER;
        return json_read_number(&p->in, &v->number);
    }
    return json_read_word(&p->in, &v->type);
}

/* Places become pointers, in values that lie as close as they can. */
static bool settle(parser *p, json_document *document)
{
    json_value *const values = malloc(p->count * sizeof *values);
    if (!values)
        return json_fail(&p->in, "no memory for so many values");
    for (size_t i = 0; i < p->count; i++) {
        const node *const n = &p->nodes[i];
        values[i] = n->value;
        values[i].first = n->first ? &values[n->first] : NULL;
        values[i].next = n->next ? &values[n->next] : NULL;
    }
    *document = (json_document){.root = values, .values = values};
    return true;
}

bool json_parse(char *text, size_t length, json_document *document, json_error *error)
{
    parser p = {.in = {.at = text, .end = text + length, .line_start = text, .line = 1, .error = error}};
    size_t root;
    bool good = read_value(&p, NULL, &root);
    json_skip_blanks(&p.in);
    if (good && p.in.at < p.in.end)
        good = json_expected(&p.in, "the end of the text");
    good = good && settle(&p, document);
    free(p.nodes);
    return good;
}

void json_free(json_document *document)
{
    free(document->values);
    *document = (json_document){.root = NULL};
}

const json_value *json_member(const json_value *object, const char *name)
{
    if (object->type != JSON_OBJECT)
        return NULL;
    const json_value *v = object->first;
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    return v;
}

const char *json_type_name(json_type type)
{
    static const char *const names[JSON_TYPES] = {"null",     "false",    "true",     "a number",
                                                  "a string", "an array", "an object"};
    return names[type];
}
