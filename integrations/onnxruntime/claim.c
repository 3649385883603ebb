/* SPDX-License-Identifier: MIT */
/*
 * Which nodes become one: a convolution with elementwise nodes that follow it.  All that others can read of a group is
 * the result of its last node, to which all its nodes lead; so no path leaves a group and comes back, and the graph
 * with groups as nodes has no cycle.
 */
#include "claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lone.h"
#include "program.h"

enum { NO_GROUP = -1, MAX_GROUP = MAX_STEPS + 4 };

typedef struct claimer {
    const ort_api *api;
    const ort_ep_api *ep_api;
    const ort_logger *logger;
    ort_support *support;
    graph graph;
    int *group;       /* of each node: the number of its group, or NO_GROUP */
    int *last_reader; /* of each node's results: the last node that reads one, or NO_NODE */
    int groups;       /* made so far; the one that grows has this number */
} claimer;

/* The members of the group that grows, in the order they came. */
typedef struct members {
    int nodes[MAX_GROUP];
    size_t count;
} members;

static bool is_member(const members *m, int node)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->nodes[i] == node)
            return true;
    return false;
}

static bool reads_group(const claimer *c, int node, const members *m)
{
    for (size_t i = 0; i < c->graph.nodes[node].input_count; i++)
        if (is_member(m, c->graph.nodes[node].inputs[i].producer))
            return true;
    return false;
}

/* Nodes outside read from one member only, and that is the last one. */
static bool has_one_result(const claimer *c, const members *m)
{
    size_t visible = 0;
    for (size_t i = 0; i < m->count; i++) {
        bool outside = c->graph.nodes[m->nodes[i]].outputs[0].is_output;
        for (int node = m->nodes[i] + 1; node <= c->last_reader[m->nodes[i]] && !outside; node++)
            for (size_t k = 0; k < c->graph.nodes[node].input_count && !is_member(m, node); k++)
                outside = outside || c->graph.nodes[node].inputs[k].producer == m->nodes[i];
        visible += outside;
        if (outside && i + 1 < m->count)
            return false;
    }
    return visible <= 1;
}

/* Adds what can follow; keeps the longest group with one result. */
static void grow(claimer *c, members *m)
{
    program current;
    size_t kept = m->count;
    int reach = c->last_reader[m->nodes[0]];
    program_begin(&current, c->api, &c->graph.nodes[m->nodes[0]]);
    for (int node = m->nodes[0] + 1; node <= reach && m->count < MAX_GROUP; node++) {
        if (c->group[node] != NO_GROUP || !reads_group(c, node, m))
            continue;
        program extended = current;
        if (!program_extend(&extended, c->api, &c->graph.nodes[node]))
            continue;
        current = extended;
        m->nodes[m->count++] = node;
        reach = c->last_reader[node] > reach ? c->last_reader[node] : reach;
        if (has_one_result(c, m))
            kept = m->count;
    }
    m->count = kept;
}

static ort_status *fuse(claimer *c, const members *m)
{
    const ort_fusion fusion = {ORT_VERSION, true};
    const ort_node *handles[MAX_GROUP];
    for (size_t i = 0; i < m->count; i++) {
        handles[i] = c->graph.nodes[m->nodes[i]].handle;
        c->group[m->nodes[i]] = c->groups;
    }
    c->groups++;
    return c->ep_api->fuse(c->support, handles, m->count, &fusion);
}

static void say(const claimer *c, int severity, const char *message)
{
    c->api->release_status(c->api->log(c->logger, severity, message, "claim.c", __LINE__, "claim_nodes"));
}

static void say_refusal(const claimer *c, const graph_node *node, const char *refusal)
{
    char text[256];
    snprintf(text, sizeof text, "conv2d leaves %s \"%s\" to others: %s", node->type, node->name, refusal);
    say(c, ORT_LOG_INFO, text);
}

static ort_status *claim_all(claimer *c, claim_count *count)
{
    ort_status *status = NULL;
    for (size_t node = 0; !status && node < c->graph.count; node++) {
        if (!is_convolution(&c->graph.nodes[node]))
            continue;
        program trial;
        const char *refusal = program_begin(&trial, c->api, &c->graph.nodes[node]);
        count->convolutions++;
        if (refusal) {
            say_refusal(c, &c->graph.nodes[node], refusal);
            continue;
        }
        members m = {.nodes = {(int)node}, .count = 1};
        grow(c, &m);
        count->claimed++;
        count->fused += m.count - 1;
        status = fuse(c, &m);
    }
    return status;
}

/* Where convolutions are ours, so is what stands between them. */
static ort_status *claim_lone(claimer *c)
{
    ort_status *status = NULL;
    for (size_t node = 0; !status && node < c->graph.count; node++) {
        const lone_operator *lone = lone_find(&c->graph.nodes[node]);
        if (c->group[node] != NO_GROUP || !lone)
            continue;
        const char *refusal = lone->refusal(c->api, &c->graph.nodes[node]);
        if (refusal)
            say_refusal(c, &c->graph.nodes[node], refusal);
        else
            status = fuse(c, &(members){.nodes = {(int)node}, .count = 1});
    }
    return status;
}

static void find_readers(claimer *c)
{
    for (size_t i = 0; i < c->graph.count; i++) {
        c->group[i] = NO_GROUP;
        c->last_reader[i] = NO_NODE;
    }
    for (size_t i = 0; i < c->graph.count; i++)
        for (size_t k = 0; k < c->graph.nodes[i].input_count; k++)
            if (c->graph.nodes[i].inputs[k].producer != NO_NODE)
                c->last_reader[c->graph.nodes[i].inputs[k].producer] = (int)i;
}

ort_status *claim_nodes(const ort_api *api, const ort_ep_api *ep_api, const ort_logger *logger, const ort_graph *whole,
                        ort_support *support, claim_count *count)
{
    claimer c = {.api = api, .ep_api = ep_api, .logger = logger, .support = support};
    *count = (claim_count){0};
    ort_status *status = graph_read(api, whole, &c.graph);
    const size_t nodes = c.graph.count;
    c.group = malloc((nodes + 1) * sizeof *c.group);
    c.last_reader = malloc((nodes + 1) * sizeof *c.last_reader);
    if (!status && !(c.group && c.last_reader))
        status = ort_out_of_memory(api);
    if (!status) {
        find_readers(&c);
        status = claim_all(&c, count);
        if (!status && count->claimed)
            status = claim_lone(&c);
    }
    if (!status && count->convolutions) {
        char text[128];
        snprintf(text, sizeof text, "conv2d runs %zu of %zu convolutions, and %zu nodes behind them", count->claimed,
                 count->convolutions, count->fused);
        say(&c, ORT_LOG_INFO, text);
    }
    free(c.group);
    free(c.last_reader);
    graph_release(&c.graph);
    return status;
}
