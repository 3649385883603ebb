/* SPDX-License-Identifier: MIT */
#include "option_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_table.h"

const char help_grammar[] =
    "A problem is                              for example\n"
    "  CxHxW RxS WORDS                         16x512x512 3x3\n"
    "  NxCxHxW KxRxS WORDS                     16x16x512x512 16x3x3 s2 p1 d1 g1\n"
    "  a benchdnn string or verbose line       mb1ic64ih56oc256oh56kh1ph0 (without mb the batch is 2, as there)\n"
    "with as many output channels K as input channels C, and a batch N of 1, unless given.  The words:\n"
    "  sA sAxB  stride (rows x columns)        dA dAxB  dilation, 1 is dense\n"
    "  pA pAxB pTOP,BOTTOM,LEFT,RIGHT padding  gA groups   nA batch   kA output channels\n"
    "  b  bias                                 relu   clamp:LOW:HIGH   leaky:SLOPE\n"
    "  hswish hsigmoid sigmoid silu tanh gelu mish  the other activations\n"
    "  res  add a residual; inplace: the same, in the output's memory   xA  occurs so often in its network\n"
    "  nchw nhwc nchw-nhwc nhwc-nchw  input's and output's layout       oihw ohwi hwio  the weights' layout\n";

const char help_examples[] =
    "  convbench 64x56x56 3x3 p1                  is it right, how fast, and how near to what this CPU can do?\n"
    "  convbench --suite resnet50 --threads 1,2   the same of a whole network, on one thread and on two\n"
    "  convbench --explain 64x56x56 3x3 p1        which kernel runs, and why not another?\n"
    "  convbench --peers 64x56x56 3x3 p1          how fast are other libraries?\n"
    "  convbench diff --run OLD NEW -- 64x56x56 3x3 p1  is one of two builds slower?  (diff --help)\n";

const char help_columns[] =
    "The titles of --shapes, in any order: ic ih iw oc kh kw, perhaps n (batch), g or groups, sh sw (stride), dh dw\n"
    "(dilation, 1 is dense), pt pl pb pr (padding) or pads_rev_twice (LEFT;RIGHT;TOP;BOTTOM), oh ow (checked), bias\n"
    "(True or False).  Other columns are ignored.\n";

/* As it is typed: --counters[=LIST], --time SECONDS. */
static int name_option(char *text, size_t size, const option_row *row)
{
    return snprintf(text, size, "%s%s%s", row->name, row->value && !row->is_optional ? " " : "",
                    row->value ? row->value : "");
}

static int width_of_names(void)
{
    int width = 0;
    for (size_t g = 0; g < OPTION_GROUPS; g++)
        for (size_t i = 0; i < option_groups[g]->count; i++) {
            const option_row *const row = &option_groups[g]->rows[i];
            const int length = name_option(NULL, 0, row);
            width = row->help && length > width ? length : width;
        }
    return width;
}

static void print_options(void)
{
    const int width = width_of_names();
    for (size_t g = 0; g < OPTION_GROUPS; g++) {
        const option_group *const group = option_groups[g];
        printf("\n%s\n", group->title);
        for (size_t i = 0; i < group->count; i++) {
            char name[80];
            name_option(name, sizeof name, &group->rows[i]);
            if (group->rows[i].help)
                printf("  %-*s  %s\n", width, name, group->rows[i].help);
        }
    }
}

int help_run(options *asked)
{
    (void)asked;
    printf("convbench: verifies and times libconv2d's convolutions\n"
           "usage: convbench [OPTION]... PROBLEM...\n\nFor example\n%s",
           help_examples);
    print_options();
    printf("\n%s\n%s\nExit code: 0; 1 when a result is wrong or a run failed; 2 when an argument is wrong.\n",
           help_grammar, help_columns);
    return EXIT_SUCCESS;
}
