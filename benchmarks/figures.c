/* SPDX-License-Identifier: MIT */
#include "figures.h"

#include <math.h>
#include <string.h>

#include "file.h"
#include "markup.h"
#include "plot.h"

static const struct kind {
    const char *name;
    bool (*make)(figure *f);
    void (*draw)(FILE *file, const figure *f);
} kinds[FIGURE_KINDS] = {
    [FIGURE_ROOFLINE] = {"roofline", figure_make_roofline, figure_draw_roofline},
    [FIGURE_BOUND] = {"bound", figure_make_bound, figure_draw_bound},
    [FIGURE_RUNS] = {"runs", figure_make_runs, figure_draw_runs},
    [FIGURE_PEERS] = {"peers", figure_make_peers, figure_draw_peers},
};

bool figure_make(figure *f, const figure_source *source, figure_kind kind, size_t number)
{
    *f = (figure){.source = source, .kind = kind, .number = number};
    return kinds[kind].make(f);
}

void figure_draw(FILE *file, const figure *f, double y)
{
    const char *const name = kinds[f->kind].name;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s%zu\" role=\"img\" aria-labelledby=\"%s%zu-t %s%zu-d\" "
            "y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title id=\"%s%zu-t\">",
            name, f->number, name, f->number, name, f->number, y, f->width, f->height, f->width, f->height, name,
            f->number);
    markup_text(file, f->title);
    fprintf(file, "</title>\n<desc id=\"%s%zu-d\">", name, f->number);
    markup_text(file, f->description);
    fputs("</desc>\n", file);
    kinds[f->kind].draw(file, f);
    fputs("</svg>\n", file);
}

const char *figure_kind_name(figure_kind kind)
{
    return kinds[kind].name;
}

figure_kind figure_kind_named(const char *text)
{
    figure_kind kind = FIGURE_ROOFLINE;
    while (kind < FIGURE_KINDS &&
           (strncmp(text, kinds[kind].name, strlen(kinds[kind].name)) != 0 || text[strlen(kinds[kind].name)] != ':'))
        kind++;
    return kind;
}

typedef struct content {
    const figure_source *source;
    figure_kind kind;
} content;

enum { HEAD_HEIGHT = 30 };

/* A size first: the element that holds all others begins with it. */
static void add_figures(FILE *file, const void *context)
{
    const content *const c = context;
    double width = 0, height = 0;
    figure f;
    for (size_t i = 0; figure_make(&f, c->source, c->kind, i); i++) {
        width = fmax(width, f.width);
        height += f.height + HEAD_HEIGHT;
    }
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
            "<style>%s</style>\n<rect class=\"surface\" width=\"100%%\" height=\"100%%\"/>\n",
            width, height, width, height, plot_style);
    double y = 0;
    for (size_t i = 0; figure_make(&f, c->source, c->kind, i); i++) {
        plot_text(file, "strong", "start", 12, y + 20, "%s", f.title);
        figure_draw(file, &f, y + HEAD_HEIGHT);
        y += f.height + HEAD_HEIGHT;
    }
    fputs("</svg>\n", file);
}

bool figures_write_svg(const char *path, const figure_source *source, figure_kind kind)
{
    figure f;
    if (!figure_make(&f, source, kind, 0)) {
        fprintf(stderr, "convbench: %s is not written: nothing was measured for the plot \"%s\"\n", path,
                kinds[kind].name);
        return false;
    }
    return file_write(path, add_figures, &(content){.source = source, .kind = kind});
}
