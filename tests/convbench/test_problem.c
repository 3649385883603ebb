/* SPDX-License-Identifier: MIT */
/* The grammar of problems (benchmarks/problem.h): what it reads, what it prints, what it refuses and where. */
#include <math.h>
#include <string.h>

#include "problem.h"
#include "support.h"

static problem parsed(const char *text)
{
    problem p;
    scan_error error = {0};
    cr_assert(problem_parse(text, &p, NULL, &error), "%s: character %zu: %s", text, error.offset, error.message);
    return p;
}

static const char *canonical(const char *text)
{
    static char formatted[PROBLEM_TEXT_SIZE];
    const problem p = parsed(text);
    cr_assert_lt(problem_format(&p, formatted, sizeof formatted), sizeof formatted, "%s", text);
    return formatted;
}

/* A text, and the canonical form of the problem it names. */
static const char *const forms[][2] = {
    {"16x512x512 3x3", "16x512x512 16x3x3"},
    {"16x16x512x512 32x3x3 s2 p1 d1 g1", "16x16x512x512 32x3x3 s2 p1"},
    {"1x3x8x9 4x1x5", "3x8x9 4x1x5"},
    {"  3x8x9\t4x3x3  p1 ", "3x8x9 4x3x3 p1"},
    {"3x8x9 4x3x3 s2x1 d1x2 p0x1", "3x8x9 4x3x3 s2x1 p0x1 d1x2"},
    {"3x8x9 4x3x3 p1,1,2,2", "3x8x9 4x3x3 p1x2"},
    {"3x8x9 4x3x3 p0,1,2,3", "3x8x9 4x3x3 p0,1,2,3"},
    {"4x8x9 3x3 g2 k6 n5", "5x4x8x9 6x3x3 g2"},
    {"3x8x9 3x3 b relu", "3x8x9 3x3x3 b relu"},
    {"3x8x9 3x3 relu b", "3x8x9 3x3x3 b relu"},
    {"3x8x9 3x3 clamp:-1.5:6", "3x8x9 3x3x3 clamp:-1.5:6"},
    {"3x8x9 3x3 clamp:-inf:0.1", "3x8x9 3x3x3 clamp:-inf:0.1"},
    {"3x8x9 3x3 leaky:0.1", "3x8x9 3x3x3 leaky:0.1"},
    {"3x8x9 3x3 leaky:1e-30", "3x8x9 3x3x3 leaky:1e-30"},
    {"3x8x9 3x3 hswish s1", "3x8x9 3x3x3 hswish"},
    {"3x8x9 3x3 hwio hsigmoid", "3x8x9 3x3x3 hsigmoid hwio"},
    {"3x8x9 3x3 sigmoid", "3x8x9 3x3x3 sigmoid"},
    {"3x8x9 3x3 s2 silu g3", "3x8x9 3x3x3 s2 g3 silu"},
    {"3x8x9 3x3 tanh n2", "2x3x8x9 3x3x3 tanh"},
    {"3x8x9 3x3 g3 gelu", "3x8x9 3x3x3 g3 gelu"},
    {"mb1ic64ih56oc256oh56kh1ph0 mish", "64x56x56 256x1x1 mish"},
    {"3x8x9 3x3 nhwc relu b x12", "3x8x9 3x3x3 b relu nhwc x12"},
    {"3x8x9 3x3 nchw oihw x1", "3x8x9 3x3x3"},
    {"3x8x9 3x3 hwio nchw-nhwc", "3x8x9 3x3x3 nchw-nhwc hwio"},
    {"3x8x9 3x3 nhwc-nchw ohwi n2", "2x3x8x9 3x3x3 nhwc-nchw ohwi"},
    {"3x8x9 3x3 relu res b", "3x8x9 3x3x3 b res relu"},
    {"3x8x9 3x3 inplace nhwc", "3x8x9 3x3x3 inplace nhwc"},
    {"mb1ic64ih56oc256oh56kh1ph0 nhwc x3 res", "64x56x56 256x1x1 res nhwc x3"},
    {"mb1ic64ih56oc256oh56kh1ph0", "64x56x56 256x1x1"},
    {"ic64ih56oc64oh56kh3ph1", "2x64x56x56 64x3x3 p1"},
    {"mb1ic3ih224oc64oh112kh7sh2ph3n\"resnet: conv1\"", "3x224x224 64x7x7 s2 p3"},
    {"mb1_ic3_oc4_ih8oh6kh3ph0_iw9ow7kw3pw0", "3x8x9 4x3x3"},
    {"g4mb1ic8oc8ih9kh3dh1ph0", "8x9x9 8x3x3 d2 g4"},
    {"onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_training,src_f32::blocked:acdb:f0,,alg:x,"
     "mb1_ic3oc16_ih20oh10kh3sh2dh0ph1_iw20ow10kw3sw2dw0pw1,0.25",
     "3x20x20 16x3x3 s2 p1"},
};

Test(problem, forms)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        cr_expect_str_eq(canonical(forms[i][0]), forms[i][1], "%s: %s, expected %s", forms[i][0],
                         canonical(forms[i][0]), forms[i][1]);
}

static bool same_problem(const problem *a, const problem *b)
{
    const conv2d_desc *d = &a->desc, *e = &b->desc;
    return d->batch == e->batch && d->in_channels == e->in_channels && d->in_height == e->in_height &&
           d->in_width == e->in_width && d->out_channels == e->out_channels && d->kernel_height == e->kernel_height &&
           d->kernel_width == e->kernel_width && d->stride_h == e->stride_h && d->stride_w == e->stride_w &&
           d->dilation_h == e->dilation_h && d->dilation_w == e->dilation_w && d->groups == e->groups &&
           d->pad_top == e->pad_top && d->pad_bottom == e->pad_bottom && d->pad_left == e->pad_left &&
           d->pad_right == e->pad_right && d->activation == e->activation && a->with_bias == b->with_bias &&
           a->with_residual == b->with_residual && a->in_place == b->in_place && a->count == b->count &&
           d->in_layout == e->in_layout && d->out_layout == e->out_layout && d->weights_layout == e->weights_layout &&
           memcmp(&d->act_a, &e->act_a, sizeof d->act_a) == 0 && memcmp(&d->act_b, &e->act_b, sizeof d->act_b) == 0;
}

static problem any_problem(uint64_t *state)
{
    problem p = {.with_bias = random_below(state, 2),
                 .with_residual = random_below(state, 2),
                 .count = random_between(state, 1, 3)};
    p.in_place = p.with_residual && random_below(state, 2);
    conv2d_desc *d = &p.desc;
    d->in_layout = (conv2d_layout)random_below(state, CONV2D_NHWC + 1);
    d->out_layout = (conv2d_layout)random_below(state, CONV2D_NHWC + 1);
    d->weights_layout = (conv2d_weights_layout)random_below(state, CONV2D_HWIO + 1);
    d->groups = random_below(state, 2) ? 1 : random_between(state, 1, 1000);
    d->batch = random_below(state, 2) ? 1 : random_between(state, 1, 1000);
    d->in_channels = d->groups * random_between(state, 1, 1000);
    d->out_channels = d->groups * random_between(state, 1, 1000);
    size_t *const sizes[] = {&d->kernel_height, &d->kernel_width, &d->stride_h,
                             &d->stride_w,      &d->dilation_h,   &d->dilation_w};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        *sizes[i] = random_below(state, 2) ? 1 : random_between(state, 1, 20);
    size_t *const pads[] = {&d->pad_top, &d->pad_bottom, &d->pad_left, &d->pad_right};
    for (size_t i = 0; i < COUNT_OF(pads); i++)
        *pads[i] = random_below(state, 3);
    d->in_height = random_between(state, 400, 4000);
    d->in_width = random_between(state, 400, 4000);
    d->activation = (conv2d_activation)random_below(state, CONV2D_MISH + 1);
    if (d->activation == CONV2D_CLAMP || d->activation == CONV2D_LEAKY_RELU)
        fill_floats(&d->act_a, 1, random_below(state, 2) ? FILL_UNIFORM : FILL_INTEGERS, random_next(state));
    if (d->activation == CONV2D_CLAMP)
        d->act_b = d->act_a + (float)random_below(state, 1000) * 1e-3f;
    return p;
}

Test(problem, round_trip)
{
    uint64_t state = 1;
    for (size_t i = 0; i < 5000; i++) {
        const problem p = any_problem(&state);
        char text[PROBLEM_TEXT_SIZE];
        cr_assert_lt(problem_format(&p, text, sizeof text), sizeof text, "%s", text);
        const problem again = parsed(text);
        cr_assert(same_problem(&p, &again), "%s", text);
        cr_assert_str_eq(canonical(text), text);
    }
}

Test(problem, format_is_cut_as_by_snprintf)
{
    const problem p = parsed("2x8x12x13 16x3x5 s2x1 p0,1,2,3 d1x2 g4 b clamp:-0.5:0.25");
    char whole[PROBLEM_TEXT_SIZE], cut[PROBLEM_TEXT_SIZE];
    const size_t length = problem_format(&p, whole, sizeof whole);
    cr_assert_eq(strlen(whole), length);
    cr_assert_eq(problem_format(&p, NULL, 0), length);
    for (size_t size = 1; size <= length + 1; size++) {
        memset(cut, '#', sizeof cut);
        cr_assert_eq(problem_format(&p, cut, size), length);
        cr_assert(strlen(cut) == size - 1 && memcmp(cut, whole, size - 1) == 0, "room for %zu: %s", size, cut);
        cr_assert_eq(cut[size], '#', "room for %zu", size);
    }
}

/* Some problems on one line, as on a command line. */
Test(problem, one_after_another)
{
    static const char text[] = "3x8x9 3x3 p1 mb1ic4ih8oc4kh3 16x5x5 2x1x1 s2 g2";
    static const char *const expected[] = {"3x8x9 3x3x3 p1", "4x8x8 4x3x3", "16x5x5 2x1x1 s2 g2"};
    const char *at = text;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        problem p;
        scan_error error;
        char formatted[PROBLEM_TEXT_SIZE];
        cr_assert(problem_parse(at, &p, &at, &error), "%s", error.message);
        problem_format(&p, formatted, sizeof formatted);
        cr_assert_str_eq(formatted, expected[i]);
    }
    cr_assert_eq(*at, 0);
}

/* A text, what the error says, and the first character it points at. */
typedef struct refusal {
    const char *text, *word, *at;
} refusal;

static const refusal refusals[] = {
    {"", "begins with", ""},
    {"   ", "begins with", ""},
    {"hello", "begins with", "hello"},
    {"-3x8x9 3x3", "begins with", "-3"},
    {"3x8 3x3", "3 or 4 numbers", "3x8 "},
    {"1x2x3x4x5 3x3", "at most 4", "5 "},
    {"3x8x9", "missing", ""},
    {"3x8x9 s1", "missing", "s1"},
    {"3x8x9 3", "2 or 3 numbers", "3"},
    {"3x8x9 1x2x3x4", "at most 3", "4"},
    {"3x0x9 3x3", "at least 1", "0x9"},
    {"3x8x9 4x0x3", "at least 1", "0x3"},
    {"3x8x 3x3", "missing", " 3x3"},
    {"3x8x9y 3x3", "does not belong", "y"},
    {"3x8x9 3x3 s0", "at least 1", "0"},
    {"3x8x9 3x3 d0", "at least 1", "0"},
    {"3x8x9 3x3 s", "missing", ""},
    {"3x8x9 3x3 s1x", "missing", ""},
    {"3x8x9 3x3 s-1", "missing", "-1"},
    {"3x8x9 3x3 p1,2", "pTOP,BOTTOM,LEFT,RIGHT", ""},
    {"3x8x9 3x3 p1,2,3,4,5", "does not belong", ",5"},
    {"3x8x9 3x3 q1", "unknown word", "q1"},
    {"3x8x9 3x3 s1 s2", "given twice", "s2"},
    {"3x8x9 3x3 relu clamp:0:1", "given twice", "clamp"},
    {"3x8x9 3x3 silu gelu", "given twice", "gelu"},
    {"3x8x9 3x3 silu2", "does not belong", "2"},
    {"3x8x9 3x3 none", "unknown word", "none"},
    {"3x8x9 3x3 nchw nhwc", "given twice", "nhwc"},
    {"3x8x9 3x3 ohwi hwio", "given twice", "hwio"},
    {"3x8x9 3x3 res inplace", "given twice", "inplace"},
    {"3x8x9 3x3 x2 x3", "given twice", "x3"},
    {"3x8x9 3x3 x0", "at least 1", "0"},
    {"3x8x9 3x3 nhwc-nhwc", "does not belong", "-nhwc"},
    {"3x8x9 3x3 residual", "does not belong", "idual"},
    {"mb1ic4oc4ih8kh3 s2", "given twice", "s2"},
    {"1x3x8x9 3x3 n2", "given twice", "n2"},
    {"3x8x9 4x3x3 k2", "given twice", "k2"},
    {"3x8x9 3x3 clamp:1:0", "below", "0"},
    {"3x8x9 3x3 clamp:1", "clamp:LOW:HIGH", ""},
    {"3x8x9 3x3 clamp:nan:1", "missing", "nan"},
    {"3x8x9 3x3 leaky:", "missing", ""},
    {"3x8x9 3x3 g2", "do not divide", "g2"},
    {"4x8x9 6x3x3 g4", "do not divide", "g4"},
    {"3x8x9 9x3", "no output", "9x3"},
    {"3x8x9 3x3 d5", "no output", "3x3"},
    {"3x8x99999999999999999999 3x3", "larger than", "999"},
    {"2147483647x2147483647x2147483647 1x1", "too large", "2147"},
    {"3x8x9 3x3 3x8x9 3x3", "another begins", "3x8x9 3x3"},
    {"mb1ic4oc4ih8", "kh is missing", "mb1"},
    {"mb1ic4ih8kh3", "oc is missing", "mb1"},
    {"mb1mb2ic4oc4ih8kh3", "given twice", "mb2"},
    {"mb1ic4oc4ih8kh3zz3", "no key", "zz3"},
    {"mb1ic4oc4ih8oh1kh3ph0", "cannot be 1", "oh1"},
    {"onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32,,,2x3", "no problem", "onednn"},
    {"onednn_verbose,exec,cpu,convolution,jit,backward_data,x,,,mb1ic4oc4ih8kh3,1", "not about a forward", "onednn"},
};

Test(problem, refusals)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const refusal *r = &refusals[i];
        problem p;
        scan_error error = {0};
        cr_expect(!problem_parse(r->text, &p, NULL, &error), "accepted: %s", r->text);
        cr_expect_not_null(strstr(error.message, r->word), "%s: \"%s\", not \"%s\"", r->text, error.message, r->word);
        cr_assert_leq(error.offset, strlen(r->text));
        cr_expect_eq(strncmp(r->text + error.offset, r->at, strlen(r->at)), 0, "%s: at \"%s\", not \"%s\"", r->text,
                     r->text + error.offset, r->at);
    }
}
