/* SPDX-License-Identifier: MIT */
/*
 * oneDNN 2.  Each mode has several ways, for it depends on the shape which is the fastest: they are tried when the
 * problem is made, and the best is kept.
 */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "worker.h"

static dnnl_engine_t engine;
static dnnl_stream_t stream;

/* Tensors as the caller has them, and as the convolution wants them: the same where no reorder is needed. */
typedef struct way {
    dnnl_primitive_t convolution, reorder_in, reorder_out; /* the reorders are NULL where there are none */
    dnnl_memory_t in, out, own_in, own_out, weights, bias;
    char name[PEER_TEXT_SIZE];
} way;

static way made;

/* The layout outside, and that of the convolution.  First what the library asks for. */
static const struct way_row {
    peer_layout layout;
    dnnl_format_tag_t outside, inside; /* undef outside: the same as inside */
} way_rows[] = {
    {PEER_NCHW, dnnl_nchw, dnnl_format_tag_any},
    {PEER_NCHW, dnnl_nchw, dnnl_nchw},
    {PEER_NCHW, dnnl_nchw, dnnl_nChw16c},
    {PEER_NHWC, dnnl_nhwc, dnnl_format_tag_any},
    {PEER_NHWC, dnnl_nhwc, dnnl_nhwc},
    {PEER_OWN, dnnl_format_tag_undef, dnnl_format_tag_any},
    {PEER_OWN, dnnl_format_tag_undef, dnnl_nChw16c},
    {PEER_OWN, dnnl_format_tag_undef, dnnl_nhwc},
};

static void set_environment(size_t threads, conv2d_isa isa)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", threads);
    setenv("OMP_NUM_THREADS", number, 1);
    if (isa != CONV2D_ISA_ANY)
        setenv("ONEDNN_MAX_CPU_ISA", isa == CONV2D_ISA_AVX2 ? "AVX2" : "AVX512_CORE", 1);
}

static bool start(size_t threads, conv2d_isa isa, char text[PEER_TEXT_SIZE])
{
    (void)threads, (void)isa; /* were in the environment */
    const dnnl_version_t *const v = dnnl_version();
    const bool good = dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
                      dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
    snprintf(text, PEER_TEXT_SIZE, "oneDNN %d.%d.%d%s", v->major, v->minor, v->patch, good ? "" : " does not start");
    return good;
}

static void free_way(way *w)
{
    dnnl_primitive_t *const primitives[] = {&w->convolution, &w->reorder_in, &w->reorder_out};
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        if (*primitives[i])
            dnnl_primitive_destroy(*primitives[i]);
    if (w->own_in != w->in && w->own_in)
        dnnl_memory_destroy(w->own_in);
    if (w->own_out != w->out && w->own_out)
        dnnl_memory_destroy(w->own_out);
    dnnl_memory_t *const memories[] = {&w->in, &w->out, &w->weights, &w->bias};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (*memories[i])
            dnnl_memory_destroy(*memories[i]);
    memset(w, 0, sizeof *w);
}

static dnnl_memory_desc_t tensor(const size_t *sizes, int count, dnnl_format_tag_t tag)
{
    dnnl_dims_t dims;
    for (int i = 0; i < count; i++)
        dims[i] = (dnnl_dim_t)sizes[i];
    dnnl_memory_desc_t md;
    dnnl_memory_desc_init_by_tag(&md, count, dims, dnnl_f32, tag);
    return md;
}

static dnnl_memory_desc_t input_tensor(const conv2d_desc *d, dnnl_format_tag_t tag)
{
    return tensor((size_t[]){d->batch, d->in_channels, d->in_height, d->in_width}, 4, tag);
}

static dnnl_memory_desc_t output_tensor(const peer_task *t, dnnl_format_tag_t tag)
{
    return tensor((size_t[]){t->desc.batch, t->desc.out_channels, t->out_height, t->out_width}, 4, tag);
}

static dnnl_memory_desc_t weights_tensor(const conv2d_desc *d, bool plain)
{
    const size_t ic = d->in_channels / d->groups, oc = d->out_channels / d->groups;
    if (d->groups == 1)
        return tensor((size_t[]){oc, ic, d->kernel_height, d->kernel_width}, 4,
                      plain ? dnnl_oihw : dnnl_format_tag_any);
    return tensor((size_t[]){d->groups, oc, ic, d->kernel_height, d->kernel_width}, 5,
                  plain ? dnnl_goihw : dnnl_format_tag_any);
}

/* The library's activations; a hard sigmoid this version has not. */
static const dnnl_alg_kind_t activations[] = {
    [CONV2D_RELU] = dnnl_eltwise_relu,        [CONV2D_CLAMP] = dnnl_eltwise_clip,
    [CONV2D_LEAKY_RELU] = dnnl_eltwise_relu,  [CONV2D_HARD_SWISH] = dnnl_eltwise_hardswish,
    [CONV2D_SIGMOID] = dnnl_eltwise_logistic, [CONV2D_SILU] = dnnl_eltwise_swish,
    [CONV2D_TANH] = dnnl_eltwise_tanh,        [CONV2D_GELU] = dnnl_eltwise_gelu_erf,
    [CONV2D_MISH] = dnnl_eltwise_mish,
};

/* The activation is fused. */
static bool append_activation(const conv2d_desc *d, dnnl_primitive_attr_t attributes)
{
    if (d->activation == CONV2D_NONE)
        return true;
    dnnl_post_ops_t operations;
    const bool clamp = d->activation == CONV2D_CLAMP, leaky = d->activation == CONV2D_LEAKY_RELU;
    const float alpha = clamp || leaky ? d->act_a : d->activation == CONV2D_SILU ? 1 : 0;
    bool good = dnnl_post_ops_create(&operations) == dnnl_success;
    good = good && dnnl_post_ops_append_eltwise(operations, 1, activations[d->activation], alpha,
                                                clamp ? d->act_b : 0) == dnnl_success;
    good = good && dnnl_primitive_attr_set_post_ops(attributes, operations) == dnnl_success;
    dnnl_post_ops_destroy(operations);
    return good;
}

static bool describe(const peer_task *t, dnnl_format_tag_t inside, dnnl_primitive_desc_t *found)
{
    const conv2d_desc *const d = &t->desc;
    const dnnl_memory_desc_t in = input_tensor(d, inside), out = output_tensor(t, inside);
    const dnnl_memory_desc_t weights = weights_tensor(d, false);
    const dnnl_memory_desc_t bias = tensor(&d->out_channels, 1, dnnl_x);
    const dnnl_dims_t strides = {(dnnl_dim_t)d->stride_h, (dnnl_dim_t)d->stride_w};
    const dnnl_dims_t dilations = {(dnnl_dim_t)d->dilation_h - 1, (dnnl_dim_t)d->dilation_w - 1};
    const dnnl_dims_t before = {(dnnl_dim_t)d->pad_top, (dnnl_dim_t)d->pad_left};
    const dnnl_dims_t after = {(dnnl_dim_t)d->pad_bottom, (dnnl_dim_t)d->pad_right};
    dnnl_convolution_desc_t operation;
    if (dnnl_dilated_convolution_forward_desc_init(
            &operation, dnnl_forward_inference, t->winograd ? dnnl_convolution_winograd : dnnl_convolution_direct, &in,
            &weights, d->bias ? &bias : NULL, &out, strides, dilations, before, after) != dnnl_success)
        return false;
    dnnl_primitive_attr_t attributes;
    if (dnnl_primitive_attr_create(&attributes) != dnnl_success)
        return false;
    const bool good = append_activation(d, attributes) &&
                      dnnl_primitive_desc_create(found, &operation, attributes, engine, NULL) == dnnl_success;
    dnnl_primitive_attr_destroy(attributes);
    return good;
}

static dnnl_memory_t allocate(const dnnl_memory_desc_t *md)
{
    dnnl_memory_t memory;
    return dnnl_memory_create(&memory, md, engine, DNNL_MEMORY_ALLOCATE) == dnnl_success ? memory : NULL;
}

static bool make_reorder(dnnl_memory_t from, dnnl_memory_t to, dnnl_primitive_t *reorder)
{
    const dnnl_memory_desc_t *from_md, *to_md;
    dnnl_primitive_desc_t description;
    if (!from || !to || dnnl_memory_get_memory_desc(from, &from_md) != dnnl_success ||
        dnnl_memory_get_memory_desc(to, &to_md) != dnnl_success ||
        dnnl_reorder_primitive_desc_create(&description, from_md, engine, to_md, engine, NULL) != dnnl_success)
        return false;
    const bool good = dnnl_primitive_create(reorder, description) == dnnl_success;
    dnnl_primitive_desc_destroy(description);
    return good;
}

static bool execute_reorder(dnnl_primitive_t reorder, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(reorder, stream, 2, arguments) == dnnl_success;
}

/* Between memory of the library and a plain tensor of ours; once, untimed. */
static bool exchange(dnnl_memory_t memory, dnnl_memory_desc_t plain_md, void *plain, bool to_plain)
{
    dnnl_memory_t outside = NULL;
    dnnl_primitive_t reorder = NULL;
    bool good = memory && dnnl_memory_create(&outside, &plain_md, engine, plain) == dnnl_success;
    dnnl_memory_t const from = to_plain ? memory : outside, to = to_plain ? outside : memory;
    good = good && make_reorder(from, to, &reorder) && execute_reorder(reorder, from, to) &&
           dnnl_stream_wait(stream) == dnnl_success;
    if (reorder)
        dnnl_primitive_destroy(reorder);
    if (outside)
        dnnl_memory_destroy(outside);
    return good;
}

/* The memory that the caller has: that of the convolution, unless another layout is given. */
static dnnl_memory_t outer_memory(dnnl_memory_t inner, dnnl_memory_desc_t md, bool given)
{
    const dnnl_memory_desc_t *inner_md = NULL;
    if (!inner || dnnl_memory_get_memory_desc(inner, &inner_md) != dnnl_success)
        return NULL;
    return given && !dnnl_memory_desc_equal(inner_md, &md) ? allocate(&md) : inner;
}

static bool make_memories(const peer_task *t, const struct way_row *row, dnnl_primitive_desc_t description, way *w)
{
    const conv2d_desc *const d = &t->desc;
    const bool given = row->outside != dnnl_format_tag_undef;
    w->own_in = allocate(dnnl_primitive_desc_query_md(description, dnnl_query_src_md, 0));
    w->own_out = allocate(dnnl_primitive_desc_query_md(description, dnnl_query_dst_md, 0));
    w->weights = allocate(dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0));
    w->in = outer_memory(w->own_in, given ? input_tensor(d, row->outside) : (dnnl_memory_desc_t){0}, given);
    w->out = outer_memory(w->own_out, given ? output_tensor(t, row->outside) : (dnnl_memory_desc_t){0}, given);
    const dnnl_memory_desc_t bias_md = tensor(&d->out_channels, 1, dnnl_x);
    w->bias = d->bias ? allocate(&bias_md) : NULL;
    return exchange(w->in, input_tensor(d, dnnl_nchw), (float *)t->in, false) &&
           exchange(w->weights, weights_tensor(d, true), (float *)t->weights, false) &&
           (!d->bias || exchange(w->bias, bias_md, (float *)d->bias, false)) &&
           (w->in == w->own_in || make_reorder(w->in, w->own_in, &w->reorder_in)) && w->out &&
           (w->out == w->own_out || make_reorder(w->own_out, w->out, &w->reorder_out));
}

static bool make_way(const peer_task *t, const struct way_row *row, way *w)
{
    memset(w, 0, sizeof *w);
    dnnl_primitive_desc_t description;
    if (!describe(t, row->inside, &description))
        return false;
    const char *implementation = "";
    dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &implementation);
    bool good =
        make_memories(t, row, description, w) && dnnl_primitive_create(&w->convolution, description) == dnnl_success;
    snprintf(w->name, sizeof w->name, "%s%s%s", implementation, w->reorder_in ? ", input reordered" : "",
             w->reorder_out ? ", output reordered" : "");
    dnnl_primitive_desc_destroy(description);
    return good;
}

static bool run_way(const way *w)
{
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, w->own_in},
                                         {DNNL_ARG_WEIGHTS, w->weights},
                                         {DNNL_ARG_DST, w->own_out},
                                         {DNNL_ARG_BIAS, w->bias}};
    return (!w->reorder_in || execute_reorder(w->reorder_in, w->in, w->own_in)) &&
           dnnl_primitive_execute(w->convolution, stream, w->bias ? 4 : 3, arguments) == dnnl_success &&
           (!w->reorder_out || execute_reorder(w->reorder_out, w->own_out, w->out)) &&
           dnnl_stream_wait(stream) == dnnl_success;
}

/* A reference loop takes minutes where others take milliseconds: only for what nothing else does. */
static bool is_reference(const way *w)
{
    return strncmp(w->name, "ref", 3) == 0;
}

/* The best of a few calls after a first one, which generates code; negative if they fail. */
static double try_way(const way *w)
{
    double best = run_way(w) ? 1e30 : -1;
    for (int i = 0; i < 3 && best > 0 && !is_reference(w); i++) {
        const double begin = now();
        const bool good = run_way(w);
        const double seconds = now() - begin;
        best = !good ? -1 : seconds < best ? seconds : best;
    }
    return best;
}

static bool make(const peer_task *t, char text[PEER_TEXT_SIZE])
{
    double best = 0; /* none yet */
    if (t->desc.activation == CONV2D_HARD_SIGMOID) {
        snprintf(text, PEER_TEXT_SIZE, "it has no hard sigmoid");
        return false;
    }
    for (size_t i = 0; i < sizeof way_rows / sizeof *way_rows; i++) {
        if (way_rows[i].layout != t->layout)
            continue;
        way w;
        const bool worth_it = make_way(t, &way_rows[i], &w) && (best <= 0 || !is_reference(&w));
        const double seconds = worth_it ? try_way(&w) : -1;
        if (seconds > 0 && (best <= 0 || seconds < best)) {
            free_way(&made);
            made = w;
            best = seconds;
        } else {
            free_way(&w);
        }
    }
    snprintf(text, PEER_TEXT_SIZE, "%s", best > 0 ? made.name : "the library refuses it");
    return best > 0;
}

static bool run(const peer_task *t)
{
    (void)t;
    return run_way(&made);
}

static bool read_output(const peer_task *t, float *out)
{
    return exchange(made.out, output_tensor(t, dnnl_nchw), out, true);
}

static void drop(void)
{
    free_way(&made);
}

int main(int argument_count, char **arguments)
{
    const peer_library library = {.modes = "nchw,nhwc,own,own-winograd,nchw-winograd",
                                  .set_environment = set_environment,
                                  .start = start,
                                  .make = make,
                                  .run = run,
                                  .read = read_output,
                                  .drop = drop};
    return peer_main(&library, argument_count, arguments);
}
