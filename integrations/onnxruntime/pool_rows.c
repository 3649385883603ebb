/* SPDX-License-Identifier: MIT */
#include "pool_rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <conv2d.h>

#include "range.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { LANES = 8, ROWS = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(int32_t))));

/* A NaN is the largest. */
static ALWAYS_INLINE void take_larger(lanes *best, const lanes *value)
{
    const mask take = (*value > *best) | (*value != *value);
    *best = (lanes)(((mask)*value & take) | ((mask)*best & ~take));
}

/* to[0 ..] becomes the largest of `count` values each, that are `pitch` apart. */
static ALWAYS_INLINE void pool_vector(const float *values, size_t pitch, size_t count, float *to)
{
    lanes best, value;
    memcpy(&best, values, sizeof best);
    for (size_t i = 1; i < count; i++) {
        memcpy(&value, values + i * pitch, sizeof value);
        take_larger(&best, &value);
    }
    memcpy(to, &best, sizeof best);
}

static ALWAYS_INLINE void pool_scalars(const float *values, size_t stride, size_t pitch, size_t count, float *to,
                                       size_t width)
{
    for (size_t x = 0; x < width; x++) {
        float best = values[x * stride];
        for (size_t i = 1; i < count; i++) {
            const float value = values[x * stride + i * pitch];
            best = value > best || value != value ? value : best;
        }
        to[x] = best;
    }
}

/* The last vector of a row overlaps the one before it. */
static ALWAYS_INLINE void pool_row(const float *values, size_t pitch, size_t count, float *to, size_t width)
{
    if (width < LANES) {
        pool_scalars(values, 1, pitch, count, to, width);
        return;
    }
    for (size_t x = 0; x + LANES <= width; x += LANES)
        pool_vector(values + x, pitch, count, to + x);
    pool_vector(values + width - LANES, pitch, count, to + width - LANES);
}

static ALWAYS_INLINE void pool_apart(const float *values, size_t pitch, size_t count, float *to, size_t width)
{
    if (count == 3)
        pool_row(values, pitch, 3, to, width);
    else if (count == 2)
        pool_row(values, pitch, 2, to, width);
    else
        pool_row(values, pitch, count, to, width);
}

static ALWAYS_INLINE void load_pairs(const float *values, lanes *first, lanes *second)
{
    lanes low, high;
    memcpy(&low, values, sizeof low);
    memcpy(&high, values + LANES, sizeof high);
    *first = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
    *second = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
}

/* to[0 ..] becomes the largest of `count` values each, of which the first are 2 apart. */
static ALWAYS_INLINE void pool_pairs(const float *values, size_t count, float *to)
{
    lanes best, first, second;
    load_pairs(values, &best, &second);
    if (count > 1)
        take_larger(&best, &second);
    for (size_t i = 2; i < count; i += 2) {
        load_pairs(values + i, &first, &second);
        take_larger(&best, &first);
        if (i + 1 < count)
            take_larger(&best, &second);
    }
    memcpy(to, &best, sizeof best);
}

/* As pool_row; reads one value more than the windows have. */
static ALWAYS_INLINE void pool_every_second(const float *values, size_t count, float *to, size_t width)
{
    if (width < LANES) {
        pool_scalars(values, 2, 1, count, to, width);
        return;
    }
    for (size_t x = 0; x + LANES <= width; x += LANES)
        pool_pairs(values + 2 * x, count, to + x);
    pool_pairs(values + 2 * (width - LANES), count, to + width - LANES);
}

static ALWAYS_INLINE void pick(const float *restrict columns, size_t stride, float *restrict out, size_t width)
{
    for (size_t x = 0; x < width; x++)
        out[x] = columns[x * stride];
}

/* The maxima over the rows of an output row's windows. */
static ALWAYS_INLINE void pool_down(const pooling *p, size_t row, float *columns)
{
    const window *w = p->window;
    const size_t height = p->in_size[0], width = p->in_size[1];
    const size_t plane = row / p->out_size[0], y = row % p->out_size[0] * w->stride[0];
    const size_t first = y > w->begin[0] ? y - w->begin[0] : 0, beyond = y + w->kernel[0] - w->begin[0];
    const size_t last = beyond < height ? beyond : height;
    pool_apart(p->in + (plane * height + first) * width, width, last - first, columns + w->begin[1], width);
}

/* The maxima of these; of a stride above 2 those of the windows between, too: in whole vectors that is faster. */
static ALWAYS_INLINE void pool_across(const pooling *p, const float *columns, float *pooled, float *out)
{
    const size_t stride = p->window->stride[1], kernel = p->window->kernel[1], width = p->out_size[1];
    if (stride == 2 && kernel == 3)
        pool_every_second(columns, 3, out, width);
    else if (stride == 2)
        pool_every_second(columns, kernel, out, width);
    else
        pool_apart(columns, 1, kernel, stride == 1 ? out : pooled, (width - 1) * stride + 1);
    if (stride > 2)
        pick(pooled, stride, out, width);
}

/* Several rows down before the first one goes across: a load that straddles two stores waits until both are done. */
static ALWAYS_INLINE void pool_rows(const pooling *p, float *columns, size_t begin, size_t end)
{
    const size_t pitch = p->columns_pitch;
    for (size_t x = 0; x < ROWS * pitch; x++)
        columns[x] = -INFINITY;
    for (size_t row = begin; row < end; row += ROWS) {
        const size_t count = end - row < ROWS ? end - row : ROWS;
        for (size_t i = 0; i < count; i++)
            pool_down(p, row + i, columns + i * pitch);
        for (size_t i = 0; i < count; i++)
            pool_across(p, columns + i * pitch, columns + ROWS * pitch, p->out + (row + i) * p->out_size[1]);
    }
}

static void pool_baseline(const pooling *p, float *columns, size_t begin, size_t end)
{
    pool_rows(p, columns, begin, end);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void pool_avx2(const pooling *p, float *columns, size_t begin, size_t end)
{
    pool_rows(p, columns, begin, end);
}
#else
static void pool_avx2(const pooling *p, float *columns, size_t begin, size_t end)
{
    pool_baseline(p, columns, begin, end);
}
#endif

void pooling_part(void *data, size_t part, size_t parts)
{
    const pooling *p = data;
    const range own = range_of(p->planes * p->out_size[0], part, parts);
    float *columns = p->columns + (ROWS + 1) * part * p->columns_pitch;
    (conv2d_cpu_isa() >= CONV2D_ISA_AVX2 ? pool_avx2 : pool_baseline)(p, columns, own.begin, own.end);
}

size_t pooling_scratch(pooling *p, size_t parts)
{
    enum { LINE = 16 };
    const size_t reached = (p->out_size[1] - 1) * p->window->stride[1] + p->window->kernel[1];
    const size_t padded = p->in_size[1] + p->window->begin[1];
    p->columns_pitch = ((reached > padded ? reached : padded) + LINE) / LINE * LINE; /* at least one more */
    return (ROWS + 1) * parts * p->columns_pitch;
}
