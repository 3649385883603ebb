/* SPDX-License-Identifier: MIT */
/* Darknet's network descriptions: what each layer does to sizes, what is said of the rest; and that no text does
 * harm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darknet.h"
#include "oracle.h"
#include "support.h"

#define NET "[net]\nwidth=20\nheight=10\nchannels=3\n"
#define CONV "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"

static const struct {
    const char *text;
    const char *last;  /* of its problems; "": there is none */
    const char *notes; /* must be in what is said */
} networks[] = {
    {NET CONV, "3x10x20 4x1x1 b", ""},
    {"# a comment\n\n[ network ]\n width = 20 \nheight=10\n channels = 3\n" CONV, "3x10x20 4x1x1 b", ""},
    {NET "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=leaky\n",
     "3x10x20 8x3x3 s2 p1 b leaky:0.1", ""},
    {NET "[conv]\nfilters=6\nsize=5\npadding=1\ngroups=3\nactivation=relu", "3x10x20 6x5x5 p1 g3 b relu", ""},
    {NET "[convolutional]\nsize=3\npad=1\ndilation=2\nstride_x=2\nstride_y=1\nactivation=mish",
     "3x10x20 1x3x3 s1x2 p2 d2 b mish", ""},
    {NET "[convolutional]\nactivation=ramp\n", "3x10x20 1x1x1 b", "ramp"},
    {NET "[convolutional]\n", "3x10x20 1x1x1 b sigmoid", ""},
    /* What comes before the last layer. */
    {NET "[maxpool]\nsize=2\nstride=2\n" CONV, "3x5x10 4x1x1 b", ""},
    {NET "[maxpool]\nsize=2\nstride=1\n" CONV, "3x10x20 4x1x1 b", ""},
    {NET "[maxpool]\nsize=3\nstride=2\npadding=0\n" CONV, "3x4x9 4x1x1 b", ""},
    {NET "[maxpool]\nstride=5\n" CONV, "3x2x4 4x1x1 b", ""},
    {NET "[avgpool]\n" CONV, "3x1x1 4x1x1 b", ""},
    {NET "[upsample]\nstride=3\n" CONV, "3x30x60 4x1x1 b", ""},
    {NET "[upsample]\nstride=-2\n" CONV, "3x5x10 4x1x1 b", ""},
    {NET "[reorg]\nstride=2\n" CONV, "12x5x10 4x1x1 b", ""},
    {NET "[reorg]\nstride=2\n[reorg]\nreverse=1\nstride=2\n" CONV, "3x10x20 4x1x1 b", ""},
    {NET "[crop]\ncrop_height=7\ncrop_width=8\n" CONV, "3x7x8 4x1x1 b", ""},
    {NET "[dropout]\n[batchnorm]\n[shortcut]\nfrom=-2\n[softmax]\n[cost]\n" CONV, "3x10x20 4x1x1 b", ""},
    {NET "[local]\nsize=3\nstride=2\npad=1\nfilters=5\n" CONV, "5x5x10 4x1x1 b", ""},
    {NET "[deconvolutional]\nsize=4\nstride=2\npadding=1\nfilters=5\n" CONV, "5x20x40 4x1x1 b", "deconvolution"},
    {NET "[connected]\noutput=9\n" CONV, "9x1x1 4x1x1 b", ""},
    {NET CONV "[route]\nlayers=-1,0\n" CONV, "8x10x20 4x1x1 b", ""},
    {NET CONV "[upsample]\nstride=2\n[route]\nlayers=-2\ngroups=2\n" CONV, "2x10x20 4x1x1 b", ""},
    {NET CONV "[upsample]\nstride=2\n[route]\nlayers=-1, -2\n" CONV, "3x10x20 4x1x1 b", "layer 3, line 13 is left out"},
    {NET "[lstm]\noutput=3\n" CONV, "", "[lstm] is unknown"},
    {NET CONV "[gru]\n[route]\nlayers=0\n" CONV, "4x10x20 4x1x1 b", "[gru] is unknown"},
    {"[net]\ninputs=256\n" CONV, "", "names no image"},
    {"[net]\ninputs=256\n[connected]\noutput=9\n" CONV, "9x1x1 4x1x1 b", "names no image"},
};

static const char *const wrong[] = {
    "",
    "width=3\n",
    CONV,
    "[net]\nwidth\n",
    NET "[convolutional]\nsize=x\n",
    NET "[convolutional]\nsize=0\n",
    NET "[convolutional]\nfilters=-1\n",
    NET "[convolutional]\nstride=0\n",
    NET "[convolutional]\nfilters=99999999999999999999\n",
    NET "[route]\n",
    NET "[route]\nlayers=0\n",
    NET "[route]\nlayers=-1\n",
    NET CONV "[route]\nlayers=-9223372036854775808\n",
    NET "[maxpool]\nsize=40\npadding=0\n",
    NET "[reorg]\nstride=2147483647\n",
    NET "[upsample]\nstride=2147483647\n[upsample]\nstride=2147483647\n",
    NET "[reorg]\nstride=30\n",
    NET "[convolutional]\nsize=30\n",
};

static bool parse(problem_list *list, const char *text, const model_input *input, char *notes, size_t size)
{
    char *const copy = malloc(strlen(text) + 1);
    cr_assert_not_null(copy);
    strcpy(copy, text);
    const bool good = darknet_parse(list, "test.cfg", copy, input, notes, size);
    free(copy);
    return good;
}

Test(darknet, each_layer)
{
    const model_input input = {.batch = 0};
    for (size_t i = 0; i < COUNT_OF(networks); i++) {
        char notes[500], text[PROBLEM_TEXT_SIZE] = "";
        problem_list list = {.count = 0};
        cr_assert(parse(&list, networks[i].text, &input, notes, sizeof notes), "%s", networks[i].text);
        if (list.count)
            problem_format(&list.problems[list.count - 1], text, sizeof text);
        cr_expect_str_eq(text, networks[i].last, "%s, not %s, of\n%s\n%s", text, networks[i].last, networks[i].text,
                         notes);
        cr_expect_not_null(strstr(notes, networks[i].notes), "%s: %s", networks[i].text, notes);
        cr_expect((*networks[i].notes != '\0') == (*notes != '\0'), "%s: %s", networks[i].text, notes);
        input_free(&list);
    }
}

Test(darknet, counts_and_inputs)
{
    const model_input input = {.batch = 2, .channels = 3, .height = 8, .width = 8};
    char notes[500], text[PROBLEM_TEXT_SIZE];
    problem_list list = {.count = 0};
    cr_assert(parse(&list, NET CONV CONV CONV, &input, notes, sizeof notes));
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.network_count, 1);
    cr_expect_str_eq(list.networks[0], "test");
    problem_format(&list.problems[1], text, sizeof text);
    cr_expect_str_eq(text, "2x4x8x8 4x1x1 b x2");
    cr_expect_eq(list.problems[1].network, 1);
    /* Another one does not count with the first. */
    cr_assert(parse(&list, NET CONV CONV, &input, notes, sizeof notes));
    cr_expect_eq(list.count, 4);
    cr_expect_eq(list.problems[3].network, 2);
    input_free(&list);
}

Test(darknet, refuses)
{
    const model_input input = {.batch = 0};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char notes[500];
        problem_list list = {.count = 0};
        cr_expect(!parse(&list, wrong[i], &input, notes, sizeof notes), "%s", wrong[i]);
        input_free(&list);
    }
}

/* Each text cut at each length, with each character replaced, and with little room for notes. */
Test(darknet, damaged_texts)
{
    static const char others[] = "[]=\n-9,;#";
    const model_input input = {.batch = 0};
    for (size_t i = 0; i < COUNT_OF(networks); i++) {
        const size_t length = strlen(networks[i].text);
        char changed[1000], notes[40];
        cr_assert_lt(length, sizeof changed);
        for (size_t k = 0; k < length; k++) {
            problem_list list = {.count = 0};
            snprintf(changed, k + 1, "%s", networks[i].text);
            parse(&list, changed, &input, notes, sizeof notes);
            strcpy(changed, networks[i].text);
            changed[k] = others[(i + k) % (sizeof others - 1)];
            parse(&list, changed, &input, notes, sizeof notes);
            input_free(&list);
        }
    }
}

/* Debian's package darknet has the networks that their authors published; products counted as they print them. */
Test(darknet, published_networks)
{
    static const struct {
        const char *path;
        size_t size, layers;
        double billions; /* of operations, two a product */
    } published[] = {
        {"/usr/share/darknet/cfg/yolov3.cfg", 416, 75, 65.864},
        {"/usr/share/darknet/cfg/yolov3-tiny.cfg", 416, 13, 5.565},
        {"/usr/share/darknet/cfg/darknet53.cfg", 256, 53, 18.57},
    };
    if (access(published[0].path, R_OK) != 0)
        cr_skip_test("the package darknet is not installed");
    for (size_t i = 0; i < COUNT_OF(published); i++) {
        const model_input input = {.channels = 3, .height = published[i].size, .width = published[i].size};
        problem_list list = {.count = 0};
        double operations = 0;
        size_t layers = 0;
        cr_assert(darknet_read(&list, published[i].path, &input));
        for (size_t k = 0; k < list.count; k++) {
            const conv2d_desc *const d = &list.problems[k].desc;
            size_t height = 0, width = 0;
            oracle_output_size(d, &height, &width);
            operations += 2e-9 * (double)(list.problems[k].count * height * width * d->out_channels *
                                          (d->in_channels / d->groups) * d->kernel_height * d->kernel_width);
            layers += list.problems[k].count;
        }
        cr_expect_eq(layers, published[i].layers);
        cr_expect(operations > 0.998 * published[i].billions && operations < 1.002 * published[i].billions, "%s: %.3f",
                  published[i].path, operations);
        input_free(&list);
    }
}
