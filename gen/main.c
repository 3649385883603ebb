/* SPDX-License-Identifier: MIT */
/*
 * convgen: writes the kernels of libconv2d.
 *
 *   convgen DIRECTORY        kernels.h, kernels_<family>_<isa>.c, activate_<isa>.c and kernel_table.c
 *   convgen --kernel NAME    one tile's function to stdout
 */
#include <stdlib.h>
#include <string.h>

#include "emit_d.h"

/* Stops the program at a spec that does not fit. */
static void check_fits(writer *w, const spec *s)
{
    (void)w;
    if (spec_fits(s))
        return;
    char name[SPEC_NAME_SIZE];
    const budget b = spec_budget(s);
    spec_name(s, name, sizeof name);
    fprintf(stderr, "convgen: %s does not fit: %d of %d registers, or too large a tile or stride\n", name,
            budget_registers(&b), s->isa->registers);
    exit(EXIT_FAILURE);
}

static void declare(writer *w, const spec *s)
{
    char name[SPEC_NAME_SIZE];
    spec_name(s, name, sizeof name);
    line(w, "__attribute__((used)) conv2d_tile_fn %s;", name);
}

static const char *wanted_kernel;

static void print_wanted(writer *w, const spec *s)
{
    char name[SPEC_NAME_SIZE];
    spec_name(s, name, sizeof name);
    if (strcmp(name, wanted_kernel) == 0) {
        emit_tile(w, s);
        exit(fclose(w->file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
}

static int print_kernel(const char *name)
{
    writer w = {stdout, 0};
    wanted_kernel = name;
    for (size_t i = 0; i < tile_set_count; i++)
        emit_set(&w, &tile_sets[i], print_wanted);
    fprintf(stderr, "convgen: no kernel '%s'\n", name);
    return EXIT_FAILURE;
}

static writer open_output(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    writer w = {fopen(path, "w"), 0};
    if (!w.file) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return w;
}

static void close_output(writer *w, const char *name)
{
    if (ferror(w->file) || fclose(w->file) != 0) {
        perror(name);
        exit(EXIT_FAILURE);
    }
}

static const isa_row *const activated[] = {&isa_scalar, &isa_avx2, &isa_avx512};
static const size_t activated_count = sizeof activated / sizeof activated[0];

static void write_header(const char *directory)
{
    writer w = open_output(directory, "kernels.h");
    line(&w, "/* kernels.h: written by convgen, do not edit. */");
    line(&w, "#ifndef CONV2D_KERNELS_H");
    line(&w, "#define CONV2D_KERNELS_H");
    line(&w, "#include \"kernel.h\"");
    /* The table's assembly reaches them so, and is all that link-time optimization sees of their use. */
    line(&w, "#pragma GCC visibility push(hidden)");
    for (size_t i = 0; i < tile_set_count; i++) {
        emit_set(&w, &tile_sets[i], declare);
        if (tile_sets[i].family == FAMILY_K) {
            char nchw[SPEC_NAME_SIZE], nhwc[SPEC_NAME_SIZE], transpose[SPEC_NAME_SIZE];
            store_name(tile_sets[i].isa, "nchw", nchw, sizeof nchw);
            store_name(tile_sets[i].isa, "nhwc", nhwc, sizeof nhwc);
            transpose_name(tile_sets[i].isa, transpose, sizeof transpose);
            line(&w, "conv2d_store_fn %s, %s;", nchw, nhwc);
            line(&w, "conv2d_transpose_fn %s;", transpose);
        }
        if (tile_sets[i].family == FAMILY_W) {
            char deinterleave[SPEC_NAME_SIZE];
            deinterleave_name(tile_sets[i].isa, deinterleave, sizeof deinterleave);
            line(&w, "conv2d_deinterleave_fn %s;", deinterleave);
        }
    }
    for (size_t i = 0; i < activated_count; i++) {
        char name[SPEC_NAME_SIZE];
        activate_name(activated[i], name, sizeof name);
        if (activated[i]->lanes > 1) /* kernel.h has the scalar ones */
            line(&w, "conv2d_activate_fn %s;", name);
    }
    line(&w, "#pragma GCC visibility pop");
    line(&w, "#endif");
    close_output(&w, "kernels.h");
}

static void write_set(const char *directory, const tile_set *set)
{
    char file[64];
    snprintf(file, sizeof file, "kernels_%s_%s.c", families[set->family].file, set->isa->name);
    writer w = open_output(directory, file);
    line(&w, "#ifdef __x86_64__ /* elsewhere the table has the reference only */");
    emit_prelude(&w, set->isa, file, families[set->family].fma_bound);
    if (is_rows(set->family))
        emit_d_helpers(&w, set->isa);
    emit_set(&w, set, emit_tile);
    if (set->family == FAMILY_K)
        emit_stores(&w, set->isa);
    if (set->family == FAMILY_W)
        emit_deinterleave(&w, set->isa);
    line(&w, "#endif");
    close_output(&w, file);
}

static void write_activate(const char *directory, const isa_row *isa)
{
    char file[64];
    snprintf(file, sizeof file, "activate_%s.c", isa->name);
    writer w = open_output(directory, file);
    if (isa->lanes > 1)
        line(&w, "#ifdef __x86_64__");
    emit_activate(&w, isa, file);
    if (isa->lanes > 1)
        line(&w, "#endif");
    close_output(&w, file);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--kernel") == 0)
        return print_kernel(argv[2]);
    if (argc != 2 || argv[1][0] == '-') {
        fputs("usage: convgen DIRECTORY | convgen --kernel NAME\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < tile_set_count; i++)
        emit_set(NULL, &tile_sets[i], check_fits);
    write_header(argv[1]);
    for (size_t i = 0; i < tile_set_count; i++)
        write_set(argv[1], &tile_sets[i]);
    for (size_t i = 0; i < activated_count; i++)
        write_activate(argv[1], activated[i]);
    writer table = open_output(argv[1], "kernel_table.c");
    emit_table(&table);
    close_output(&table, "kernel_table.c");
    return EXIT_SUCCESS;
}
