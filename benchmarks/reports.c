/* SPDX-License-Identifier: MIT */
#include "reports.h"

#include <string.h>

#include "file.h"
#include "page.h"

/* "PLOT:FILE", or a file for the usual plot. */
static const char *svg_path(const options *asked)
{
    const figure_kind kind = figure_kind_named(asked->svg);
    return asked->svg + (kind < FIGURE_KINDS ? strlen(figure_kind_name(kind)) + 1 : 0);
}

static figure_kind svg_kind(const options *asked)
{
    const figure_kind kind = figure_kind_named(asked->svg);
    return kind < FIGURE_KINDS ? kind : asked->peers ? FIGURE_PEERS : FIGURE_ROOFLINE;
}

enum { FILES = 3 };

/* NULL where none was asked for. */
static void find_paths(const options *asked, const char *paths[FILES])
{
    paths[0] = asked->json;
    paths[1] = asked->html;
    paths[2] = asked->svg ? svg_path(asked) : NULL;
}

bool reports_can_write(const options *asked)
{
    const char *paths[FILES];
    find_paths(asked, paths);
    for (int i = 0; i < FILES; i++)
        if (paths[i] && !file_can_write(paths[i]))
            return false;
    return true;
}

bool reports_take_output(const options *asked)
{
    const char *paths[FILES];
    find_paths(asked, paths);
    for (int i = 0; i < FILES; i++)
        if (paths[i] && strcmp(paths[i], "-") == 0)
            return true;
    return false;
}

bool reports_write(const options *asked, const figure_source *source, const peer_list *peers)
{
    bool good = true;
    if (asked->json)
        good = peers ? peer_json_write(asked->json, source->report, peers, source->peers)
                     : json_write(asked->json, source->report, source->results);
    if (asked->html)
        good = page_write(asked->html, source, peers) && good;
    if (asked->svg)
        good = figures_write_svg(svg_path(asked), source, svg_kind(asked)) && good;
    return good;
}
