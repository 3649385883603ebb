/* SPDX-License-Identifier: MIT */
/*
 * Of a tile at a border of the input, the output columns that have a tap: all that lie inside are entered by one jump.
 * A branch for each of many columns is often not foreseen.
 */
#include "emit.h"

static void emit_label(writer *w, int column, bool entered)
{
    if (entered)
        line(w, "__attribute__((fallthrough));");
    w->depth--;
    line(w, "case %d:;", column);
    w->depth++;
}

/* From `first` on: those before it lie before the input. */
void emit_last_columns(writer *w, const spec *s, const column_code *code)
{
    const int last = s->tile.columns - 1;
    line(w, "const size_t outside = -(size_t)column, step = (size_t)column_step;");
    line(w, "const size_t first = step == 1 ? outside : (outside + step - 1) / step;");
    code->begin(w, s, "first");
    block_begin(w, "switch (first)");
    for (int p = 1; p <= last; p++) {
        if (p > 1)
            code->next(w, s, p);
        emit_label(w, p, p > 1);
        code->fmas(w, s, p);
    }
    block_end(w);
}

/* From `end`, which is the last inside, down to the first. */
void emit_first_columns(writer *w, const spec *s, const column_code *code)
{
    const int last = s->tile.columns - 1;
    line(w, "const size_t room = (size_t)((ptrdiff_t)in_width - 1 - column), step = (size_t)column_step;");
    line(w, "const size_t end = step == 1 ? room : room / step;");
    code->begin(w, s, "end");
    block_begin(w, "switch (end)");
    for (int p = last - 1; p >= 0; p--) {
        if (p + 1 < last)
            code->back(w, s, p);
        emit_label(w, p, p + 1 < last);
        code->fmas(w, s, p);
    }
    block_end(w);
}
