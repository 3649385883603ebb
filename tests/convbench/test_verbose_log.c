/* SPDX-License-Identifier: MIT */
/* Logs of oneDNN in the forms of its versions: what becomes of each line, and that no line can do harm. */
#define _DEFAULT_SOURCE /* mkstemps */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "support.h"
#include "verbose_log.h"

#define V1 "dnnl_verbose,exec,cpu,"
#define V2 "onednn_verbose,exec,cpu,"
#define V3 "onednn_verbose,v1,primitive,exec,cpu,"
#define F32_3 "src:f32:a:blocked:abcd::f0 wei:f32:a:blocked:Acdb16a::f0 bia:f32:a:blocked:a::f0 dst:f32:a:blocked:"
#define LAYER_3 V3 "convolution,jit:avx512_core,forward_training," F32_3 "abcd::f0,"
#define SIZES ",alg:convolution_direct,mb1_ic8oc16_ih10oh10kh3sh1dh0ph1_iw12ow12kw3sw1dw0pw1,0.5"

static const struct {
    const char *line, *text; /* of its problem; NULL: it has none */
} lines[] = {
    /* The versions' forms. */
    {V1 "convolution,jit:avx2,forward_inference,src_f32::blocked:aBcd8b:f0 wei_f32::blocked:ABcd8b8a:f0 "
        "bia_undef::undef::f0 dst_f32::blocked:aBcd8b:f0,,alg:convolution_direct,"
        "mb2_ic16oc32_ih14oh7kh3sh2dh0ph1_iw14ow7kw3sw2dw0pw1,0.031",
     "2x16x14x14 32x3x3 s2 p1"},
    {V1 "convolution,jit:avx2,forward_training,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 "
        "bia_f32::blocked:a:f0 dst_f32::blocked:abcd:f0,attr-post-ops:'sum;eltwise_relu;',alg:convolution_direct,"
        "g4mb1_ic8oc8_ih5oh5kh1sh1dh0ph0_iw6ow6kw1sw1dw0pw0,1",
     "8x5x6 8x1x1 g4 b res relu"},
    {V2 "convolution,brgconv:avx512_core,forward_inference,src_f32::blocked:acdb:f0 wei_f32::blocked:Acdb64a:f0 "
        "bia_f32::blocked:a:f0 dst_f32::blocked:acdb:f0,attr-scratchpad:user attr-post-ops:eltwise_clip:0:6 ,"
        "alg:convolution_direct,mb1_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3,3.5",
     "3x224x224 64x7x7 s2 p3 b clamp:0:6 nhwc"},
    {LAYER_3 "attr-post-ops:eltwise_relu" SIZES, "8x10x12 16x3x3 p1 b relu"},
    {"onednn_verbose,v1,1795289170516.231934,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,"
     "forward_inference," F32_3 "acdb::f0,attr-post-ops:sum+eltwise_swish:1" SIZES,
     "8x10x12 16x3x3 p1 b res silu nchw-nhwc"},
    {"12:30:01 worker 3: " LAYER_3 SIZES, "8x10x12 16x3x3 p1 b"},
    /* One dimension is a row. */
    {LAYER_3 ",alg:convolution_direct,mb1_ic4oc6_iw100ow98kw3sw1dw0pw0,0.1", "4x1x100 6x1x3 b"},
    /* Other post-ops, in part. */
    {LAYER_3 "attr-post-ops:eltwise_relu:0.25" SIZES, "8x10x12 16x3x3 p1 b leaky:0.25"},
    {LAYER_3 "attr-post-ops:eltwise_hardswish:0.166667:0.5" SIZES, "8x10x12 16x3x3 p1 b hswish"},
    {LAYER_3 "attr-post-ops:eltwise_swish:1.702" SIZES, "8x10x12 16x3x3 p1 b"},
    {LAYER_3 "attr-post-ops:eltwise_tanh+sum" SIZES, "8x10x12 16x3x3 p1 b tanh"},
    {LAYER_3 "attr-post-ops:sum:0.5+binary_mul:f32:2" SIZES, "8x10x12 16x3x3 p1 b"},
    /* Another type is timed as f32. */
    {V3 "convolution,brg:amx,forward_inference,src:bf16:a:blocked:acdb::f0 wei:bf16::any::f0 bia:undef::undef::: "
        "dst:bf16:a:blocked:acdb::f0," SIZES,
     "8x10x12 16x3x3 p1 nhwc"},
    /* No problem. */
    {"", NULL},
    {"Epoch 1: loss 0.3", NULL},
    {"onednn_verbose", NULL},
    {"onednn_verbose,info,oneDNN v2.6.3 (commit N/A)", NULL},
    {"onednn_verbose,v1,primitive,info,template:operation,engine,primitive,implementation,prop_kind,"
     "memory_descriptors,attributes,auxiliary,problem_desc,exec_time",
     NULL},
    {"onednn_verbose,v1,primitive,create:cache_miss,cpu,convolution,jit,forward_training," F32_3 "abcd::f0," SIZES,
     NULL},
    {V2 "reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32::blocked:acdb:f0,,,1x3x224x224,0.06", NULL},
    {V2 "convolution,jit,backward_data,src_f32::blocked:abcd:f0,," SIZES, NULL},
    {V2 "deconvolution,jit,forward_training,src_f32::blocked:abcd:f0,," SIZES, NULL},
    {LAYER_3 ",alg:x,mb1_ic3oc4_id8od8kd3sd1dd0pd1_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1,1", NULL},
    {LAYER_3 ",alg:x,mb1_ic99999999999999oc4_ih8kh3_iw8kw3,1", NULL},
    {LAYER_3 ",alg:x,g3mb1_ic4oc4_ih8kh3_iw8kw3,1", NULL},
    {LAYER_3 ",alg:x,," SIZES, NULL},
};

/* As from a file: a copy that may be changed. */
static bool add_line(verbose_log *log, const char *text, size_t length)
{
    char *const line = malloc(length + 1);
    cr_assert_not_null(line);
    memcpy(line, text, length);
    line[length] = '\0';
    const bool good = verbose_log_add(log, line);
    free(line);
    return good;
}

Test(verbose_log, each_line)
{
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        verbose_log log = {.count = 0};
        cr_assert(add_line(&log, lines[i].line, strlen(lines[i].line)));
        cr_expect_eq(log.count, lines[i].text != NULL, "%s: %s", lines[i].line, log.example);
        if (log.count && lines[i].text)
            cr_expect_str_eq(log.texts[0], lines[i].text);
        verbose_log_free(&log);
    }
}

Test(verbose_log, counts_and_notes)
{
    verbose_log log = {.count = 0};
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < COUNT_OF(lines); i++)
            cr_assert(add_line(&log, lines[i].line, strlen(lines[i].line)));
    cr_expect_eq(log.executions, 3 * 13);
    cr_expect_eq(log.count, 11); /* two post-ops that are left out leave the same as none */
    for (size_t i = 0; i < log.count; i++)
        cr_expect_eq(log.problems[i].count, strcmp(log.texts[i], "8x10x12 16x3x3 p1 b") == 0 ? 9 : 3, "%s",
                     log.texts[i]);
    cr_expect_eq(log.other_types, 3);
    cr_expect_eq(log.other_post_ops, 9);
    cr_expect_eq(log.backward, 3);
    cr_expect_eq(log.deconvolutions, 3);
    cr_expect_eq(log.unreadable, 3 * 4);
    char notes[1024];
    verbose_log_describe(&log, notes, sizeof notes);
    cr_expect_not_null(strstr(notes, "3 executions run backward"));
    cr_expect_not_null(strstr(notes, "id8od8"), "%s", notes);
    verbose_log_describe(&log, notes, 20);
    cr_expect_lt(strlen(notes), 20);
    verbose_log_free(&log);
}

/* Each line cut at each length, and with each character replaced in turn. */
Test(verbose_log, damaged_lines)
{
    static const char others[] = ",:_ x9-";
    verbose_log log = {.count = 0};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const size_t length = strlen(lines[i].line);
        char changed[1000];
        cr_assert_lt(length, sizeof changed);
        for (size_t k = 0; k < length; k++) {
            cr_assert(add_line(&log, lines[i].line, k));
            memcpy(changed, lines[i].line, length);
            changed[k] = others[(i + k) % (sizeof others - 1)];
            cr_assert(add_line(&log, changed, length));
        }
    }
    for (size_t i = 0; i < log.count; i++) {
        problem p;
        scan_error error;
        cr_assert(problem_parse(log.texts[i], &p, NULL, &error), "%s: %s", log.texts[i], error.message);
    }
    verbose_log_free(&log);
}

static problem_list read_text(const char *text, bool as_log)
{
    char name[] = "verbose_log_XXXXXX.txt";
    const int descriptor = mkstemps(name, 4);
    cr_assert_geq(descriptor, 0);
    FILE *const file = fdopen(descriptor, "w");
    fputs(text, file);
    fclose(file);
    problem_list list = {.count = 0};
    cr_expect(as_log ? input_read_log(&list, name) : input_read_file(&list, name));
    remove(name);
    return list;
}

/* The first line decides; the whole log is one network. */
Test(verbose_log, files)
{
    problem_list list = read_text("# caught\n\n" LAYER_3 SIZES "\nno problem\n" LAYER_3 SIZES "\n", false);
    cr_expect_eq(list.count, 1);
    cr_expect_eq(list.network_count, 1);
    cr_expect_eq(list.problems[0].count, 2);
    cr_expect_eq(list.problems[0].network, 1);
    input_free(&list);
    list = read_text("8x8x8 3x3\n" LAYER_3 SIZES "\n" LAYER_3 SIZES "\n", false);
    cr_expect_eq(list.count, 3);
    cr_expect_eq(list.network_count, 0);
    input_free(&list);
    list = read_text("8x8x8 3x3\n" LAYER_3 SIZES "\n" LAYER_3 SIZES "\n", true);
    cr_expect_eq(list.count, 1);
    cr_expect_eq(list.problems[0].count, 2);
    input_free(&list);
}
