/* SPDX-License-Identifier: MIT */
#include "plot.h"

#include <math.h>
#include <stdarg.h>

#include "markup.h"

const char plot_style[] =
    ":root{--surface:#fcfcfb;--raised:#ffffff;--ink:#16181d;--muted:#5c6370;--grid:#e4e5e8;--axis:#9aa0aa;"
    "--one:#2a6fd0;--two:#c4531b;--three:#11845b;--four:#7d4cc2;--bad:#c62828;--band:#2a6fd026;--quiet:#b9bec8}\n"
    "@media (prefers-color-scheme:dark){:root{--surface:#15171b;--raised:#1d2025;--ink:#eceef2;--muted:#a2a8b4;"
    "--grid:#2c3038;--axis:#6a717d;--one:#5b9df0;--two:#ec8350;--three:#3cb88a;--four:#ad86ea;--bad:#ff7b72;"
    "--band:#5b9df033;--quiet:#565d69}}\n"
    "svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink)}\n"
    "svg .small{font-size:11px}svg "
    ".halo{paint-order:stroke;stroke:var(--surface);stroke-width:3px;stroke-linejoin:round}svg "
    ".muted{fill:var(--muted)}svg .strong{font-weight:600}\n"
    "svg .surface{fill:var(--surface)}svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--axis)}\n"
    "svg .roof{stroke:var(--muted);stroke-width:1.5;fill:none}svg .peak{stroke:var(--ink);stroke-width:2;fill:none}\n"
    "svg .roof0{stroke-dasharray:none}svg .roof1{stroke-dasharray:9 3}svg .roof2{stroke-dasharray:3 3}"
    "svg .roof3{stroke-dasharray:9 3 2 3}\n"
    "svg .mark{stroke:var(--surface);stroke-width:1}svg .form0{fill:var(--one)}svg .form1{fill:var(--two)}"
    "svg .form2{fill:var(--three)}svg .form3{fill:var(--four)}\n"
    "svg .bar{fill:var(--one)}svg .quiet{fill:var(--quiet)}svg .wrong{fill:none;stroke:var(--bad);stroke-width:1.5}\n"
    "svg .band{fill:var(--band)}svg .range{stroke:var(--quiet);stroke-width:1}svg .middle{stroke:var(--two);"
    "stroke-width:1.5}svg .round{stroke:var(--axis);stroke-dasharray:2 3}\n"
    "svg .bad{fill:var(--bad);font-weight:600}\n";

double plot_place(const plot_axis *axis, double value)
{
    const double within = !(value > axis->low) ? axis->low : value < axis->high ? value : axis->high;
    const double share = axis->logarithmic ? log(within / axis->low) / log(axis->high / axis->low)
                                           : (within - axis->low) / (axis->high - axis->low);
    return axis->at_low + share * (axis->at_high - axis->at_low);
}

/* Multiples of 1, 2 or 5 times a power of ten. */
static size_t linear_ticks(const plot_axis *axis, size_t wanted, double *ticks, size_t most)
{
    const double rough = (axis->high - axis->low) / (double)wanted, power = pow(10, floor(log10(rough)));
    const double step = power * (rough < 1.5 * power ? 1 : rough < 3.5 * power ? 2 : rough < 7.5 * power ? 5 : 10);
    size_t count = 0;
    for (double i = ceil(axis->low / step - 1e-9); i * step <= axis->high * (1 + 1e-12) && count < most; i++)
        ticks[count++] = i * step + 0.0; /* and not -0 */
    return count;
}

/* Powers of the base, every so manyth; of ten also twice and five times that if there are few. */
static size_t logarithmic_ticks(const plot_axis *axis, size_t wanted, double *ticks, size_t most)
{
    const double base = axis->base, from = floor(log(axis->low) / log(base)), to = log(axis->high) / log(base);
    const double step = fmax(1, ceil((to - from) / (double)wanted));
    const bool fine = base == 10 && 3 * (to - from) <= 1.5 * (double)wanted;
    size_t count = 0;
    for (double power = step * floor(from / step); power <= to; power += step)
        for (int i = 0; i < (fine ? 3 : 1); i++) {
            const double value = pow(base, power) * (i == 0 ? 1 : i == 1 ? 2 : 5);
            if (value >= axis->low * (1 - 1e-9) && value <= axis->high * (1 + 1e-9) && count < most)
                ticks[count++] = value;
        }
    return count;
}

size_t plot_ticks(const plot_axis *axis, size_t wanted, double *ticks, size_t most)
{
    return axis->logarithmic ? logarithmic_ticks(axis, wanted, ticks, most) : linear_ticks(axis, wanted, ticks, most);
}

enum { MOST_TICKS = 32 };

/* Fractions of powers of two as such. */
static void label(FILE *file, const plot_axis *axis, const char *anchor, double x, double y, double value)
{
    if (axis->logarithmic && axis->base == 2 && value < 1)
        plot_text(file, "muted", anchor, x, y, "1/%g", 1 / value);
    else
        plot_text(file, "muted", anchor, x, y, "%g", value);
}

void plot_draw_x(FILE *file, const plot_axis *x, const plot_axis *y, size_t ticks, const char *title)
{
    double values[MOST_TICKS];
    const size_t count = plot_ticks(x, ticks, values, MOST_TICKS);
    for (size_t i = 0; i < count; i++) {
        const double at = plot_place(x, values[i]);
        plot_line(file, "grid", at, y->at_low, at, y->at_high);
        label(file, x, "middle", at, y->at_low + 17, values[i]);
    }
    plot_line(file, "axis", x->at_low, y->at_low, x->at_high, y->at_low);
    plot_text(file, "muted", "middle", (x->at_low + x->at_high) / 2, y->at_low + 37, "%s", title);
}

void plot_draw_y(FILE *file, const plot_axis *x, const plot_axis *y, size_t ticks, const char *title)
{
    double values[MOST_TICKS];
    const size_t count = plot_ticks(y, ticks, values, MOST_TICKS);
    for (size_t i = 0; i < count; i++) {
        const double at = plot_place(y, values[i]);
        plot_line(file, "grid", x->at_low, at, x->at_high, at);
        label(file, y, "end", x->at_low - 8, at + 4, values[i]);
    }
    plot_text(file, "muted", "start", x->at_low - 44, y->at_high - 10, "%s", title);
}

void plot_line(FILE *file, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(file, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

void plot_bar(FILE *file, const char *class, double x, double y, double width, double height)
{
    fprintf(file, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y,
            fmax(width, 0), fmax(height, 0));
}

void plot_text(FILE *file, const char *class, const char *anchor, double x, double y, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(file, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, anchor, x, y);
    markup_text(file, text);
    fputs("</text>\n", file);
}

void plot_mark(FILE *file, size_t form, double x, double y, double size)
{
    fprintf(file, "<path class=\"mark form%zu\" d=\"M%.1f %.1f", form, x, y);
    switch (form) {
    case 0: /* a disc */
        fprintf(file, "m%.2f 0a%.2f %.2f 0 1 0 %.2f 0a%.2f %.2f 0 1 0 %.2f 0z", -size, size, size, 2 * size, size, size,
                -2 * size);
        break;
    case 1: /* a square */
        fprintf(file, "m%.2f %.2fh%.2fv%.2fh%.2fz", -0.9 * size, -0.9 * size, 1.8 * size, 1.8 * size, -1.8 * size);
        break;
    case 2: /* a triangle */
        fprintf(file, "m0 %.2fl%.2f %.2fh%.2fz", -1.2 * size, 1.15 * size, 2 * size, -2.3 * size);
        break;
    default: /* a diamond */
        fprintf(file, "m0 %.2fl%.2f %.2fl%.2f %.2fl%.2f %.2fz", -1.3 * size, 1.3 * size, 1.3 * size, -1.3 * size,
                1.3 * size, -1.3 * size, -1.3 * size);
    }
    fputs("\"/>\n", file);
}
