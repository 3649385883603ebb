/* SPDX-License-Identifier: MIT */
#include "peer_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "values.h"

/*
 * A sum of n products in any order is off by about sqrt(n) roundings of its partial sums, none of which exceeds the
 * sum of the absolute products; the factor is for bad luck.  An input rounded to bfloat16 is far outside.
 */
static const double ROUNDINGS = 4;
/* Winograd's transforms add and subtract values much larger than the result. */
static const double WINOGRAD_ROUNDINGS = 256;

static void make_absolute(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fabsf(values[i]);
}

/* Runs the problem without its activation, which enlarges a difference by its slope at most. */
static bool sum_absolute_products(const workload *load, const conv2d_options *options, float *sums)
{
    workload absolute = *load;
    absolute.desc.activation = CONV2D_NONE;
    runner r;
    const bool good = runner_make(&r, &absolute, 1, options) == CONV2D_OK;
    r.args.out = sums;
    const bool run = good && conv2d_run(&r.plan, &r.args) == CONV2D_OK;
    runner_free(&r);
    return run;
}

/* The largest slope of the activation: 1.5 of a hard swish, 1.13 of a GELU, 1.1 of a SiLU, 1.09 of a Mish. */
static double steepest(const conv2d_desc *d)
{
    return d->activation == CONV2D_LEAKY_RELU ? fabs((double)d->act_a) : d->activation >= CONV2D_HARD_SWISH ? 1.5 : 1;
}

bool peer_scale_make(peer_scale *scale, workload *load, const conv2d_options *options)
{
    const conv2d_desc *const d = &load->desc;
    const double taps = (double)(d->in_channels / d->groups * d->kernel_height * d->kernel_width);
    const double slope = steepest(d);
    scale->tolerance = 0x1p-24 * sqrt(taps + 1) * (slope > 1 ? slope : 1);
    scale->sums = allocate_floats(load->outputs);
    if (!scale->sums)
        return false;
    make_absolute(load->in, load->in_floats);
    make_absolute(load->weights, load->weight_floats);
    make_absolute(load->bias, d->out_channels);
    const bool good = sum_absolute_products(load, options, scale->sums);
    workload_fill(load);
    if (!good)
        peer_scale_free(scale);
    return good;
}

void peer_scale_free(peer_scale *scale)
{
    free(scale->sums);
    scale->sums = NULL;
}

/* The error of one value; a NaN compares false with everything and must not pass. */
static double error_of(float theirs, float ours, double allowed)
{
    const double difference = fabs((double)theirs - (double)ours);
    if (theirs == ours)
        return 0;
    return difference <= HUGE_VAL && allowed > 0 ? difference / allowed : HUGE_VAL;
}

static double largest_error(FILE *theirs, const float *ours, const float *sums, size_t count, double tolerance)
{
    enum { CHUNK = 1 << 14 };
    static float chunk[CHUNK];
    double largest = 0;
    size_t at = 0;
    for (size_t got; (got = fread(chunk, sizeof *chunk, CHUNK, theirs)) > 0; at += got)
        for (size_t i = 0; i < got && at + i < count; i++) {
            const double error = error_of(chunk[i], ours[at + i], tolerance * (double)sums[at + i]);
            largest = error > largest ? error : largest;
        }
    return at == count ? largest : HUGE_VAL;
}

bool peer_check(peer *p, const peer_scale *scale, const workload *load, bool winograd, double *error,
                char text[PEER_LINE_SIZE])
{
    /* A file without a name: nothing is left behind, whatever happens. */
    FILE *const file = tmpfile();
    if (!file) {
        snprintf(text, PEER_LINE_SIZE, "no temporary file for its result");
        return false;
    }
    char command[80];
    snprintf(command, sizeof command, "output /proc/%ld/fd/%d", (long)getpid(), fileno(file));
    const bool good = peer_ask(p, command, "written", text);
    if (good)
        *error = largest_error(file, load->out, scale->sums, load->outputs,
                               scale->tolerance * (winograd ? WINOGRAD_ROUNDINGS : ROUNDINGS));
    fclose(file);
    return good;
}
