/* SPDX-License-Identifier: MIT */
/* The rules of a page besides those of its plots. */
#ifndef CONVBENCH_PAGE_STYLE_H
#define CONVBENCH_PAGE_STYLE_H

extern const char page_style[];

#endif
