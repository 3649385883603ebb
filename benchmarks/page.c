/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <math.h>
#include <string.h>

#include "file.h"
#include "machine.h"
#include "markup.h"
#include "page_style.h"
#include "plot.h"

void page_open_section(FILE *file, const char *id, const char *title)
{
    fprintf(file, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id, id, id);
    markup_text(file, title);
    fputs("</h2>\n", file);
}

void page_close_section(FILE *file)
{
    fputs("</section>\n", file);
}

size_t page_add_figures(FILE *file, const figure_source *source, figure_kind kind)
{
    figure f;
    size_t count = 0;
    while (figure_make(&f, source, kind, count)) {
        fputs("<figure>\n<figcaption><b>", file);
        markup_text(file, f.title);
        fputs(".</b> ", file);
        markup_text(file, f.description);
        fputs("</figcaption>\n", file);
        figure_draw(file, &f, 0);
        fputs("</figure>\n", file);
        count++;
    }
    return count;
}

void page_add_fact(FILE *file, const char *class, const char *value, const char *what)
{
    fprintf(file, "<li class=\"%s\"><b>", class);
    markup_text(file, value);
    fputs("</b> <span>", file);
    markup_text(file, what);
    fputs("</span></li>\n", file);
}

void page_open_table(FILE *file, const char *caption, const char *const *titles)
{
    fputs("<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"", file);
    markup_text(file, caption);
    fputs("\">\n<table>\n<caption>", file);
    markup_text(file, caption);
    fputs("</caption>\n<thead><tr>", file);
    for (; *titles; titles++) {
        const bool left = **titles == '<';
        fprintf(file, "<th scope=\"col\"%s>", left ? " class=\"left\"" : "");
        markup_text(file, *titles + left);
        fputs("</th>", file);
    }
    fputs("</tr></thead>\n<tbody>\n", file);
}

void page_close_table(FILE *file)
{
    fputs("</tbody>\n</table>\n</div>\n", file);
}

void page_open_row(FILE *file, const measurement *m, size_t number)
{
    fputs("<tr>", file);
    page_add_number(file, "%.0f", (double)number);
    page_add_text(file, m->problem);
    page_add_text(file, m->isa);
    page_add_number(file, "%.0f", (double)m->threads);
}

void page_add_text(FILE *file, const char *text)
{
    fputs("<td class=\"left\">", file);
    markup_text(file, text);
    fputs("</td>", file);
}

static void add_cell(FILE *file, const char *text)
{
    fputs("<td>", file);
    markup_text(file, text);
    fputs("</td>", file);
}

void page_add_number(FILE *file, const char *format, double value)
{
    char text[CELL_SIZE] = "-";
    if (isfinite(value))
        snprintf(text, sizeof text, format, value);
    add_cell(file, text);
}

void page_add_seconds(FILE *file, double seconds)
{
    char text[CELL_SIZE];
    format_seconds(text, seconds);
    add_cell(file, text);
}

void page_add_share(FILE *file, double percent)
{
    fprintf(file, "<td class=\"share\"><i aria-hidden=\"true\"><u style=\"width:%.1f%%\"></u></i>%.1f</td>",
            fmin(fmax(percent, 0), 100), percent);
}

static void add_term(FILE *file, const char *term, const char *value)
{
    fputs("<dt>", file);
    markup_text(file, term);
    fputs("</dt><dd>", file);
    markup_text(file, value);
    fputs("</dd>\n", file);
}

static void add_limits(FILE *file, const report *r)
{
    static const char *const titles[] = {"threads", "peak GFLOP/s", "L1 read",      "L1 write",    "L1 copy",
                                         "L2 read", "L2 write",     "L2 copy",      "L3 read",     "L3 write",
                                         "L3 copy", "memory read",  "memory write", "memory copy", NULL};
    page_open_table(file, "What the machine could do in this run: FMA peak in GFLOP/s, speeds in GB/s", titles);
    for (size_t i = 0; i < r->machine_count; i++) {
        const limits *const l = &r->machine[i];
        fputs("<tr>", file);
        page_add_number(file, "%.0f", (double)l->threads);
        page_add_number(file, "%.1f", l->peak_gflops);
        for (size_t level = 0; level < MEMORY_LEVELS; level++)
            for (size_t traffic = 0; traffic < MEMORY_TRAFFICS; traffic++)
                page_add_number(file, "%.1f", l->levels[level].bandwidth[traffic] * 1e-9);
        fputs("</tr>\n", file);
    }
    page_close_table(file);
}

static void add_machine(FILE *file, const report *r)
{
    char cpu[MACHINE_NAME_SIZE], system[MACHINE_SYSTEM_SIZE], text[200];
    machine_cpu_name(cpu);
    machine_system(system);
    page_open_section(file, "machine", "Machine and build");
    fputs("<dl>\n", file);
    add_term(file, "CPU", cpu);
    snprintf(text, sizeof text, "%s at best; %zu CPU%s%s", conv2d_isa_name(conv2d_cpu_isa()), machine_cpus(),
             machine_cpus() == 1 ? "" : "s",
             machine_find_cpu().is_virtual ? " of a virtual machine: neighbours share it" : "");
    add_term(file, "Instruction sets", text);
    snprintf(text, sizeof text, "L1 %zu KiB, L2 %zu KiB, L3 %zu KiB; memory %.1f GiB", machine_cache_bytes(1) >> 10,
             machine_cache_bytes(2) >> 10, machine_cache_bytes(3) >> 10, machine_memory_bytes() / (1 << 30));
    add_term(file, "Caches", text);
    add_term(file, "System", system);
    snprintf(text, sizeof text, "libconv2d %s; convbench built by %s", conv2d_version(), machine_compiler());
    add_term(file, "Build", text);
    add_term(file, "Peak", peak_method());
    add_term(file, "Measured", r->date);
    fputs("</dl>\n", file);
    if (r->machine_count)
        add_limits(file, r);
    page_close_section(file);
}

typedef struct content {
    const figure_source *source;
    const peer_list *peers;
} content;

/* A policy that forbids every request, so that "no network" is no mere promise. */
static void add_head(FILE *file, const char *cpu)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"convbench\">\n<title>",
        file);
    markup_print(file, "Convolutions on %s", cpu);
    fprintf(file, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", plot_style, page_style);
}

static void add_page(FILE *file, const void *context)
{
    const content *const c = context;
    const report *const r = c->source->report;
    char cpu[MACHINE_NAME_SIZE];
    machine_cpu_name(cpu);
    add_head(file, cpu);
    fputs("<header>\n<h1>", file);
    markup_print(file, "Convolutions on %s", cpu);
    fputs("</h1>\n<p class=\"muted\">", file);
    markup_print(file, "convbench with libconv2d %s, %s", conv2d_version(), r->date);
    fputs("</p>\n</header>\n<main>\n", file);
    if (c->peers)
        page_add_peers(file, c->source, c->peers);
    else
        page_add_results(file, c->source);
    add_machine(file, r);
    fputs("</main>\n</body>\n</html>\n", file);
}

bool page_write(const char *path, const figure_source *source, const peer_list *peers)
{
    return file_write(path, add_page, &(content){.source = source, .peers = peers});
}
