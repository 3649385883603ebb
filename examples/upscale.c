/* SPDX-License-Identifier: MIT */
/*
 * Doubles a picture's width and height with ESRGAN-slim, a network of twelve convolutions.
 * usage: upscale WEIGHTS IN.png OUT.png [EXPECTED.png]
 * WEIGHTS is models/x2/group1-shard1of1.bin of the npm package @upscalerjs/esrgan-slim: for each layer its kernel
 * (HWIO), then its bias.  With a fourth picture it says how many bytes are the same.
 *
 * Each layer is planned and packed once and run on a pool.  Concatenations are never made: a layer writes its channels
 * into a slice of a wider tensor, by the pitches of its descriptor, and sums are residuals.
 */
#include <math.h>
#include <png.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d.h"

enum { MAX_LAYERS = 12, COLORS = 3, SCALE = 2, MOST_PIXELS = 1 << 27 }; /* the bytes of the large picture fit an int */

/* Tensors of the network, their channels lying together (NHWC).  JOINED holds the second block's result, the first
 * one's, and then the second one's growth; each concatenation of the network is a slice of it, or of FIRST, which is as
 * wide because a residual has the pitches of the result. */
typedef enum tensor_name { IN, ENTRY, FIRST, JOINED, MERGED, DEEP, UP1, UP2, UP3, LARGE, OUT, TENSORS } tensor_name;

static const size_t channels_of[TENSORS] = {
    [IN] = 3,   [ENTRY] = 64, [FIRST] = 132, [JOINED] = 132, [MERGED] = 64, [DEEP] = 64,
    [UP1] = 64, [UP2] = 32,   [UP3] = 12,    [LARGE] = 12,   [OUT] = COLORS};

/* A slice of a tensor's channels. */
typedef struct slice {
    tensor_name tensor;
    size_t first;
} slice;

typedef struct layer {
    const char *name;
    size_t kernel, in_channels, out_channels;
    slice from, to;
    bool relu, has_residual;
    slice residual;
} layer;

/* In the order in which the file has them, which is that of their names. */
enum { F_0, F_1_1, F_2_1, F_M1, GFF_1, GFF_2, LFF_1, LFF_2, SR, UPN1, UPN2, UPN3 };
static const layer layers[MAX_LAYERS] = {
    [F_M1] = {"F_m1", 3, 3, 64, {IN, 0}, {ENTRY, 0}, false, false, {0}},
    [F_0] = {"F_0", 3, 64, 64, {ENTRY, 0}, {FIRST, 0}, false, false, {0}},
    [F_1_1] = {"F_1_1", 3, 64, 4, {FIRST, 0}, {FIRST, 64}, true, false, {0}},
    [LFF_1] = {"LFF_1", 1, 68, 64, {FIRST, 0}, {JOINED, 64}, false, true, {FIRST, 0}},
    [F_2_1] = {"F_2_1", 3, 64, 4, {JOINED, 64}, {JOINED, 128}, true, false, {0}},
    [LFF_2] = {"LFF_2", 1, 68, 64, {JOINED, 64}, {JOINED, 0}, false, true, {JOINED, 64}},
    [GFF_1] = {"GFF_1", 1, 128, 64, {JOINED, 0}, {MERGED, 0}, false, false, {0}},
    [GFF_2] = {"GFF_2", 3, 64, 64, {MERGED, 0}, {DEEP, 0}, false, true, {ENTRY, 0}},
    [UPN1] = {"UPN1", 5, 64, 64, {DEEP, 0}, {UP1, 0}, true, false, {0}},
    [UPN2] = {"UPN2", 3, 64, 32, {UP1, 0}, {UP2, 0}, true, false, {0}},
    [UPN3] = {"UPN3", 3, 32, 12, {UP2, 0}, {UP3, 0}, false, false, {0}},
    [SR] = {"SR", 3, 12, 3, {LARGE, 0}, {OUT, 0}, false, false, {0}},
};
static const int order[] = {F_M1, F_0, F_1_1, LFF_1, F_2_1, LFF_2, GFF_1, GFF_2, UPN1, UPN2, UPN3, SR};

typedef struct network {
    size_t height, width; /* of the small picture */
    float *tensors[TENSORS];
    float *weights;
} network;

static bool complain(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return false;
}

static size_t weights_of(const layer *l)
{
    return l->kernel * l->kernel * l->in_channels * l->out_channels;
}

static bool is_large(tensor_name tensor)
{
    return tensor == LARGE || tensor == OUT;
}

static size_t pixels_of(const network *n, tensor_name tensor)
{
    return n->height * n->width * (is_large(tensor) ? SCALE * SCALE : 1);
}

/* JOINED has the second block's result first, the network's concatenation the first one's. */
static void swap_halves(float *kernel, size_t values)
{
    for (size_t i = 0; i < values / 2; i++) {
        const float value = kernel[i];
        kernel[i] = kernel[i + values / 2];
        kernel[i + values / 2] = value;
    }
}

static float *kernel_of(const network *n, int number)
{
    float *kernel = n->weights;
    for (int i = 0; i < number; i++)
        kernel += weights_of(&layers[i]) + layers[i].out_channels;
    return kernel;
}

static bool read_weights(network *n, const char *path)
{
    size_t count = 0;
    for (size_t i = 0; i < MAX_LAYERS; i++)
        count += weights_of(&layers[i]) + layers[i].out_channels;
    n->weights = malloc(count * sizeof *n->weights);
    FILE *file = fopen(path, "rb");
    const bool good =
        n->weights && file && fread(n->weights, sizeof *n->weights, count, file) == count && fgetc(file) == EOF;
    if (file)
        fclose(file);
    if (good)
        swap_halves(kernel_of(n, GFF_1), weights_of(&layers[GFF_1]));
    return good || complain(path, "not the weights of ESRGAN-slim x2");
}

static bool make_tensors(network *n)
{
    for (int t = 0; t < TENSORS; t++) {
        n->tensors[t] = malloc(pixels_of(n, (tensor_name)t) * channels_of[t] * sizeof(float));
        if (!n->tensors[t])
            return complain("upscale", "out of memory");
    }
    return true;
}

static float *start_of(const network *n, slice s)
{
    return n->tensors[s.tensor] + s.first;
}

/* Pitches of a tensor as wide as this one. */
static void set_pitches(size_t pitch[3], tensor_name tensor, size_t height, size_t width)
{
    pitch[2] = channels_of[tensor];
    pitch[1] = pitch[2] * width;
    pitch[0] = pitch[1] * height;
}

static bool run_layer(const network *n, int number, conv2d_pool *pool)
{
    const layer *l = &layers[number];
    const size_t scale = is_large(l->to.tensor) ? SCALE : 1, height = n->height * scale, width = n->width * scale;
    const size_t pad = l->kernel / 2;
    const float *kernel = kernel_of(n, number), *bias = kernel + weights_of(l);
    conv2d_desc desc = {.in_channels = l->in_channels,
                        .in_height = height,
                        .in_width = width,
                        .out_channels = l->out_channels,
                        .kernel_height = l->kernel,
                        .kernel_width = l->kernel,
                        .pad_top = pad,
                        .pad_bottom = pad,
                        .pad_left = pad,
                        .pad_right = pad,
                        .in_layout = CONV2D_NHWC,
                        .out_layout = CONV2D_NHWC,
                        .weights_layout = CONV2D_HWIO,
                        .bias = bias,
                        .residual = l->has_residual ? start_of(n, l->residual) : NULL,
                        .activation = l->relu ? CONV2D_RELU : CONV2D_NONE};
    set_pitches(desc.in_pitch, l->from.tensor, height, width);
    set_pitches(desc.out_pitch, l->to.tensor, height, width);
    conv2d_plan plan;
    conv2d_status status = conv2d_plan_init(&plan, &desc, NULL);
    float *packed = malloc((conv2d_packed_size(&plan) + 1) * sizeof *packed);
    float *workspace = malloc((conv2d_workspace_size(&plan, conv2d_pool_threads(pool)) + 1) * sizeof *workspace);
    const conv2d_args args = {start_of(n, l->from), packed, desc.residual, start_of(n, l->to), workspace};
    if (!status)
        status = packed && workspace ? conv2d_pack_weights(&plan, kernel, bias, packed) : CONV2D_NO_MEMORY;
    if (!status)
        status = conv2d_run_pool(pool, &plan, &args);
    free(packed);
    free(workspace);
    return status ? complain(l->name, conv2d_status_string(status)) : true;
}

/* Every pixel becomes four. */
static void enlarge(const network *n)
{
    const size_t channels = channels_of[LARGE], width = n->width * SCALE;
    for (size_t y = 0; y < n->height * SCALE; y++)
        for (size_t x = 0; x < width; x++)
            memcpy(n->tensors[LARGE] + (y * width + x) * channels,
                   n->tensors[UP3] + (y / SCALE * n->width + x / SCALE) * channels, channels * sizeof(float));
}

static bool run_network(const network *n)
{
    conv2d_pool *pool = conv2d_pool_create(0, NULL);
    bool good = pool || complain("upscale", "no threads");
    for (size_t i = 0; good && i < MAX_LAYERS; i++) {
        if (order[i] == SR)
            enlarge(n);
        good = run_layer(n, order[i], pool);
    }
    conv2d_pool_destroy(pool);
    return good;
}

/* Bytes of red, green and blue; the caller's to free. */
static png_bytep read_picture(const char *path, png_image *image)
{
    *image = (png_image){.version = PNG_IMAGE_VERSION};
    png_bytep bytes = NULL;
    if (png_image_begin_read_from_file(image, path)) {
        if (image->width > MOST_PIXELS / image->height) {
            png_image_free(image);
            complain(path, "more than 2^27 pixels");
            return NULL;
        }
        image->format = PNG_FORMAT_RGB;
        bytes = malloc(PNG_IMAGE_SIZE(*image));
        if (bytes && png_image_finish_read(image, NULL, bytes, 0, NULL))
            return bytes;
    }
    complain(path, image->message);
    png_image_free(image);
    free(bytes);
    return NULL;
}

static void to_bytes(const float *values, png_bytep bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (png_byte)rintf(fminf(fmaxf(values[i], 0), 255));
}

static bool compare(const char *path, const png_image *image, png_const_bytep bytes)
{
    png_image other;
    png_bytep expected = read_picture(path, &other);
    if (!expected)
        return false;
    const size_t count = PNG_IMAGE_SIZE(*image);
    const bool comparable = other.width == image->width && other.height == image->height;
    size_t same = 0;
    int most = 0;
    for (size_t i = 0; comparable && i < count; i++) {
        const int difference = abs(bytes[i] - expected[i]);
        same += difference == 0;
        most = difference > most ? difference : most;
    }
    free(expected);
    if (!comparable)
        return complain(path, "a picture of another size");
    printf("%zu of %zu bytes are those of %s, the others differ by at most %d\n", same, count, path, most);
    return true;
}

static bool upscale(network *n, char **paths, int count)
{
    png_image small, large = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    png_bytep in = read_picture(paths[1], &small);
    if (!in)
        return false;
    n->height = small.height;
    n->width = small.width;
    large.height = small.height * SCALE;
    large.width = small.width * SCALE;
    png_bytep out = malloc(PNG_IMAGE_SIZE(large));
    bool good = out && read_weights(n, paths[0]) && make_tensors(n);
    for (size_t i = 0; good && i < PNG_IMAGE_SIZE(small); i++)
        n->tensors[IN][i] = in[i];
    good = good && run_network(n);
    if (good)
        to_bytes(n->tensors[OUT], out, PNG_IMAGE_SIZE(large));
    if (good && !png_image_write_to_file(&large, paths[2], 0, out, 0, NULL))
        good = complain(paths[2], large.message);
    good = good && (count < 4 || compare(paths[3], &large, out));
    free(out);
    free(in);
    return good;
}

int main(int argc, char **argv)
{
    network n = {0};
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: upscale WEIGHTS IN.png OUT.png [EXPECTED.png]\n");
        return 2;
    }
    const bool good = upscale(&n, argv + 1, argc - 1);
    for (size_t t = 0; t < TENSORS; t++)
        free(n.tensors[t]);
    free(n.weights);
    return good ? 0 : 1;
}
