/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conv2d_tune.h"
#include "oracle.h"
#include "registers.h"

const float bias_given[1] = {0.0f}, residual_given[1] = {0.0f}, residual_in_place[1] = {0.0f};

/* What is being run. */
static conv_case current_case;
static guarded in, weights, bias, packed, workspace, residual, out;

static size_t or1(size_t value)
{
    return value ? value : 1;
}

/* The sizes that pitch[0], pitch[1], pitch[2] and 1 step over, from the outermost to the innermost. */
typedef struct sizes {
    size_t of[4];
} sizes;

static sizes sizes_of(conv2d_layout layout, size_t images, size_t channels, size_t rows, size_t columns)
{
    return layout == CONV2D_NHWC ? (sizes){{images, rows, columns, channels}}
                                 : (sizes){{images, channels, rows, columns}};
}

static void dense_pitch(const size_t given[3], sizes s, size_t pitch[3])
{
    pitch[2] = given[2] ? given[2] : s.of[3];
    pitch[1] = given[1] ? given[1] : s.of[2] * pitch[2];
    pitch[0] = given[0] ? given[0] : s.of[1] * pitch[1];
}

static size_t extent(const size_t given[3], sizes s)
{
    size_t pitch[3];
    dense_pitch(given, s, pitch);
    if (!s.of[0] || !s.of[1] || !s.of[2] || !s.of[3])
        return 0;
    return (s.of[0] - 1) * pitch[0] + (s.of[1] - 1) * pitch[1] + (s.of[2] - 1) * pitch[2] + s.of[3];
}

size_t in_extent(const conv2d_desc *d)
{
    return extent(d->in_pitch, sizes_of(d->in_layout, or1(d->batch), d->in_channels, d->in_height, d->in_width));
}

size_t out_extent(const conv2d_desc *d)
{
    size_t height = 0, width = 0;
    if (!oracle_output_size(d, &height, &width))
        case_failed("the kernel does not fit the padded input");
    return extent(d->out_pitch, sizes_of(d->out_layout, or1(d->batch), d->out_channels, height, width));
}

size_t weights_extent(const conv2d_desc *d)
{
    return d->out_channels * (d->in_channels / or1(d->groups)) * d->kernel_height * d->kernel_width;
}

conv2d_desc simple_desc(size_t in_channels, size_t in_height, size_t in_width, size_t out_channels,
                        size_t kernel_height, size_t kernel_width)
{
    return (conv2d_desc){.in_channels = in_channels,
                         .in_height = in_height,
                         .in_width = in_width,
                         .out_channels = out_channels,
                         .kernel_height = kernel_height,
                         .kernel_width = kernel_width};
}

size_t input_for(size_t outputs, size_t kernel, size_t stride, size_t dilation, size_t pads)
{
    const size_t padded = (outputs - 1) * or1(stride) + (kernel - 1) * or1(dilation) + 1;
    return padded > pads ? padded - pads : 1;
}

const char *describe_case(const conv_case *c)
{
    static const char *const layouts[] = {"oihw", "ohwi", "hwio"}, *const packings[] = {"any", "one"};
    static const char *const tensors[] = {"nchw", "nhwc"};
    static const char *const activations[] = {"none",    "relu", "clamp", "leaky_relu", "hard_swish", "hard_sigmoid",
                                              "sigmoid", "silu", "tanh",  "gelu",       "mish"};
    static char text[2048];
    char record[600] = "";
    conv2d_records_write(c->options.records, c->options.record_count > 0, record, sizeof record);
    const conv2d_desc *d = &c->desc;
    snprintf(text, sizeof text,
             "%zux%zux%zux%zu %zux%zux%zu s%zux%zu d%zux%zu p%zu,%zu,%zu,%zu (t,b,l,r) g%zu %s-%s %s packed for %s "
             "size %s(%g,%g) "
             "bias=%d residual=%d "
             "in_pitch=%zu,%zu,%zu out_pitch=%zu,%zu,%zu isa=%s kernel=%s record=\"%s\" parts=%zu pool=%zu "
             "guard=%s+%zu fill=%d "
             "seed=%" PRIu64,
             d->batch, d->in_channels, d->in_height, d->in_width, d->out_channels, d->kernel_height, d->kernel_width,
             d->stride_h, d->stride_w, d->dilation_h, d->dilation_w, d->pad_top, d->pad_bottom, d->pad_left,
             d->pad_right, d->groups, tensors[d->in_layout], tensors[d->out_layout], layouts[d->weights_layout],
             packings[d->packing], activations[d->activation], (double)d->act_a, (double)d->act_b, d->bias != NULL,
             (d->residual != NULL) + (d->residual == residual_in_place), d->in_pitch[0], d->in_pitch[1], d->in_pitch[2],
             d->out_pitch[0], d->out_pitch[1], d->out_pitch[2], conv2d_isa_name(c->options.isa),
             c->options.kernel ? c->options.kernel : "any", record, c->parts,
             c->pool ? conv2d_pool_threads(c->pool) : 0, c->side == GUARD_LEFT ? "left" : "right", c->offset,
             (int)c->fill, c->seed);
    return text;
}

const conv_case *case_at_hand(void)
{
    return &current_case;
}

/* The output as the oracle sees it, kept from case to case while problem and data stay the same. */
static const float *expect(const conv_case *c, size_t count)
{
    static conv_case known;
    static float *expected;
    conv_case key = {.fill = c->fill, .seed = c->seed};
    memcpy(&key.desc, &c->desc, sizeof key.desc);
    if (expected && memcmp(&key.desc, &known.desc, sizeof key.desc) == 0 && key.fill == known.fill &&
        key.seed == known.seed)
        return expected;
    memcpy(&known, &key, sizeof known);
    free(expected);
    expected = malloc((count + 1) * sizeof *expected);
    if (!expected)
        case_failed("no memory for %zu expected values", count);
    fill_canary(expected, count);
    conv2d_desc d = c->desc;
    d.bias = d.bias ? bias.data : NULL;
    d.residual = d.residual ? residual.data : NULL;
    size_t height = 0, width = 0;
    oracle_output_size(&d, &height, &width);
    for (size_t n = 0; n < or1(d.batch); n++)
        for (size_t oc = 0; oc < d.out_channels; oc++)
            for (size_t y = 0; y < height; y++)
                for (size_t x = 0; x < width; x++)
                    expected[oracle_output_index(&d, n, oc, y, x)] =
                        oracle_output(&d, in.data, weights.data, n, oc, y, x);
    return expected;
}

conv2d_status prepare_case(const conv_case *c, prepared *ready)
{
    memcpy(&current_case, c, sizeof current_case);
    memset(ready, 0, sizeof *ready);
    const conv2d_status status = conv2d_plan_init(&ready->plan, &c->desc, &c->options);
    if (status != CONV2D_OK)
        return status;
    const conv2d_desc *d = &c->desc;
    const size_t parts = c->pool ? conv2d_pool_threads(c->pool) : c->parts;
    const size_t workspace_count = conv2d_workspace_size(&ready->plan, parts);
    const size_t o = c->offset;
    guarded_place(&in, in_extent(d), c->side, o);
    guarded_place(&weights, weights_extent(d), c->side, o * 5 % 16);
    guarded_place(&bias, d->bias ? d->out_channels : 0, c->side, o * 7 % 16);
    guarded_place(&packed, conv2d_packed_size(&ready->plan), c->side, o * 3 % 16);
    guarded_place(&workspace, workspace_count, c->side, o * 13 % 16);
    guarded_place(&out, out_extent(d), c->side, o * 11 % 16);
    guarded_place(&residual, d->residual ? out.count : 0, c->side, o * 9 % 16);
    fill_floats(in.data, in.count, c->fill, c->seed);
    fill_floats(weights.data, weights.count, c->fill, c->seed + 1);
    fill_floats(bias.data, bias.count, c->fill, c->seed + 2);
    fill_floats(residual.data, residual.count, c->fill, c->seed + 3);
    ready->out_count = out.count;
    ready->expected = expect(c, out.count);
    if (!c->unprotected) {
        guarded_protect(&weights, PROT_READ);
        guarded_protect(&bias, PROT_READ);
    }
    ready->args = (conv2d_args){.in = in.data,
                                .packed = packed.data,
                                .residual = d->residual == residual_in_place ? out.data
                                            : d->residual                    ? residual.data
                                                                             : NULL,
                                .out = out.data,
                                .workspace = workspace_count ? workspace.data : NULL};
    return conv2d_pack_weights(&ready->plan, weights.data, d->bias ? bias.data : NULL, packed.data);
}

static conv2d_status run_parts(const conv_case *c, const prepared *ready)
{
    if (c->pool)
        return conv2d_run_pool(c->pool, &ready->plan, &ready->args);
    if (!c->parts)
        return conv2d_run(&ready->plan, &ready->args);
    conv2d_status status = CONV2D_OK;
    for (size_t i = 0; i < c->parts && status == CONV2D_OK; i++) {
        const size_t part = (c->parts - 1 - i + (size_t)c->seed % c->parts) % c->parts;
        status = conv2d_run_part(&ready->plan, &ready->args, part, c->parts);
    }
    return status;
}

/* The residual where the output will be; the gaps between its rows keep their canaries. */
static void place_residual(const conv2d_desc *d)
{
    size_t height = 0, width = 0;
    oracle_output_size(d, &height, &width);
    for (size_t n = 0; n < or1(d->batch); n++)
        for (size_t oc = 0; oc < d->out_channels; oc++)
            for (size_t y = 0; y < height; y++)
                for (size_t x = 0; x < width; x++) {
                    const size_t at = oracle_output_index(d, n, oc, y, x);
                    out.data[at] = residual.data[at];
                }
}

/* A run may read the input and the packed weights; what was packed it must not need any more. */
static void protect_tensors(void)
{
    guarded_protect(&residual, PROT_READ);
    guarded_protect(&in, PROT_READ);
    guarded_protect(&packed, PROT_READ);
    guarded_protect(&weights, PROT_NONE);
    guarded_protect(&bias, PROT_NONE);
}

void run_case(const conv_case *c, prepared *ready)
{
    fill_canary(out.data, out.count);
    memset(workspace.data, 0xff,
           workspace.count * sizeof *workspace.data); /* NaN: what is read must have been written */
    if (c->desc.residual == residual_in_place)
        place_residual(&c->desc);
    if (!c->unprotected)
        protect_tensors();
    const unsigned int modes = float_modes();
    clear_upper_halves();
    const conv2d_status status = run_parts(c, ready);
    const bool clear = upper_halves_are_clear();
    if (status != CONV2D_OK)
        case_failed("%s: %s", conv2d_status_string(status), describe_case(c));
    if (float_modes() != modes)
        case_failed("MXCSR changed: %s", describe_case(c));
    if (!clear)
        case_failed("upper halves of vector registers are not clear: %s", describe_case(c));
    const struct {
        const char *name;
        const guarded *memory;
    } tensors[] = {{"in", &in}, {"packed", &packed}, {"residual", &residual}, {"workspace", &workspace}, {"out", &out}};
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        if (!guarded_intact(tensors[i].memory))
            case_failed("bytes around %s changed: %s", tensors[i].name, describe_case(c));
}

void compare_case(const conv_case *c, const prepared *ready)
{
    if (memcmp(ready->args.out, ready->expected, ready->out_count * sizeof(float)) == 0)
        return;
    size_t height = 0, width = 0, p[3];
    oracle_output_size(&c->desc, &height, &width);
    dense_pitch(c->desc.out_pitch,
                sizes_of(c->desc.out_layout, or1(c->desc.batch), c->desc.out_channels, height, width), p);
    for (size_t i = 0; i < ready->out_count; i++) {
        uint32_t got, expected;
        memcpy(&got, &ready->args.out[i], sizeof got);
        memcpy(&expected, &ready->expected[i], sizeof expected);
        if (got == expected || (expected != canary_bits && oracle_same(ready->args.out[i], ready->expected[i])))
            continue;
        case_failed("out[%zu] (%zu, %zu, %zu, %zu in order of layout, of %zux%zu%s) is %08" PRIx32
                    " (%.9g), expected %08" PRIx32 " (%.9g), from %s: %s",
                    i, i / p[0], i % p[0] / p[1], i % p[1] / p[2], i % p[2], height, width,
                    expected == canary_bits ? ", a gap" : "", got, (double)ready->args.out[i], expected,
                    (double)ready->expected[i], conv2d_kernel_name(&ready->plan), describe_case(c));
    }
}

conv2d_status try_case(const conv_case *c)
{
    prepared ready;
    const conv2d_status status = prepare_case(c, &ready);
    if (status != CONV2D_OK)
        return status;
    run_case(c, &ready);
    compare_case(c, &ready);
    return status;
}

void check_case(const conv_case *c)
{
    const conv2d_status status = try_case(c);
    if (status != CONV2D_OK)
        case_failed("%s: %s", conv2d_status_string(status), describe_case(c));
}

bool sums_channels(const conv2d_kernel_info *kernel)
{
    return kernel->family[0] == 'd' && strrchr(kernel->name, '_')[1] == 's';
}

size_t unrolled_rows(const conv2d_kernel_info *kernel)
{
    return strstr(kernel->name, "_kh1_") ? 1 : kernel->kernel_width;
}

bool rolls_taps(const conv2d_kernel_info *kernel)
{
    return kernel->family[0] == 'd' && strrchr(kernel->name, '_')[1] == 'r';
}

bool takes_dilation(const conv2d_kernel_info *kernel)
{
    const bool rows = kernel->family[0] == 'd' && kernel->kernel_width && !strstr(kernel->name, "_nhwc_");
    return rows && kernel->stride_w == 1 && row_stride(kernel) == 1 && !sums_channels(kernel) && !rolls_taps(kernel) &&
           (kernel->kernel_width == 3 || (kernel->kernel_width > 1 && unrolled_rows(kernel) == 1));
}

size_t row_stride(const conv2d_kernel_info *kernel)
{
    const size_t columns = kernel->stride_w ? kernel->stride_w : 2;
    return strstr(kernel->name, "_s2x1_") || strstr(kernel->name, "_s1x2_") ? 3 - columns : columns;
}

conv2d_options options_for(conv2d_isa isa)
{
    return (conv2d_options){.isa = isa, .prefer_256 = isa == CONV2D_ISA_AVX512 ? -1 : 0};
}
