/* SPDX-License-Identifier: MIT */
/*
 * Where family K's tiles find the inputs of their output columns.  With a stride of their own they are numbers behind
 * the tap's pointer; with any stride they are so many pitches behind a pointer, which moves on where x86 can address no
 * more of them.
 */
#include "emit_k.h"

bool k_any_stride_avx2(const spec *s)
{
    return !s->taps.stride && !s->isa->mask_registers;
}

/*
 * AVX2 reaches six columns, the multiples of three registers: a core that two threads share counts instructions (Zen 3,
 * NHWC 3x3, 69 for 36 FMAs instead of 81; docs/progress.md).  AVX-512's tiles have two to four FMAs for each column.
 */
static int columns_in_reach(const spec *s)
{
    return s->isa->mask_registers ? 4 : 6;
}

/* Tiles within reach need no pointer but the tap's. */
static bool visits_columns(const spec *s)
{
    return s->isa->mask_registers || s->tile.columns > columns_in_reach(s);
}

void emit_k_pitches(writer *w, const spec *s)
{
    if (s->taps.stride || s->tile.columns == 1)
        return;
    if (s->isa->mask_registers) {
        line(w, "const ptrdiff_t pixel_pitch = tile->pixel_pitch;");
        if (s->tile.columns > 3)
            line(w, "const ptrdiff_t pixel_pitch3 = 3 * pixel_pitch;");
        return;
    }
    line(w, "ptrdiff_t pitch = tile->pixel_pitch * (ptrdiff_t)sizeof(float);");
    if (s->tile.columns > 3)
        line(w, "ptrdiff_t pitch3 = 3 * pitch;");
    if (s->tile.columns > 5)
        line(w, "ptrdiff_t pitch5 = 5 * pitch;");
}

/* The pointer is opaque, or clang 14 loads many columns ahead and spills (2x14: 28 times a tap). */
static void emit_move(writer *w, const spec *s, char sign)
{
    if (s->isa->mask_registers)
        line(w, "pixels %c= %d * pixel_pitch;", sign, columns_in_reach(s));
    else
        line(w, "pixels = AT(pixels, %c2 * pitch3);", sign);
    line(w, "OPAQUE(pixels);");
}

void emit_k_begin_at(writer *w, const spec *s, const char *column)
{
    const int reach = columns_in_reach(s);
    if (s->taps.stride)
        return;
    if (s->isa->mask_registers)
        line(w, "const float *pixels = taps + (ptrdiff_t)(%s / %d * %d) * pixel_pitch;", column, reach, reach);
    else
        line(w, "const float *pixels = AT(taps, (ptrdiff_t)(%s / %d * %d) * pitch);", column, reach, reach);
}

void emit_k_step(writer *w, const spec *s, int pixel)
{
    if (s->taps.stride || !visits_columns(s))
        return;
    if (pixel == 0)
        line(w, "const float *pixels = taps;");
    else if (pixel % columns_in_reach(s) == 0)
        emit_move(w, s, '+');
}

void emit_k_step_back(writer *w, const spec *s, int pixel)
{
    const int reach = columns_in_reach(s);
    if (pixel % reach == reach - 1 && !s->taps.stride)
        emit_move(w, s, '-');
}

/* Opaque again for each other column, and so is the pitch: gcc 12 would add it to the address before, in an instruction
 * of its own, instead of addressing a multiple of it. */
static void emit_pixel_avx2(writer *w, const spec *s, int tap, int pixel)
{
    static const char *const offsets[] = {"0", "pitch", "2 * pitch", "pitch3", "4 * pitch", "pitch5"};
    const char *base = visits_columns(s) ? "pixels" : "taps";
    const int place = pixel % columns_in_reach(s);
    char address[48];
    snprintf(address, sizeof address, "*AT(%s, %s)", base, offsets[place]);
    if (place == 1 && !k_is_left_alone(s))
        line(w, "OPAQUE(pitch);");
    else if (place % 2 == 0 && place > 0 && !k_is_left_alone(s))
        line(w, "OPAQUE(%s);", base);
    emit_k_fmas(w, s, tap, pixel, address);
}

const char *k_pixel_offset(const spec *s, int pixel)
{
    static const char *const offsets[] = {"0", "pixel_pitch", "2 * pixel_pitch", "pixel_pitch3"};
    return offsets[pixel % columns_in_reach(s)];
}

void emit_k_pixel(writer *w, const spec *s, int tap, int pixel)
{
    char address[48];
    if (k_any_stride_avx2(s)) {
        emit_pixel_avx2(w, s, tap, pixel);
        return;
    }
    if (s->taps.stride)
        snprintf(address, sizeof address, "taps[%d]", pixel * s->taps.stride + tap);
    else
        snprintf(address, sizeof address, "pixels[%s]", k_pixel_offset(s, pixel));
    emit_k_fmas(w, s, tap, pixel, address);
}

void emit_k_pixels(writer *w, const spec *s)
{
    for (int p = 0; p < s->tile.columns; p++) {
        emit_k_step(w, s, p);
        emit_k_pixel(w, s, 0, p);
    }
}
