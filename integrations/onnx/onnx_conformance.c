/* SPDX-License-Identifier: MIT */
/*
 * Runs the single-node Conv cases of ONNX's conformance data through the C interface: folders with model.onnx and
 * test_data_set_0.  A result must be as near the expected one as the rounding of its own sum allows.
 * usage: onnx_conformance CASE_FOLDER...
 * Prints a line a case, and how many were run; other models are passed over.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv_attributes.h"
#include "model_file.h"

enum { DATA, WEIGHTS, BIAS, OPERANDS, EXPECTED = OPERANDS, TENSORS, PATH_SIZE = 4096 };

typedef struct conv_case {
    const char *folder;
    model_file model;
    model_tensor tensors[TENSORS];
    conv2d_desc desc;
} conv_case;

static bool complain(const conv_case *c, const char *what)
{
    printf("%s: %s\n", c->folder, what);
    return false;
}

static bool read_data(const conv_case *c, const char *kind, size_t index, model_tensor *tensor)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->folder, kind, index);
    return tensor_file_read(path, tensor);
}

/* A file of the case, or else a constant of the model, whose data moves. */
static bool read_operand(conv_case *c, size_t operand)
{
    const char *name = c->model.inputs[operand];
    for (size_t i = 0; i < c->model.graph_input_count; i++)
        if (strcmp(c->model.graph_inputs[i], name) == 0 && read_data(c, "input", i, &c->tensors[operand]))
            return c->tensors[operand].data != NULL;
    for (size_t i = 0; i < c->model.constant_count; i++)
        if (strcmp(c->model.constants[i].name, name) == 0) {
            c->tensors[operand] = c->model.constants[i];
            c->model.constants[i].data = NULL;
            return c->tensors[operand].data != NULL;
        }
    return false;
}

/* Images or output channels, channels, rows, columns. */
static void dims_of(const model_tensor *t, size_t dims[4])
{
    dims[2] = 1;
    for (size_t i = 0; i < t->rank; i++)
        dims[i == 2 && t->rank == 3 ? 3 : i] = (size_t)t->dims[i];
}

static bool describe(conv_case *c)
{
    size_t in[4], weights[4];
    conv_attributes attributes = conv_attributes_default(c->tensors[WEIGHTS].rank);
    const char *fault = NULL;
    for (size_t i = 0; !fault && i < c->model.attribute_count; i++) {
        const model_attribute *a = &c->model.attributes[i];
        fault = strcmp(a->name, "auto_pad") == 0 ? conv_attributes_set_auto_pad(&attributes, a->text)
                                                 : conv_attributes_set(&attributes, a->name, a->values, a->count);
    }
    dims_of(&c->tensors[DATA], in);
    dims_of(&c->tensors[WEIGHTS], weights);
    if (!fault)
        fault = conv_attributes_describe(&attributes, in, weights, &c->desc);
    c->desc.bias = c->tensors[BIAS].data;
    return fault ? complain(c, fault) : true;
}

/* The sum of an output in double precision, and that of the magnitudes of its terms. */
static void sum_terms(const conv_case *c, const size_t at[4], double *sum, double *magnitude)
{
    const conv2d_desc *d = &c->desc;
    const size_t channels = d->in_channels / d->groups, group = at[1] / (d->out_channels / d->groups);
    *sum = d->bias ? d->bias[at[1]] : 0;
    *magnitude = fabs(*sum);
    for (size_t ic = 0; ic < channels; ic++)
        for (size_t kh = 0; kh < d->kernel_height; kh++)
            for (size_t kw = 0; kw < d->kernel_width; kw++) {
                const size_t y = at[2] * d->stride_h + kh * d->dilation_h - d->pad_top; /* wraps below 0 */
                const size_t x = at[3] * d->stride_w + kw * d->dilation_w - d->pad_left;
                if (y >= d->in_height || x >= d->in_width)
                    continue;
                const size_t plane = at[0] * d->in_channels + group * channels + ic;
                const double product =
                    (double)c->tensors[DATA].data[(plane * d->in_height + y) * d->in_width + x] *
                    c->tensors[WEIGHTS].data[((at[1] * channels + ic) * d->kernel_height + kh) * d->kernel_width + kw];
                *sum += product;
                *magnitude += fabs(product);
            }
}

/* The largest error of `values` in units of its bound: n roundings change a sum by at most n u / (1 - n u) of the sum
 * of its terms' magnitudes, in whatever order it was made. */
static double worst_error(const conv_case *c, const float *values, size_t height, size_t width)
{
    const conv2d_desc *d = &c->desc;
    const double roundings = (double)(d->in_channels / d->groups * d->kernel_height * d->kernel_width + 1) * 0x1p-24;
    const double gamma = roundings / (1 - roundings);
    double worst = 0;
    for (size_t i = 0; i < d->batch * d->out_channels * height * width; i++) {
        const size_t plane = i / (height * width), pixel = i % (height * width);
        const size_t at[4] = {plane / d->out_channels, plane % d->out_channels, pixel / width, pixel % width};
        double sum, magnitude;
        sum_terms(c, at, &sum, &magnitude);
        const double error = fabs(values[i] - sum);
        const double share = error == 0 ? 0 : magnitude > 0 ? error / (gamma * magnitude) : INFINITY;
        if (!(share <= worst))
            worst = isnan(share) ? INFINITY : share;
    }
    return worst;
}

static bool run(const conv_case *c)
{
    size_t height, width;
    const conv2d_status sized = conv2d_output_size(&c->desc, &height, &width);
    const size_t count = c->desc.batch * c->desc.out_channels * height * width;
    if (sized || count != c->tensors[EXPECTED].count)
        return complain(c, sized ? conv2d_status_string(sized) : "the result has another size");
    float *out = malloc(count * sizeof *out);
    if (!out)
        return complain(c, "out of memory");
    const conv2d_status status = conv2d_f32(&c->desc, c->tensors[DATA].data, c->tensors[WEIGHTS].data, out);
    const double ours = worst_error(c, out, height, width);
    const double theirs = worst_error(c, c->tensors[EXPECTED].data, height, width);
    free(out);
    if (status)
        return complain(c, conv2d_status_string(status));
    printf("%s: %.3f of the bound, the expected result %.3f\n", c->folder, ours, theirs);
    return ours <= 1 && theirs <= 1;
}

static bool is_conv(const conv_case *c)
{
    return c->model.nodes == 1 && strcmp(c->model.type, "Conv") == 0;
}

/* 1 if it is a case and good, 0 if it is none of ours, -1 if it fails. */
static int try_case(const char *folder)
{
    conv_case c = {.folder = folder};
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    int result = 0;
    if (model_file_read(path, &c.model) && is_conv(&c)) {
        bool good = c.model.input_count >= 2 && c.model.input_count <= OPERANDS;
        for (size_t i = 0; good && i < c.model.input_count; i++)
            good = read_operand(&c, i);
        good = good && read_data(&c, "output", 0, &c.tensors[EXPECTED]) && c.tensors[EXPECTED].data;
        if (!good)
            complain(&c, "its tensors cannot be read");
        if (good && c.tensors[WEIGHTS].rank != 3 && c.tensors[WEIGHTS].rank != 4)
            result = 0;
        else
            result = good && describe(&c) && run(&c) ? 1 : -1;
    }
    for (size_t i = 0; i < TENSORS; i++)
        free(c.tensors[i].data);
    model_file_release(&c.model);
    return result;
}

int main(int argc, char **argv)
{
    size_t counts[3] = {0};
    for (int i = 1; i < argc; i++)
        counts[try_case(argv[i]) + 1]++;
    printf("%zu cases good, %zu failed, %zu models are no such case\n", counts[2], counts[0], counts[1]);
    return counts[0] ? 1 : 0;
}
