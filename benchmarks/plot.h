/* SPDX-License-Identifier: MIT */
/* The parts that plots in SVG are made of; colours and lines are classes of plot_style. */
#ifndef CONVBENCH_PLOT_H
#define CONVBENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* From values to places along one direction, in pixels. */
typedef struct plot_axis {
    double low, high;       /* values, low < high; above 0 if logarithmic */
    double at_low, at_high; /* their places */
    bool logarithmic;
    double base; /* of a logarithmic one: 2 for ticks at powers of 2, else 10 */
} plot_axis;

/* Where a value is; what lies outside is moved to the end. */
double plot_place(const plot_axis *axis, double value);

/* Even and readable values for an axis, at most `most` and about `wanted`; returns their number. */
size_t plot_ticks(const plot_axis *axis, size_t wanted, double *ticks, size_t most);

/* Grid lines across the other axis, with values and a title outside of it. */
void plot_draw_x(FILE *file, const plot_axis *x, const plot_axis *y, size_t ticks, const char *title);
void plot_draw_y(FILE *file, const plot_axis *x, const plot_axis *y, size_t ticks, const char *title);

void plot_line(FILE *file, const char *class, double x1, double y1, double x2, double y2);
void plot_bar(FILE *file, const char *class, double x, double y, double width, double height);
/* anchor: start, middle or end. */
void plot_text(FILE *file, const char *class, const char *anchor, double x, double y, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* One of a few forms that are told apart without colour. */
enum { PLOT_FORMS = 4 };
void plot_mark(FILE *file, size_t form, double x, double y, double size);

/* The rules of all classes, for light and dark, to stand in a style element. */
extern const char plot_style[];

#endif
