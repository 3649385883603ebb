/* SPDX-License-Identifier: MIT */
#include "stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "json_text.h"
#include "json_value.h"

enum { LARGEST_FILE = 1 << 28 };

typedef struct reader {
    stored_results *to;
    size_t part_count;
} reader;

static bool complain(const reader *r, const json_value *at, const char *what)
{
    fprintf(stderr, "convbench: %s:%u:%u: %s\n", r->to->path, at->line, at->column, what);
    return false;
}

/* The member, if it has that type; NULL, said on stderr, if not. */
static const json_value *find(const reader *r, const json_value *object, const char *name, json_type type)
{
    char what[160];
    const json_value *const v = json_member(object, name);
    if (v && v->type == type)
        return v;
    if (v)
        snprintf(what, sizeof what, "\"%s\" is %s where %s is expected", name, json_type_name(v->type),
                 json_type_name(type));
    else
        snprintf(what, sizeof what, "the member \"%s\" is missing here", name);
    complain(r, v ? v : object, what);
    return NULL;
}

static bool read_string(const reader *r, const json_value *object, const char *name, const char **text)
{
    const json_value *const v = find(r, object, name, JSON_STRING);
    if (v)
        *text = v->text;
    return v;
}

/* Above 0, as times and counts are. */
static bool read_positive(const reader *r, const json_value *object, const char *name, double *number)
{
    const json_value *const v = find(r, object, name, JSON_NUMBER);
    if (!v)
        return false;
    *number = v->number;
    return *number > 0 || complain(r, v, "a number above 0 is expected");
}

static bool read_part(const reader *r, const json_value *v, stored_part *part)
{
    return read_positive(r, v, "began", &part->began) && read_positive(r, v, "p10", &part->seconds) &&
           read_positive(r, v, "peak_gflops", &part->peak_gflops);
}

static bool read_parts(reader *r, const json_value *result, stored_row *row)
{
    const json_value *const parts = find(r, result, "parts", JSON_ARRAY);
    if (!parts)
        return false;
    stored_part *const first = r->to->parts + r->part_count;
    row->parts = first;
    for (const json_value *v = parts->first; v; v = v->next) {
        if (!read_part(r, v, &first[row->part_count]))
            return false;
        const double began = first[row->part_count++].began;
        if (r->part_count++ == 0 || began < r->to->began)
            r->to->began = began;
    }
    return true;
}

/* The share of its time that a row lost to others; 0 if it does not say, or if what waited were threads of its own. */
static double read_lost(const json_value *v)
{
    const json_value *const disturbed = json_member(v, "disturbed");
    if (!disturbed || disturbed->type != JSON_OBJECT)
        return 0;
    const json_value *const ran = json_member(disturbed, "ran_share"), *const switches =
                                                                           json_member(disturbed, "switches");
    const bool said = ran && ran->type == JSON_NUMBER && switches && switches->type == JSON_NUMBER;
    return said && switches->number > 0 && ran->number >= 0 && ran->number < 1 ? 1 - ran->number : 0;
}

static bool read_row(reader *r, const json_value *v, stored_row *row)
{
    double threads;
    *row = (stored_row){.network = ""};
    if (!read_string(r, v, "problem", &row->problem) || !read_string(r, v, "allowed_isa", &row->allowed_isa) ||
        !read_string(r, v, "kernel", &row->kernel) || !read_positive(r, v, "threads", &threads) ||
        !read_parts(r, v, row))
        return false;
    if (threads != (double)(size_t)(threads < 1e9 ? threads : 0))
        return complain(r, v, "\"threads\" is no whole number below 1000000000");
    row->threads = (size_t)threads;
    const json_value *const network = json_member(v, "network"), *const equal = json_member(v, "bitwise_equal");
    if (network && network->type == JSON_STRING)
        row->network = network->text;
    row->wrong = equal && equal->type == JSON_FALSE;
    return true;
}

/* The parts of all rows together. */
static size_t count_parts(const json_value *results)
{
    size_t count = 0;
    for (const json_value *v = results->first; v; v = v->next) {
        const json_value *const parts = json_member(v, "parts");
        count += parts ? parts->count : 0;
    }
    return count;
}

static bool read_rows(reader *r, const json_value *results)
{
    stored_results *const s = r->to;
    s->rows = malloc((results->count + 1) * sizeof *s->rows);
    s->parts = malloc((count_parts(results) + 1) * sizeof *s->parts);
    if (!s->rows || !s->parts)
        return complain(r, results, "no memory for so many results");
    for (const json_value *v = results->first; v; v = v->next) {
        if (!read_row(r, v, &s->rows[s->row_count++]))
            return false;
        s->lost += read_lost(v) / (double)results->count;
    }
    return true;
}

static void read_facts(stored_results *s, const json_value *root)
{
    const json_value *const machine = json_member(root, "machine");
    const struct {
        const json_value *object;
        const char *name, **text;
    } facts[] = {{machine, "cpu", &s->cpu},
                 {machine, "library_version", &s->library_version},
                 {machine, "compiler", &s->compiler},
                 {root, "date", &s->date}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const json_value *const v = facts[i].object ? json_member(facts[i].object, facts[i].name) : NULL;
        *facts[i].text = v && v->type == JSON_STRING ? v->text : "unknown";
    }
}

static bool check_schema(const reader *r, const json_value *root)
{
    char what[160];
    const char *schema;
    double version;
    if (root->type != JSON_OBJECT)
        return complain(r, root, "these are no results of convbench --json");
    if (!read_string(r, root, "schema", &schema))
        return false;
    if (strcmp(schema, "convbench-1") == 0)
        return complain(r, root, "results of an older convbench, without the parts that a comparison needs");
    if (strcmp(schema, "convbench") != 0)
        return complain(r, root, "only times of problems are compared, not what other questions were answered with");
    if (!read_positive(r, root, "version", &version))
        return false;
    snprintf(what, sizeof what, "version %g of the format; this convbench reads version %d", version,
             JSON_SCHEMA_VERSION);
    return version == JSON_SCHEMA_VERSION || complain(r, root, what);
}

static bool read_document(stored_results *s, const json_value *root)
{
    reader r = {.to = s};
    if (!check_schema(&r, root))
        return false;
    read_facts(s, root);
    const json_value *const results = find(&r, root, "results", JSON_ARRAY);
    return results && read_rows(&r, results);
}

bool stored_read_text(stored_results *s, const char *path, char *text, size_t length)
{
    *s = (stored_results){.path = path, .text = text};
    json_document document;
    json_error error;
    if (!json_parse(text, length, &document, &error)) {
        fprintf(stderr, "convbench: %s:%u:%u: %s\n", path, error.line, error.column, error.message);
        return false;
    }
    /* Its strings lie in the text. */
    const bool good = read_document(s, document.root);
    json_free(&document);
    return good;
}

bool stored_read(stored_results *s, const char *path)
{
    *s = (stored_results){.path = path};
    size_t length;
    char *const text = file_read(path, LARGEST_FILE, &length);
    return text && stored_read_text(s, path, text, length);
}

void stored_free(stored_results *s)
{
    free(s->text);
    free(s->rows);
    free(s->parts);
}

/* A row in the order of what it measured. */
typedef struct ordered {
    const stored_row *row;
    size_t number;
} ordered;

static int compare_without_kernel(const stored_row *a, const stored_row *b)
{
    int order = strcmp(a->problem, b->problem);
    if (order == 0)
        order = strcmp(a->allowed_isa, b->allowed_isa);
    if (order == 0)
        order = strcmp(a->network, b->network);
    return order ? order : (a->threads > b->threads) - (a->threads < b->threads);
}

static int compare_rows(const void *a, const void *b)
{
    const ordered *const x = a, *const y = b;
    int order = compare_without_kernel(x->row, y->row);
    if (order == 0)
        order = strcmp(x->row->kernel, y->row->kernel);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static ordered *put_in_order(const stored_results *s)
{
    ordered *const rows = malloc((s->row_count + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < s->row_count; i++)
        rows[i] = (ordered){&s->rows[i], i};
    if (rows)
        qsort(rows, s->row_count, sizeof *rows, compare_rows);
    return rows;
}

/* How many rows from here on measured the same but for the kernel. */
static size_t count_alike(const ordered *rows, size_t count)
{
    size_t alike = 1;
    while (alike < count && compare_without_kernel(rows[0].row, rows[alike].row) == 0)
        alike++;
    return alike;
}

/* Both measured the same but for kernels, which are in order. */
static void match_kernels(const ordered *a, size_t a_count, const ordered *b, size_t b_count, size_t *found)
{
    if (a_count == 1 && b_count == 1) {
        found[a->number] = b->number;
        return;
    }
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        const int order = strcmp(a[i].row->kernel, b[k].row->kernel);
        if (order == 0)
            found[a[i].number] = b[k].number;
        i += order <= 0;
        k += order >= 0;
    }
}

bool stored_match(const stored_results *a, const stored_results *b, size_t *found)
{
    ordered *const rows_a = put_in_order(a), *const rows_b = put_in_order(b);
    const bool good = rows_a && rows_b;
    for (size_t i = 0; i < a->row_count; i++)
        found[i] = STORED_NONE;
    for (size_t i = 0, k = 0; good && i < a->row_count && k < b->row_count;) {
        const int order = compare_without_kernel(rows_a[i].row, rows_b[k].row);
        const size_t alike_a = order <= 0 ? count_alike(rows_a + i, a->row_count - i) : 0,
                     alike_b = order >= 0 ? count_alike(rows_b + k, b->row_count - k) : 0;
        if (order == 0)
            match_kernels(rows_a + i, alike_a, rows_b + k, alike_b, found);
        i += alike_a;
        k += alike_b;
    }
    free(rows_a);
    free(rows_b);
    return good;
}
