/* SPDX-License-Identifier: MIT */
#include "json_value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* A value while the array of all of them may still move: links are places in it, 0 is none (root is nobody's next). */
typedef struct node {
    json_value value;
    size_t first, next;
} node;

typedef struct parser {
    char *at, *end, *line_start;
    unsigned line;
    node *nodes;
    size_t count, room;
    int depth;
    json_error *error;
} parser;

static bool fail(parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(parser *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->error->message, sizeof p->error->message, format, arguments);
    va_end(arguments);
    p->error->line = p->line;
    p->error->column = (unsigned)(p->at - p->line_start) + 1;
    return false;
}

/* The character that comes next; '\0' at the end, which no text may hold elsewhere. */
static char next(const parser *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static void skip_blanks(parser *p)
{
    for (; p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at; p->at++)
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        }
}

static bool expected(parser *p, const char *what)
{
    const unsigned char found = (unsigned char)next(p);
    if (p->at == p->end)
        return fail(p, "the text ends where %s is expected", what);
    if (found > ' ' && found < 0x7f)
        return fail(p, "'%c' where %s is expected", found, what);
    return fail(p, "byte 0x%02x where %s is expected", found, what);
}

static bool skip(parser *p, char c, const char *what)
{
    if (next(p) != c)
        return expected(p, what);
    p->at++;
    return true;
}

/* Four hexadecimal digits; -1 if there are fewer. */
static long read_hex(parser *p)
{
    long code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *const digit = next(p) ? strchr(digits, next(p)) : NULL;
        if (!digit)
            return -1;
        code = code * 16 + (digit - digits) % 16;
    }
    return code;
}

static char *put_utf8(char *out, long code)
{
    static const struct {
        long most;
        int head, tails;
    } forms[] = {{0x7f, 0, 0}, {0x7ff, 0xc0, 1}, {0xffff, 0xe0, 2}, {0x10ffff, 0xf0, 3}};
    size_t form = 0;
    while (code > forms[form].most)
        form++;
    int tails = forms[form].tails;
    *out++ = (char)(forms[form].head | (int)(code >> 6 * tails));
    while (tails--)
        *out++ = (char)(0x80 | ((int)(code >> 6 * tails) & 0x3f));
    return out;
}

/* Behind \u: one code, or two that are a pair of surrogates. */
static bool read_code(parser *p, char **out)
{
    long code = read_hex(p);
    if (code < 0)
        return expected(p, "a hexadecimal digit");
    if (code >= 0xd800 && code < 0xdc00) {
        if (!skip(p, '\\', "the second half of a pair of surrogates") ||
            !skip(p, 'u', "the second half of a pair of surrogates"))
            return false;
        const long low = read_hex(p);
        if (low < 0xdc00 || low > 0xdfff)
            return fail(p, "half a pair of surrogates");
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail(p, "half a pair of surrogates");
    }
    if (code == 0)
        return fail(p, "\\u0000 cannot be kept");
    *out = put_utf8(*out, code);
    return true;
}

static bool read_escape(parser *p, char **out)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = next(p);
    if (c == 'u') {
        p->at++;
        return read_code(p, out);
    }
    const char *const name = c ? strchr(names, c) : NULL;
    if (!name)
        return expected(p, "one of \" \\ / b f n r t u");
    *(*out)++ = meanings[name - names];
    p->at++;
    return true;
}

/* Copies one character of several bytes. */
static bool copy_utf8(parser *p, char **out)
{
    const size_t length = utf8_length(p->at, (size_t)(p->end - p->at));
    if (length == 0)
        return fail(p, "byte 0x%02x: this is no UTF-8", (unsigned)(unsigned char)*p->at);
    memmove(*out, p->at, length);
    *out += length;
    p->at += length;
    return true;
}

/* In place: no escape is shorter than what it means. */
static bool read_string(parser *p, const char **text)
{
    if (!skip(p, '"', "a string"))
        return false;
    char *out = p->at;
    *text = out;
    while (next(p) != '"') {
        const unsigned char c = (unsigned char)next(p);
        if (p->at == p->end)
            return fail(p, "the text ends within a string");
        if (c < ' ')
            return fail(p, "byte 0x%02x must be escaped in a string", c);
        if (c >= 0x80) {
            if (!copy_utf8(p, &out))
                return false;
            continue;
        }
        p->at++;
        if (c != '\\')
            *out++ = (char)c;
        else if (!read_escape(p, &out))
            return false;
    }
    p->at++;
    *out = '\0';
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_digits(parser *p)
{
    if (!is_digit(next(p)))
        return expected(p, "a digit");
    while (is_digit(next(p)))
        p->at++;
    return true;
}

/* The grammar here, the value from strtod, which knows more forms (the text ends with a 0). */
static bool read_number(parser *p, double *number)
{
    const char *const start = p->at;
    if (next(p) == '-')
        p->at++;
    if (next(p) == '0')
        p->at++;
    else if (!skip_digits(p))
        return false;
    if (next(p) == '.') {
        p->at++;
        if (!skip_digits(p))
            return false;
    }
    if (next(p) == 'e' || next(p) == 'E') {
        p->at++;
        if (next(p) == '+' || next(p) == '-')
            p->at++;
        if (!skip_digits(p))
            return false;
    }
    *number = strtod(start, NULL);
    return isfinite(*number) || fail(p, "this number is beyond a double");
}

static bool read_word(parser *p, json_value *v)
{
    static const struct {
        const char *word;
        json_type type;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        if ((size_t)(p->end - p->at) < length || memcmp(p->at, words[i].word, length) != 0)
            continue;
        p->at += length;
        v->type = words[i].type;
        return true;
    }
    return expected(p, "a value");
}

/* A place for the value that begins here; 0 if there is none left. */
static size_t add_node(parser *p)
{
    if (p->count == JSON_MOST_VALUES)
        return fail(p, "more than %d values", JSON_MOST_VALUES);
    if (p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 64;
        node *const grown = realloc(p->nodes, room * sizeof *grown);
        if (!grown)
            return fail(p, "no memory for so many values");
        p->nodes = grown;
        p->room = room;
    }
    p->nodes[p->count] =
        (node){.value = {.type = JSON_NULL, .line = p->line, .column = (unsigned)(p->at - p->line_start) + 1}};
    return ++p->count;
}

static bool read_value(parser *p, const char *name, size_t *place);

/* The elements or members of the value in place `parent`, behind its bracket. */
static bool read_inside(parser *p, size_t parent, char close)
{
    const bool is_object = close == '}';
    size_t last = 0, count = 0;
    skip_blanks(p);
    for (bool more = next(p) != close; more;) {
        const char *name = NULL;
        size_t place;
        if (is_object && (!read_string(p, &name) || (skip_blanks(p), !skip(p, ':', "a colon"))))
            return false;
        if (!read_value(p, name, &place))
            return false;
        *(last ? &p->nodes[last].next : &p->nodes[parent].first) = place;
        last = place;
        count++;
        skip_blanks(p);
        more = next(p) == ',';
        p->at += more;
        skip_blanks(p);
    }
    p->nodes[parent].value.count = count;
    return skip(p, close, is_object ? "a comma or }" : "a comma or ]");
}

static bool read_value(parser *p, const char *name, size_t *place)
{
    skip_blanks(p);
    if (!add_node(p))
        return false;
    *place = p->count - 1;
    json_value *const v = &p->nodes[*place].value;
    v->name = name;
    const char c = next(p);
    if (c == '[' || c == '{') {
        v->type = c == '[' ? JSON_ARRAY : JSON_OBJECT;
        if (p->depth == JSON_DEEPEST)
            return fail(p, "deeper than %d arrays and objects", JSON_DEEPEST);
        p->at++;
        p->depth++;
        const bool good = read_inside(p, *place, c == '[' ? ']' : '}');
        p->depth--;
        return good;
    }
    if (c == '"') {
        v->type = JSON_STRING;
        return read_string(p, &v->text);
    }
    if (c == '-' || is_digit(c)) {
        v->type = JSON_NUMBER;
        return read_number(p, &v->number);
    }
    return read_word(p, v);
}

/* Places become pointers, in values that lie as close as they can. */
static bool settle(parser *p, json_document *document)
{
    json_value *const values = malloc(p->count * sizeof *values);
    if (!values)
        return fail(p, "no memory for so many values");
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
    parser p = {.at = text, .end = text + length, .line_start = text, .line = 1, .error = error};
    size_t root;
    bool good = read_value(&p, NULL, &root);
    skip_blanks(&p);
    if (good && p.at < p.end)
        good = expected(&p, "the end of the text");
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
