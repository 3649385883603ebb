/* SPDX-License-Identifier: MIT */
/* Lists of problems: the suites add up to what their papers say, and columns of shapes are read by their titles. */
#include <stdio.h>
#include <string.h>

#include "chain_problem.h"
#include "input.h"
#include "oracle.h"
#include "shapes.h"
#include "support.h"

typedef struct network_size {
    const char *name;
    /* Published, in millions: of multiply-adds of one input, padding counted; and of weights.  0: not published. */
    double products, weights;
} network_size;

/* Where a paper's number includes what a suite leaves out (its head says what), that is subtracted. */
static const network_size networks[] = {
    {"resnet50", 4089, 25.503},     {"resnext50", 4230, 24.96},         {"vgg16", 15347, 14.71},
    {"mobilenet_v1", 569, 4.21},    {"mobilenet_v2", 300.8, 3.47},      {"mobilenet_v3_large", 217, 5.45},
    {"efficientnet_b0", 386, 5.24}, {"yolov3_tiny", 5571 / 2.0, 8.845}, {"yolov8n", 8700 / 2.0, 3.15},
    {"unet", 0, 31.03 - 2.79},      {"convnext_t", 4456, 28.52},        {"squeezenet1_1", 349, 1.232},
};

static problem_list read_suite(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, SUITES_FOLDER "/%s.txt", name);
    problem_list list = {.count = 0};
    cr_assert(input_read_network(&list, path), "%s", path);
    cr_assert_str_eq(list.networks[0], name);
    return list;
}

static double weights_of(const problem *p)
{
    const conv2d_desc *d = &p->desc;
    return (double)d->out_channels * (double)(d->in_channels / d->groups) * (double)d->kernel_height *
           (double)d->kernel_width;
}

static double products_of(const problem *p)
{
    size_t height = 0, width = 0;
    oracle_output_size(&p->desc, &height, &width);
    return weights_of(p) * (double)p->desc.batch * (double)height * (double)width;
}

static void expect_near(const char *name, const char *what, double found, double published)
{
    if (published > 0)
        cr_expect(found > 0.99 * published && found < 1.01 * published, "%s: %.3f million %s, not %.3f", name, found,
                  what, published);
}

Test(suites, add_up)
{
    for (size_t i = 0; i < COUNT_OF(networks); i++) {
        problem_list list = read_suite(networks[i].name);
        double products = 0, weights = 0;
        for (size_t k = 0; k < list.count; k++) {
            const double count = (double)list.problems[k].count;
            cr_assert_eq(list.problems[k].network, 1);
            products += count * products_of(&list.problems[k]);
            weights += count * weights_of(&list.problems[k]);
        }
        expect_near(networks[i].name, "products", products / 1e6, networks[i].products);
        expect_near(networks[i].name, "weights", weights / 1e6, networks[i].weights);
        input_free(&list);
    }
}

/* Those without published sums: at least every line is a problem that can be planned. */
Test(suites, can_be_planned)
{
    static const char *const others[] = {"super_resolution", "ppocr_v4_det", "ppocr_v4_rec", "edge",
                                         "headline",         "sequence"};
    for (size_t i = 0; i < COUNT_OF(networks) + COUNT_OF(others); i++) {
        const char *name = i < COUNT_OF(networks) ? networks[i].name : others[i - COUNT_OF(networks)];
        problem_list list = read_suite(name);
        cr_expect_gt(list.count, 0, "%s is empty", name);
        for (size_t k = 0; k < list.count; k++) {
            conv2d_desc desc = list.problems[k].desc;
            desc.bias = list.problems[k].with_bias ? bias_given : NULL;
            conv2d_plan plan;
            cr_expect_eq(conv2d_plan_init(&plan, &desc, NULL), CONV2D_OK, "%s, problem %zu", name, k);
        }
        input_free(&list);
    }
}

Test(suites, sampled_and_repeated_in_layouts)
{
    problem_list list = {.count = 0};
    cr_assert(input_read_text(&list, "", "1x8x8 3x3 2x8x8 3x3 x7 3x8x8 3x3 4x8x8 3x3 nhwc"));
    input_sample(&list, 3);
    cr_assert_eq(list.count, 2);
    const conv2d_desc layouts[] = {{.out_layout = CONV2D_NHWC}, {.in_layout = CONV2D_NCHW}};
    cr_assert(input_repeat_in_layouts(&list, layouts, COUNT_OF(layouts)));
    static const char *const expected[] = {"1x8x8 1x3x3 nchw-nhwc", "1x8x8 1x3x3", "4x8x8 4x3x3 nchw-nhwc",
                                           "4x8x8 4x3x3"};
    cr_assert_eq(list.count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        char text[PROBLEM_TEXT_SIZE];
        problem_format(&list.problems[i], text, sizeof text);
        cr_expect_str_eq(text, expected[i]);
    }
    input_free(&list);
}

typedef struct shape {
    const char *titles, *row;
    const char *problem; /* or what the message has in it */
} shape;

static const shape good_shapes[] = {
    {"source,name,n,g,ic,ih,iw,oc,oh,ow,kh,kw,sh,sw,dh,dw,pt,pl,pb,pr\n",
     "some/network,,1,36,36,56,56,36,28,28,3,3,2,2,1,1,1,1,1,1\n", "36x56x56 36x3x3 s2 p1 g36"},
    {"ic,ih,iw,oc,oh,ow,kh,kw,pads_rev_twice,sh,sw,dh,dw,groups,bias,flops\r\n",
     "3,20,30,24,20,10,3,5,1;2;0;2,1,3,1,1,1,True,123\r\n", "3x20x30 24x3x5 s1x3 p0,2,1,2 b"},
    {"kw,kh,oc,iw,ih,ic", "1,2,3,4,5,6", "6x5x4 3x2x1"},
    {"ic,ih,iw,oc,kh,kw,n,pl,dw,bias", "2,9,9,2,3,3,,1,2,False", "2x9x9 2x3x3 p0,0,1,0 d1x2"},
    {"ic,ih,iw,oc,kh,kw,n,g", "8,9,9,4,1,1,5,4", "5x8x9x9 4x1x1 g4"},
    /* The padding of SAME from the output's size, the odd one behind. */
    {"ic,ih,iw,oc,kh,kw,oh,ow,sh,sw", "2,9,10,2,3,3,5,5,2,2", "2x9x10 2x3x3 s2 p1,1,0,1"},
};

static const shape bad_shapes[] = {
    {"ic,ih,iw,oc,kh,kw", "2,9,9,2,3", "column kw"},
    {"ic,ih,iw,oc,kh,kw", "2,9,9,2,x,3", "column kh"},
    {"ic,ih,iw,oc,kh,kw", "2,9,9,2,-3,3", "column kh"},
    {"ic,ih,iw,oc,kh,kw,pads_rev_twice", "2,9,9,2,3,3,1;1", "pads_rev_twice"},
    {"ic,ih,iw,oc,kh,kw,oh", "2,9,9,2,3,3,8", "the output is 7x7, not 8"},
    {"ic,ih,iw,oc,kh,kw,g", "3,9,9,2,3,3,2", "do not divide"},
    {"ic,ih,iw,oc,kh,kw", "2,9,9,2,10,3", "no output"},
};

Test(shapes, columns_by_their_titles)
{
    for (size_t i = 0; i < COUNT_OF(good_shapes); i++) {
        const shape *s = &good_shapes[i];
        shapes_header header;
        problem p;
        char message[800] = "", text[PROBLEM_TEXT_SIZE];
        cr_assert(shapes_read_header(&header, s->titles, message, sizeof message), "%s", message);
        cr_assert(shapes_read_row(&header, s->row, &p, message, sizeof message), "%s: %s", s->row, message);
        problem_format(&p, text, sizeof text);
        cr_expect_str_eq(text, s->problem, "%s, not %s", text, s->problem);
    }
}

Test(shapes, refusals)
{
    shapes_header header;
    char message[800] = "";
    cr_expect(!shapes_read_header(&header, "ic,ih,iw,oc,kh", message, sizeof message));
    cr_expect_not_null(strstr(message, "no column kw"), "%s", message);
    for (size_t i = 0; i < COUNT_OF(bad_shapes); i++) {
        const shape *s = &bad_shapes[i];
        problem p;
        cr_assert(shapes_read_header(&header, s->titles, message, sizeof message));
        cr_expect(!shapes_read_row(&header, s->row, &p, message, sizeof message), "accepted: %s", s->row);
        cr_expect_not_null(strstr(message, s->problem), "%s: \"%s\", not \"%s\"", s->row, message, s->problem);
    }
}

/* Every line of the suite of chains is one, in its canonical form or close to it, and reads back the same. */
Test(suites, chains)
{
    FILE *const file = fopen(SUITES_FOLDER "/fused.txt", "r");
    cr_assert_not_null(file);
    char line[CHAIN_TEXT_SIZE], text[CHAIN_TEXT_SIZE], again[CHAIN_TEXT_SIZE];
    size_t count = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[0] == '\0')
            continue;
        chain_problem p, q;
        cr_assert(chain_parse(line, &p), "%s", line);
        chain_format(&p, text, sizeof text);
        cr_assert(chain_parse(text, &q), "%s", text);
        chain_format(&q, again, sizeof again);
        cr_expect_str_eq(again, text);
        cr_expect_eq(p.first.desc.out_channels, p.second.desc.in_channels);
        count++;
    }
    fclose(file);
    cr_expect_gt(count, 20);
}

Test(suites, chains_refused)
{
    static const char *const wrong[] = {"8x9x9 3x3",        "8x9x9 3x3 +",     "8x9x9 + 3x3",
                                        "8x9x9 3x3 + max3", "8x9x9 3x3 + 9x9", "8x9x9 9x9 + max2"};
    chain_problem p;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        cr_expect(!chain_parse(wrong[i], &p), "accepted: %s", wrong[i]);
    cr_assert(chain_parse("2x8x9x7 3x3 nhwc + max2", &p));
    cr_expect(p.pools && p.second.desc.in_layout == CONV2D_NHWC && p.second.desc.batch == 2);
    cr_expect(p.second.desc.in_height == 7 && p.second.desc.in_width == 5);
}
