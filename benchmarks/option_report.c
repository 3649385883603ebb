/* SPDX-License-Identifier: MIT */
/* What to report. */
#include "option_table.h"

static bool read_json(options *o, scan *s)
{
    return option_read_path(&o->json, s);
}

static bool read_html(options *o, scan *s)
{
    return option_read_path(&o->html, s);
}

static bool read_svg(options *o, scan *s)
{
    return option_read_path(&o->svg, s);
}

static bool read_peers(options *o, scan *s)
{
    o->peers = *s->at ? s->at : "all";
    return true;
}

static const option_row rows[] = {
    {"--peers", "[=LIST]", "compare with other libraries: WHO or WHO:MODE, joined by commas (default all)",
     .read = read_peers, .is_optional = true},
    {"--summary", NULL, "end with a summary also of few rows: distribution of %bound, the worst, each network",
     .flag = offsetof(options, summary), .flag_value = true},
    {"--json", "FILE", "write the results there too; - is standard output", .read = read_json},
    {"--html", "FILE", "write a page with plots and tables, which needs no other file and no network",
     .read = read_html},
    {"--svg", "[PLOT:]FILE", "write one plot: roofline (usual), bound, runs, or peers (usual with --peers)",
     .read = read_svg},
};

const option_group options_of_report = {"What to report", rows, sizeof rows / sizeof *rows};
