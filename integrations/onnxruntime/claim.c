/* SPDX-License-Identifier: MIT */
/*
 * Which nodes become one: a convolution with elementwise nodes that follow it, what a Concat joins.  All
 * that others can read of a group is the result of its last node, to which all its nodes lead; so no path leaves a
 * group and comes back, and the graph with groups as nodes has no cycle.
 */
#include "claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "lone.h"
#include "normalization.h"
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
    int groups;       /* numbers of groups so far; one that became part of another is empty */
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

/* Makes a group of nodes, or adds them to one. */
static void put(claimer *c, const members *m, int group)
{
    for (size_t i = 0; i < m->count; i++)
        c->group[m->nodes[i]] = group;
}

/* Tells the runtime of the groups. */
static ort_status *fuse_all(const claimer *c)
{
    const ort_fusion fusion = {ORT_VERSION, true};
    const ort_node **handles = malloc((c->graph.count + 1) * sizeof *handles);
    ort_status *status = handles ? NULL : ort_out_of_memory(c->api);
    for (int group = 0; !status && group < c->groups; group++) {
        size_t count = 0;
        for (size_t node = 0; node < c->graph.count; node++)
            if (c->group[node] == group)
                handles[count++] = c->graph.nodes[node].handle;
        if (count)
            status = c->ep_api->fuse(c->support, handles, count, &fusion);
    }
    free(handles);
    return status;
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

static void claim_convolutions(claimer *c, claim_count *count)
{
    for (size_t node = 0; node < c->graph.count; node++) {
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
        put(c, &m, c->groups++);
        count->claimed++;
        count->fused += m.count - 1;
    }
}

/* The node that alone reads a node's result, once; NO_NODE if there is no such. */
static int only_reader(const claimer *c, int node)
{
    size_t reads = c->graph.nodes[node].outputs[0].is_output;
    for (int i = node + 1; i <= c->last_reader[node]; i++)
        for (size_t k = 0; k < c->graph.nodes[i].input_count; k++)
            reads += c->graph.nodes[i].inputs[k].producer == node;
    return reads == 1 ? c->last_reader[node] : NO_NODE;
}

static bool can_normalize(const claimer *c, int node)
{
    return node != NO_NODE && c->group[node] == NO_GROUP && is_normalization(&c->graph.nodes[node]) &&
           !normalization_refusal(c->api, &c->graph.nodes[node]);
}

/* Whether an input of a Concat is the result of a group of a convolution that can store into the Concat's. */
static bool can_store(const claimer *c, const graph_value *input, int concat)
{
    const int group = input->producer == NO_NODE ? NO_GROUP : c->group[input->producer];
    if (group == NO_GROUP || only_reader(c, input->producer) != concat)
        return false;
    bool fine = true;
    for (size_t i = 0; i < c->graph.count; i++) {
        const graph_node *node = &c->graph.nodes[i];
        if (c->group[i] != group)
            continue;
        fine = fine && !is_concat(node) && !is_normalization(node);
        if (is_convolution(node))
            fine =
                fine && node->inputs[1].data && node->inputs[1].rank == 4 && node->inputs[1].dims[0] == input->dims[1];
    }
    return fine;
}

static size_t claim_concat(claimer *c, int concat)
{
    const graph_node *node = &c->graph.nodes[concat];
    size_t stored = 0;
    for (size_t i = 0; i < node->input_count; i++) {
        if (!can_store(c, &node->inputs[i], concat))
            continue;
        const int group = c->group[node->inputs[i].producer];
        for (size_t k = 0; k < c->graph.count; k++)
            if (c->group[k] == group)
                c->group[k] = c->groups;
        stored++;
    }
    if (stored)
        put(c, &(members){{concat}, 1}, c->groups++);
    return stored != 0;
}

/* A normalization, behind a Concat if that is not NO_NODE, with a Relu. */
static size_t claim_normalization(claimer *c, int concat, int node)
{
    members m = {.count = 0};
    if (concat != NO_NODE)
        m.nodes[m.count++] = concat;
    m.nodes[m.count++] = node;
    const int reader = only_reader(c, node);
    if (reader != NO_NODE && c->group[reader] == NO_GROUP && is_relu(&c->graph.nodes[reader]))
        m.nodes[m.count++] = reader;
    put(c, &m, c->groups++);
    return m.count;
}

static void claim_joins(claimer *c, claim_count *count)
{
    for (int node = 0; node < (int)c->graph.count; node++) {
        const bool concat = is_concat(&c->graph.nodes[node]) && c->group[node] == NO_GROUP &&
                            !concat_refusal(c->api, &c->graph.nodes[node]);
        const int reader = concat ? only_reader(c, node) : NO_NODE;
        if (concat && can_normalize(c, reader))
            count->fused += claim_normalization(c, node, reader);
        else if (concat)
            count->fused += claim_concat(c, node);
        else if (can_normalize(c, node))
            count->fused += claim_normalization(c, NO_NODE, node);
    }
}

/* Where convolutions are ours, so is what stands between them. */
static void claim_lone(claimer *c)
{
    for (int node = 0; node < (int)c->graph.count; node++) {
        const lone_operator *lone = lone_find(&c->graph.nodes[node]);
        if (c->group[node] != NO_GROUP || !lone)
            continue;
        const char *refusal = lone->refusal(c->api, &c->graph.nodes[node]);
        if (refusal)
            say_refusal(c, &c->graph.nodes[node], refusal);
        else
            put(c, &(members){{node}, 1}, c->groups++);
    }
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
        claim_convolutions(&c, count);
        if (count->claimed) {
            claim_joins(&c, count);
            claim_lone(&c);
        }
        status = fuse_all(&c);
    }
    if (!status && count->convolutions) {
        char text[128];
        snprintf(text, sizeof text, "conv2d runs %zu of %zu convolutions, and %zu nodes with them", count->claimed,
                 count->convolutions, count->fused);
        say(&c, ORT_LOG_INFO, text);
    }
    free(c.group);
    free(c.last_reader);
    graph_release(&c.graph);
    return status;
}
