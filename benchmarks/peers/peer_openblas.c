/* SPDX-License-Identifier: MIT */
/* im2col and OpenBLAS's sgemm, in blocks of rows that fit a cache: what many write themselves.  NCHW only. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

/* The matrix of a block of output rows: fits a usual L2 beside the weights' panel. */
enum { BLOCK_FLOATS = 1 << 17 };

static struct {
    float *columns, *out;
    size_t rows; /* of the output, in a block */
    bool direct; /* the input already is the matrix */
} made;

static void set_environment(size_t threads, conv2d_isa isa)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", threads);
    setenv("OPENBLAS_NUM_THREADS", number, 1);
    if (isa != CONV2D_ISA_ANY)
        setenv("OPENBLAS_CORETYPE", isa == CONV2D_ISA_AVX2 ? "Haswell" : "SkylakeX", 1);
}

static bool start(size_t threads, conv2d_isa isa, char text[PEER_TEXT_SIZE])
{
    (void)threads, (void)isa; /* were in the environment */
    /* "OpenBLAS 0.3.21 and how it was built" */
    const char *const version = openblas_get_config(), *const second = strchr(version, ' ') + 1;
    snprintf(text, PEER_TEXT_SIZE, "im2col and %.*s, core %s", (int)(second - version) + (int)strcspn(second, " "),
             version, openblas_get_corename());
    return true;
}

static void drop(void)
{
    free(made.columns);
    free(made.out);
    memset(&made, 0, sizeof made);
}

static bool make(const peer_task *t, char text[PEER_TEXT_SIZE])
{
    const conv2d_desc *const d = &t->desc;
    const size_t taps = d->in_channels / d->groups * d->kernel_height * d->kernel_width;
    if (d->activation > CONV2D_LEAKY_RELU) {
        snprintf(text, PEER_TEXT_SIZE, "no such activation here, which would be the loop of this adapter");
        return false;
    }
    const size_t fitting = BLOCK_FLOATS / (taps * t->out_width);
    made.rows = fitting < 1 ? 1 : fitting < t->out_height ? fitting : t->out_height;
    made.direct = d->kernel_height * d->kernel_width == 1 && d->stride_h * d->stride_w == 1 &&
                  d->pad_top + d->pad_bottom + d->pad_left + d->pad_right == 0;
    made.columns = peer_floats(made.direct ? 0 : taps * made.rows * t->out_width, 0);
    made.out = peer_floats(t->out_floats, 0);
    if (made.direct)
        snprintf(text, PEER_TEXT_SIZE, "sgemm");
    else
        snprintf(text, PEER_TEXT_SIZE, "sgemm, rows at a time: %zu", made.rows);
    if (!made.columns || !made.out)
        snprintf(text, PEER_TEXT_SIZE, "no memory");
    return made.columns && made.out;
}

/* One row of the matrix: what tap (kh, kw) sees in `rows` output rows from `first` on. */
static void fill_row(const peer_task *t, const float *plane, size_t kh, size_t kw, size_t first, size_t rows, float *to)
{
    const conv2d_desc *const d = &t->desc;
    for (size_t row = first; row < first + rows; row++, to += t->out_width) {
        const size_t y = row * d->stride_h + kh * d->dilation_h - d->pad_top;
        if (y >= d->in_height) { /* also what is negative */
            memset(to, 0, t->out_width * sizeof *to);
            continue;
        }
        const float *const from = plane + y * d->in_width;
        for (size_t column = 0; column < t->out_width; column++) {
            const size_t x = column * d->stride_w + kw * d->dilation_w - d->pad_left;
            to[column] = x < d->in_width ? from[x] : 0;
        }
    }
}

static void fill_columns(const peer_task *t, const float *in, size_t channels, size_t first, size_t rows)
{
    const conv2d_desc *const d = &t->desc;
    float *to = made.columns;
    for (size_t channel = 0; channel < channels; channel++)
        for (size_t kh = 0; kh < d->kernel_height; kh++)
            for (size_t kw = 0; kw < d->kernel_width; kw++, to += rows * t->out_width)
                fill_row(t, in + channel * d->in_height * d->in_width, kh, kw, first, rows, to);
}

static float activate(const conv2d_desc *d, float x)
{
    switch (d->activation) {
    case CONV2D_RELU:
        return x > 0 ? x : 0;
    case CONV2D_CLAMP:
        return x < d->act_a ? d->act_a : x > d->act_b ? d->act_b : x;
    case CONV2D_LEAKY_RELU:
        return x < 0 ? d->act_a * x : x;
    default:
        return x;
    }
}

/* Bias and activation, after a block while it is in a cache. */
static void finish(const conv2d_desc *d, float *out, size_t first_channel, size_t channels, size_t pitch, size_t count)
{
    if (!d->bias && d->activation == CONV2D_NONE)
        return;
    for (size_t channel = 0; channel < channels; channel++) {
        const float bias = d->bias ? d->bias[first_channel + channel] : 0;
        for (size_t i = 0; i < count; i++)
            out[channel * pitch + i] = activate(d, out[channel * pitch + i] + bias);
    }
}

/* One group of one image. */
static void run_group(const peer_task *t, const float *in, float *out, size_t group)
{
    const conv2d_desc *const d = &t->desc;
    const size_t ic = d->in_channels / d->groups, oc = d->out_channels / d->groups;
    const size_t taps = ic * d->kernel_height * d->kernel_width, pixels = t->out_height * t->out_width;
    const size_t step = made.direct ? t->out_height : made.rows;
    for (size_t first = 0; first < t->out_height; first += step) {
        const size_t rows = step < t->out_height - first ? step : t->out_height - first;
        const size_t count = rows * t->out_width;
        if (!made.direct)
            fill_columns(t, in, ic, first, rows);
        float *const to = out + first * t->out_width;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)oc, (blasint)count, (blasint)taps, 1,
                    t->weights + group * oc * taps, (blasint)taps, made.direct ? in : made.columns, (blasint)count, 0,
                    to, (blasint)pixels);
        finish(d, to, group * oc, oc, pixels, count);
    }
}

static bool run(const peer_task *t)
{
    const conv2d_desc *const d = &t->desc;
    const size_t in_step = d->in_channels / d->groups * d->in_height * d->in_width;
    const size_t out_step = d->out_channels / d->groups * t->out_height * t->out_width;
    for (size_t i = 0; i < d->batch * d->groups; i++)
        run_group(t, t->in + i * in_step, made.out + i * out_step, i % d->groups);
    return true;
}

static bool read_output(const peer_task *t, float *out)
{
    memcpy(out, made.out, t->out_floats * sizeof *out);
    return true;
}

int main(int argument_count, char **arguments)
{
    const peer_library library = {.modes = "nchw",
                                  .set_environment = set_environment,
                                  .start = start,
                                  .make = make,
                                  .run = run,
                                  .read = read_output,
                                  .drop = drop};
    return peer_main(&library, argument_count, arguments);
}
