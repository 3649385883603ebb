/* SPDX-License-Identifier: MIT */
/*
 * Of a tile at a border of the input, the output columns that have a tap: all that lie inside are entered by one jump.
 * A branch for each of many columns is often not foreseen.
 */
#include "emit.h"

/* The columns from `first` to `last`, forwards or backwards; the switch enters at the column named `entry`. */
static void emit_columns(writer *w, const spec *s, const column_code *code, const char *entry, int first, int last)
{
    const int step = first < last ? 1 : -1;
    code->begin(w, s, entry);
    block_begin(w, "switch (%s)", entry);
    for (int p = first; p != last + step; p += step) {
        if (p != first) {
            step > 0 ? code->next(w, s, p) : code->back(w, s, p);
            line(w, "__attribute__((fallthrough));");
        }
        w->depth--;
        line(w, "case %d:;", p);
        w->depth++;
        code->fmas(w, s, p);
    }
    block_end(w);
}

/* From `first` on: those before it lie before the input. */
void emit_last_columns(writer *w, const spec *s, const column_code *code)
{
    line(w, "const size_t outside = -(size_t)column, step = (size_t)column_step;");
    line(w, "const size_t first = step == 1 ? outside : (outside + step - 1) / step;");
    emit_columns(w, s, code, "first", 1, s->tile.columns - 1);
}

/* From `end`, which is the last inside, down to the first. */
void emit_first_columns(writer *w, const spec *s, const column_code *code)
{
    line(w, "const size_t room = (size_t)((ptrdiff_t)in_width - 1 - column), step = (size_t)column_step;");
    line(w, "const size_t end = step == 1 ? room : room / step;");
    emit_columns(w, s, code, "end", s->tile.columns - 2, 0);
}
