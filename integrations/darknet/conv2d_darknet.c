/* SPDX-License-Identifier: MIT */
#include "conv2d_darknet.h"

#include <conv2d.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* What the layers of one network share: they run one after the other. */
typedef struct team {
    conv2d_pool *pool; /* NULL: one thread */
    float *workspace;
    size_t workspace_size; /* floats */
    size_t layers, runs;
} team;

/* What a claimed layer has in self_layer, which darknet uses in recurrent layers only, and never frees. */
typedef struct claim {
    void (*forward)(layer, network);  /* darknet's */
    void (*shortcut)(layer, network); /* darknet's, of the next layer, if that one is computed here too; or NULL */
    bool shortcut_done;               /* by the run of this layer just before */
    team *team;
    float *packed;
    conv2d_desc desc; /* what plan was made for; its bias is a mark, see conv2d_plan_init */
    conv2d_plan plan;
} claim;

static const struct {
    ACTIVATION theirs;
    conv2d_activation ours;
    float parameter;
} activations[] = {
    {LINEAR, CONV2D_NONE, 0}, {RELU, CONV2D_RELU, 0}, {LEAKY, CONV2D_LEAKY_RELU, .1f}, {LOGISTIC, CONV2D_SIGMOID, 0}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static void forward(layer l, network net);
static void forward_shortcut(layer l, network net);

static claim *claim_of(const layer *l)
{
    return l->type == CONVOLUTIONAL && l->forward == forward ? (claim *)(void *)l->self_layer : NULL;
}

/* The row of activations[], or ACTIVATIONS if there is none. */
static size_t find_activation(ACTIVATION theirs)
{
    size_t row = 0;
    while (row < ACTIVATIONS && activations[row].theirs != theirs)
        row++;
    return row;
}

static bool can_claim(const layer *l)
{
    return l->type == CONVOLUTIONAL && !l->binary && !l->xnor && find_activation(l->activation) < ACTIVATIONS;
}

/* Whether a layer behind `index + 1` reads what layer `index` stores. */
static bool is_read_later(const network *net, int index)
{
    for (int i = index + 2; i < net->n; i++) {
        const layer *l = &net->layers[i];
        if (l->type == SHORTCUT && l->index == index)
            return true;
        for (int k = 0; l->type == ROUTE && k < l->n; k++) {
            if (l->input_layers[k] == index)
                return true;
        }
    }
    return false;
}

/* The shortcut layer behind layer `index` that can be its residual, or NULL. */
static layer *find_shortcut(const network *net, int index)
{
    const layer *l = &net->layers[index];
    layer *next = index + 1 < net->n ? &net->layers[index + 1] : NULL;
    const bool sum = next && next->type == SHORTCUT && next->alpha == 1 && next->beta == 1 && next->index != index;
    const bool same = sum && next->w == next->out_w && next->h == next->out_h && next->c == next->out_c;
    return same && l->activation == LINEAR && find_activation(next->activation) < ACTIVATIONS &&
                   !is_read_later(net, index)
               ? next
               : NULL;
}

/* shortcut: the one that is the residual, or NULL. */
static conv2d_desc describe(const layer *l, const layer *shortcut)
{
    const size_t row = find_activation((shortcut ? shortcut : l)->activation), pad = (size_t)l->pad;
    return (conv2d_desc){
        .batch = (size_t)l->batch,
        .in_channels = (size_t)l->c,
        .in_height = (size_t)l->h,
        .in_width = (size_t)l->w,
        .out_channels = (size_t)l->n,
        .kernel_height = (size_t)l->size,
        .kernel_width = (size_t)l->size,
        .stride_h = (size_t)l->stride,
        .stride_w = (size_t)l->stride,
        .groups = (size_t)l->groups,
        .pad_top = pad,
        .pad_bottom = pad,
        .pad_left = pad,
        .pad_right = pad,
        .bias = l->biases,
        .residual = shortcut ? shortcut->output : NULL,
        .activation = activations[row].ours,
        .act_a = activations[row].parameter,
    };
}

/* Has room for so many floats: false if there is no memory. */
static bool reserve_workspace(team *t, size_t size)
{
    if (size <= t->workspace_size)
        return true;
    float *larger = realloc(t->workspace, size * sizeof *larger);
    if (!larger)
        return false;
    t->workspace = larger;
    t->workspace_size = size;
    return true;
}

/* Makes the plan, and a workspace that it can use: false if that fails, and then the claim is as it was. */
static bool make_plan(claim *c, const conv2d_desc *desc)
{
    conv2d_plan plan;
    team *t = c->team;
    if (conv2d_plan_init(&plan, desc, NULL) != CONV2D_OK ||
        !reserve_workspace(t, conv2d_workspace_size(&plan, t->pool ? conv2d_pool_threads(t->pool) : 1)))
        return false;
    c->plan = plan;
    c->desc = *desc;
    return true;
}

/* Weights and biases with batch normalisation in them, as darknet does it: (x - mean) / (sqrt(variance) + 1e-6) *
 * scale + bias.  In double, so that each folded number is rounded once. */
static void fold(const layer *l, float *weights, float *biases)
{
    const size_t taps = (size_t)(l->c / l->groups) * (size_t)l->size * (size_t)l->size;
    for (size_t n = 0; n < (size_t)l->n; n++) {
        const double factor = l->batch_normalize ? l->scales[n] / (sqrt(l->rolling_variance[n]) + 1e-6f) : 1;
        const double mean = l->batch_normalize ? l->rolling_mean[n] : 0;
        for (size_t i = 0; i < taps; i++)
            weights[n * taps + i] = (float)(l->weights[n * taps + i] * factor);
        biases[n] = (float)(l->biases[n] - mean * factor);
    }
}

static bool pack(claim *c, const layer *l)
{
    const size_t filters = (size_t)l->n;
    float *folded = malloc(sizeof *folded * ((size_t)l->nweights + filters));
    c->packed = aligned_alloc(64, (conv2d_packed_size(&c->plan) * sizeof(float) + 63) / 64 * 64);
    const bool good = folded && c->packed;
    if (good) {
        float *biases = folded + l->nweights;
        fold(l, folded, biases);
        conv2d_pack_weights(&c->plan, folded, biases, c->packed);
    }
    free(folded);
    return good;
}

/* The network may have been resized, or have another batch, since the plan was made. */
static bool fits(claim *c, const layer *l)
{
    return c->desc.in_height == (size_t)l->h && c->desc.in_width == (size_t)l->w && c->desc.batch == (size_t)l->batch;
}

/* What forward_network calls. */
static void forward(layer l, network net)
{
    claim *c = (claim *)(void *)l.self_layer;
    const layer *shortcut = c->shortcut ? &net.layers[net.index + 1] : NULL;
    const conv2d_desc desc = describe(&l, shortcut);
    c->shortcut_done = false;
    if (net.train || (!fits(c, &l) && !make_plan(c, &desc))) {
        c->forward(l, net);
        return;
    }
    team *t = c->team;
    const conv2d_args args = {.in = net.input,
                              .packed = c->packed,
                              .residual = shortcut ? net.layers[shortcut->index].output : NULL,
                              .out = shortcut ? shortcut->output : l.output,
                              .workspace = t->workspace};
    const conv2d_status status = t->pool ? conv2d_run_pool(t->pool, &c->plan, &args) : conv2d_run(&c->plan, &args);
    if (status == CONV2D_OK) {
        t->runs++;
        c->shortcut_done = shortcut;
    } else {
        c->forward(l, net);
    }
}

static void forward_shortcut(layer l, network net)
{
    const claim *c = (const claim *)(const void *)l.self_layer;
    if (!c->shortcut_done)
        c->shortcut(l, net);
}

static void release(claim *c)
{
    if (c)
        free(c->packed);
    free(c);
}

static claim *make_claim(const layer *l, const layer *shortcut, team *t)
{
    claim *c = calloc(1, sizeof *c);
    const conv2d_desc desc = describe(l, shortcut);
    if (c) {
        c->forward = l->forward;
        c->shortcut = shortcut ? shortcut->forward : NULL;
        c->team = t;
    }
    if (c && make_plan(c, &desc) && pack(c, l))
        return c;
    release(c);
    return NULL;
}

static void free_team(team *t)
{
    if (!t)
        return;
    conv2d_pool_destroy(t->pool);
    free(t->workspace);
    free(t);
}

static team *make_team(size_t threads)
{
    team *t = calloc(1, sizeof *t);
    if (t && threads != 1 && !(t->pool = conv2d_pool_create(threads, NULL))) {
        free(t);
        t = NULL;
    }
    return t;
}

/* false: no memory. */
static bool attach_layer(network *net, int index, team *t)
{
    layer *l = &net->layers[index], *shortcut = find_shortcut(net, index);
    claim *c = make_claim(l, shortcut, t);
    if (!c)
        return false;
    l->self_layer = (layer *)(void *)c;
    l->forward = forward;
    if (shortcut) {
        shortcut->self_layer = (layer *)(void *)c;
        shortcut->forward = forward_shortcut;
    }
    t->layers++;
    return true;
}

int conv2d_darknet_attach_threads(network *net, size_t threads)
{
    conv2d_darknet_detach(net);
    team *t = make_team(threads);
    bool good = t;
    for (int i = 0; good && i < net->n; i++)
        good = !can_claim(&net->layers[i]) || attach_layer(net, i, t);
    const int layers = t ? (int)t->layers : 0;
    if (!good)
        conv2d_darknet_detach(net);
    if (!layers)
        free_team(t); /* else the layers have it */
    return good ? layers : -1;
}

int conv2d_darknet_attach(network *net)
{
    return conv2d_darknet_attach_threads(net, 1);
}

void conv2d_darknet_detach(network *net)
{
    team *t = NULL;
    for (int i = 0; i < net->n; i++) {
        claim *c = claim_of(&net->layers[i]);
        if (!c)
            continue;
        t = c->team;
        net->layers[i].forward = c->forward;
        net->layers[i].self_layer = NULL;
        if (c->shortcut) {
            net->layers[i + 1].forward = c->shortcut;
            net->layers[i + 1].self_layer = NULL;
        }
        release(c);
    }
    free_team(t);
}

size_t conv2d_darknet_runs(const network *net)
{
    for (int i = 0; i < net->n; i++) {
        const claim *c = claim_of(&net->layers[i]);
        if (c)
            return c->team->runs;
    }
    return 0;
}
