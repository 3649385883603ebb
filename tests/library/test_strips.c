/* SPDX-License-Identifier: MIT */
/* Depthwise NCHW, AVX-512, whose sums roll down the rows of up to four vectors of columns side by side. */
#include <string.h>

#include "other_cpu.h"
#include "problem.h"
#include "support.h"

static const struct strips {
    const char *kernel;
    size_t height, width, stride_h, stride_w, widest; /* vectors of a strip */
} kernels[] = {
    {"conv2d_f32_nchw_kw3_s1__avx512_v1x4", 3, 3, 1, 1, 4},
    {"conv2d_f32_nchw_kw3_s2__avx512_v1x4", 3, 3, 2, 2, 4},
    {"conv2d_f32_nchw_kw5_s1__avx512_v1x4", 5, 5, 1, 1, 4},
    {"conv2d_f32_nchw_kw5_s2__avx512_v1x4", 5, 5, 2, 2, 4},
    {"conv2d_f32_nchw_kw7_s1__avx512_v1x3", 7, 7, 1, 1, 3},
    {"conv2d_f32_nchw_kw7_s2__avx512_v1x3", 7, 7, 2, 2, 3},
    {"conv2d_f32_nchw_kw3_s1x2__avx512_v1x4", 3, 3, 1, 2, 4},
    {"conv2d_f32_nchw_kw3_s2x1__avx512_v1x4", 3, 3, 2, 1, 4},
    {"conv2d_f32_nchw_kw5_s2x1__avx512_v1x4", 5, 5, 2, 1, 4},
    {"conv2d_f32_nchw_kh1_kw3_s1__avx512_v1x4", 1, 3, 1, 1, 4},
    {"conv2d_f32_nchw_kh1_kw5_s1__avx512_v1x4", 1, 5, 1, 1, 4},
    {"conv2d_f32_nchw_kh1_kw7_s1__avx512_v1x4", 1, 7, 1, 1, 4},
    {"conv2d_f32_nchw_kh1_kw11_s1__avx512_v1x4", 1, 11, 1, 1, 4},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0], LANES = 16 };

/* So many rows and columns, up to half a kernel of padding on each side, columns of input that no output needs, one or
 * several output channels a group, rows and planes that follow each other or do not. */
static conv_case strips_case(const struct strips *k, size_t i, size_t rows, size_t columns)
{
    const size_t high = k->height / 2 + 1, wide = k->width / 2 + 1, groups = 1 + i % 19,
                 multiplier = i % 5 == 4 ? 1 + i / 5 % 3 : 1;
    conv_case c = {.desc = simple_desc(groups, 0, 0, groups * multiplier, k->height, k->width),
                   .options = options_for(CONV2D_ISA_AVX512)};
    conv2d_desc *const d = &c.desc;
    d->groups = groups;
    d->stride_h = k->stride_h;
    d->stride_w = k->stride_w;
    d->pad_top = i % high;
    d->pad_bottom = i / 3 % high;
    d->pad_left = i / 2 % wide;
    d->pad_right = i / 7 % wide;
    d->in_height = input_for(rows, k->height, k->stride_h, 1, d->pad_top + d->pad_bottom);
    d->in_width = input_for(columns, k->width, k->stride_w, 1, d->pad_left + d->pad_right) + i % k->stride_w;
    if (i % 4 == 1)
        d->in_pitch[2] = d->in_width + i / 4 % 3;
    if (i % 6 == 2)
        d->out_pitch[2] = columns + 1 + i / 6 % 3;
    d->activation = (conv2d_activation)(i % 3 ? CONV2D_NONE : i / 3 % (CONV2D_MISH + 1));
    c.options.kernel = k->kernel;
    vary_case(&c, i);
    return c;
}

static size_t out_width(const conv2d_desc *d)
{
    return (d->in_width + d->pad_left + d->pad_right - d->kernel_width) / d->stride_w + 1;
}

/* Where in the input the middle tap of an output column is. */
static size_t middle_column(const conv2d_desc *d, size_t column)
{
    return column * d->stride_w + d->kernel_width / 2 - d->pad_left;
}

/* What refuses strips: the vector before a row's last would need a mask, or two columns beside a strip, which 5 taps
 * with stride 1 read at once, are not both inside; with strides that differ rows of a single vector. */
static bool is_refused(const conv2d_desc *d)
{
    const size_t last = (out_width(d) - 1) / LANES * LANES, inside = d->in_width - middle_column(d, last);
    const size_t reached = d->stride_w == 1 ? d->kernel_width / 2 : d->kernel_width / 2 - 1;
    const bool pairs = d->kernel_width == 5 && d->stride_w == 1;
    const bool parts_pair = d->pad_left == 1 || (inside == LANES + 1 && out_width(d) - last > LANES - 2);
    const bool narrow = d->stride_h != d->stride_w && last == 0;
    return d->in_width < d->kernel_width || narrow || (last && inside < reached) || (pairs && parts_pair);
}

static void check(const conv_case *c, size_t *count)
{
    const bool refused = is_refused(&c->desc);
    cr_assert_eq(try_case(c), refused ? CONV2D_KERNEL_MISMATCH : CONV2D_OK, "%s", describe_case(c));
    count[refused]++;
}

ParameterizedTestParameters(strips, any_rows_and_columns)
{
    static size_t indices[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    _Static_assert(sizeof indices / sizeof indices[0] == KERNELS, "an index for each");
    return cr_make_param_array(size_t, indices, KERNELS);
}

/* All widths of two strips, and some of more; rows enough for several tiles of them, which parts are cut into. */
ParameterizedTest(size_t *index, strips, any_rows_and_columns)
{
    require_isa(CONV2D_ISA_AVX512);
    const struct strips *const k = &kernels[*index];
    const struct {
        size_t cases, rows, row_step, least_columns, columns, column_step;
    } sizes[] = {{1200, 12, 7, 1, 2 * k->widest * LANES + 5, 37}, {60, 5, 1, 130, 400, 31}, {300, 71, 11, 8, 60, 13}};
    size_t count[2] = {0};
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
        for (size_t i = 0; i < sizes[n].cases; i++) {
            const conv_case c = strips_case(k, i, 1 + i * sizes[n].row_step % sizes[n].rows,
                                            sizes[n].least_columns + i * sizes[n].column_step % sizes[n].columns);
            check(&c, count);
        }
    const bool few = k->width == 5 && k->stride_w == 1;
    cr_assert(count[0] > (few ? 650 : 1200), "%zu cases", count[0]);
    cr_assert(count[1] > 0, "no case refused");
}

/* The kernel that is chosen, if it has strips, or "". */
static const char *chosen(const char *text, const cpu_facts *facts)
{
    problem p;
    scan_error error;
    conv2d_plan plan;
    const conv2d_options options = options_for(CONV2D_ISA_AVX512);
    cr_assert(problem_parse(text, &p, NULL, &error), "%s", text);
    other_cpu = facts;
    cr_assert_eq(conv2d_plan_init(&plan, &p.desc, &options), CONV2D_OK, "%s", text);
    other_cpu = NULL;
    return strstr(conv2d_kernel_name(&plan), "avx512_v1x") ? conv2d_kernel_name(&plan) : "";
}

/* Rows wider than a vector, where loads wait behind two FMAs a cycle and shuffles do not; not with a dilation, nor
 * where lanes along channels are as fast, nor where few columns of the last vector need masks for the one before, nor
 * of several strips a row from memory. */
Test(strips, only_where_it_pays)
{
    require_isa(CONV2D_ISA_AVX512);
    cpu_facts facts = real_cpu();
    facts.two_wide_fmas = true;
    facts.l1_bytes = 48 << 10;
    facts.l2_bytes = 1 << 20;
    cpu_facts one = facts, large = facts;
    one.two_wide_fmas = false;
    large.l2_bytes = 2 << 20;
    static const struct {
        const char *text, *kernel;
    } rows[] = {{"192x28x28 3x3 p1 g192", "conv2d_f32_nchw_kw3_s1__avx512_v1x4"},
                {"16x112x112 3x3 p1 g16", "conv2d_f32_nchw_kw3_s1__avx512_v1x4"},
                {"96x19x19 3x3 p1 g96", "conv2d_f32_nchw_kw3_s1__avx512_v1x4"},
                {"480x14x14 3x3 p1 g480", ""},
                {"960x7x7 3x3 p1 g960", ""},
                {"96x56x56 3x3 p2 d2 g96", ""},
                {"144x56x56 3x3 s2 p1 g144", "conv2d_f32_nchw_kw3_s2__avx512_v1x4"},
                {"240x28x28 3x3 s2 p1 g240", ""},
                {"120x28x28 5x5 p2 g120", "conv2d_f32_nchw_kw5_s1__avx512_v1x4"},
                {"120x33x33 5x5 p2 g120", ""},
                {"96x7x7 5x5 p2 g96", ""},
                {"72x56x56 5x5 s2 p2 g72", "conv2d_f32_nchw_kw5_s2__avx512_v1x4"},
                {"144x228x228 3x3 s2 p1 g144", ""},
                {"1024x64x64 3x3 s2 p1 g1024", "conv2d_f32_nchw_kw3_s2__avx512_v1x4"},
                {"96x56x56 7x7 p3 g96", "conv2d_f32_nchw_kw7_s1__avx512_v1x3"},
                {"384x14x14 7x7 p3 g384", ""},
                {"64x24x160 3x3 s2x1 p1 g64", "conv2d_f32_nchw_kw3_s2x1__avx512_v1x4"},
                {"128x12x160 3x3 s1x2 p1 g128", "conv2d_f32_nchw_kw3_s1x2__avx512_v1x4"},
                {"240x12x80 5x5 s2x1 p2 g240", "conv2d_f32_nchw_kw5_s2x1__avx512_v1x4"},
                {"64x112x112 7x7 s2 p3 g64", "conv2d_f32_nchw_kw7_s2__avx512_v1x3"},
                {"92x28x28 1x5 p0x2 g92", "conv2d_f32_nchw_kh1_kw5_s1__avx512_v1x4"},
                {"384x14x14 1x3 p0x1 g384", "conv2d_f32_nchw_kh1_kw3_s1__avx512_v1x4"},
                {"16x56x56 1x11 p0x5 g16", "conv2d_f32_nchw_kh1_kw11_s1__avx512_v1x4"},
                {"64x1x1000 1x5 p0x2 g64", ""},
                {"128x224x224 1x7 p0x3 g128", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const text = rows[i].text;
        cr_assert_str_eq(chosen(text, &facts), rows[i].kernel, "%s", text);
        cr_assert_str_empty(chosen(text, &one), "%s", text);
        cr_assert_str_empty(chosen(text, &large), "%s", text);
    }
}
