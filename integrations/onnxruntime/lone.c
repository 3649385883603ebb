/* SPDX-License-Identifier: MIT */
#include "lone.h"

#include <string.h>

#include "global_pool.h"
#include "max_pool.h"

static const lone_operator operators[] = {
    {"GlobalAveragePool", global_pool_refusal, global_pool_create},
    {"MaxPool", max_pool_refusal, max_pool_create},
};

const lone_operator *lone_find(const graph_node *node)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!*node->domain && strcmp(node->type, operators[i].type) == 0)
            return &operators[i];
    return NULL;
}
