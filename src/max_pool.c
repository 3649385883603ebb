/* SPDX-License-Identifier: MIT */
/* Max-pooling of 2x2 windows, stride 2.  A NaN in a window makes its output a NaN, in lanes as in single floats. */
#include "chain.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static float larger(float y, float x)
{
    const float most = x > y ? x : y;
    return x != x ? x : most;
}

#ifdef __x86_64__
/* MAXPS gives the second operand where either is NaN, or where both are zeros. */
static __m128 larger4(__m128 y, __m128 x)
{
    const __m128 nan = _mm_and_ps(_mm_cmpunord_ps(x, x), x);
    return _mm_or_ps(_mm_max_ps(x, y), nan);
}
#endif

/* Two rows of pixels' channels. */
static void pool_channels(const float *above, const float *below, ptrdiff_t column, size_t channels, float *out)
{
    size_t i = 0;
#ifdef __x86_64__
    for (; i + 4 <= channels; i += 4) {
        const __m128 top = larger4(_mm_loadu_ps(above + i), _mm_loadu_ps(above + column + i));
        _mm_storeu_ps(out + i, larger4(larger4(top, _mm_loadu_ps(below + i)), _mm_loadu_ps(below + column + i)));
    }
#endif
    for (; i < channels; i++)
        out[i] = larger(larger(larger(above[i], above[column + (ptrdiff_t)i]), below[i]), below[column + (ptrdiff_t)i]);
}

#ifdef __x86_64__
static __m128 pick(__m128 a, __m128 b, int odd)
{
    return odd ? _mm_shuffle_ps(a, b, 0xdd) : _mm_shuffle_ps(a, b, 0x88);
}
#endif

/* Two rows of one channel's columns. */
static void pool_columns(const float *above, const float *below, size_t columns, float *out)
{
    size_t i = 0;
#ifdef __x86_64__
    for (; i + 4 <= columns; i += 4) {
        const __m128 a = _mm_loadu_ps(above + 2 * i), b = _mm_loadu_ps(above + 2 * i + 4);
        const __m128 c = _mm_loadu_ps(below + 2 * i), d = _mm_loadu_ps(below + 2 * i + 4);
        const __m128 top = larger4(pick(a, b, 0), pick(a, b, 1));
        _mm_storeu_ps(out + i, larger4(larger4(top, pick(c, d, 0)), pick(c, d, 1)));
    }
#endif
    for (; i < columns; i++)
        out[i] = larger(larger(larger(above[2 * i], above[2 * i + 1]), below[2 * i]), below[2 * i + 1]);
}

void conv2d_max_pool(const problem *p, const float *in, float *out)
{
    for (size_t y = 0; y < p->out_height; y++) {
        const float *above = in + (ptrdiff_t)(2 * y) * p->in.row, *below = above + p->in.row;
        float *row = out + (ptrdiff_t)y * p->out.row;
        if (p->in.channel == 1) {
            for (size_t x = 0; x < p->out_width; x++)
                pool_channels(above + (ptrdiff_t)(2 * x) * p->in.column, below + (ptrdiff_t)(2 * x) * p->in.column,
                              p->in.column, p->groups, row + (ptrdiff_t)x * p->out.column);
            continue;
        }
        for (size_t channel = 0; channel < p->groups; channel++)
            pool_columns(above + (ptrdiff_t)channel * p->in.channel, below + (ptrdiff_t)channel * p->in.channel,
                         p->out_width, row + (ptrdiff_t)channel * p->out.channel);
    }
}
