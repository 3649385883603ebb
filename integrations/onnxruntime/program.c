/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIVATED = MAX_OPERANDS + MAX_STEPS }; /* the value of a name that an activation has consumed */

/* What an operator becomes: an elementwise step, or an activation that the convolution applies itself. */
typedef struct operation {
    const char *domain, *type;
    conv2d_activation activation; /* CONV2D_NONE: a step */
    step_kind kind;
    float a, b; /* defaults of alpha and beta */
} operation;

static const operation operations[] = {
    {"", "Add", CONV2D_NONE, STEP_ADD, 0, 0},
    {"", "Sub", CONV2D_NONE, STEP_SUBTRACT, 0, 0},
    {"", "Mul", CONV2D_NONE, STEP_MULTIPLY, 0, 0},
    {"", "Div", CONV2D_NONE, STEP_DIVIDE, 0, 0},
    {"", "Relu", CONV2D_NONE, STEP_RELU, 0, 0},
    {"", "Clip", CONV2D_NONE, STEP_CLIP, 0, 0},
    {"", "LeakyRelu", CONV2D_NONE, STEP_LEAKY_RELU, 0.01f, 0},
    {"", "HardSigmoid", CONV2D_NONE, STEP_HARD_SIGMOID, 0.2f, 0.5f},
    {"", "HardSwish", CONV2D_NONE, STEP_HARD_SWISH, 1.0f / 6, 0.5f},
    {"", "Sigmoid", CONV2D_SIGMOID, STEP_RELU, 0, 0},
    {"", "Tanh", CONV2D_TANH, STEP_RELU, 0, 0},
    {"", "Mish", CONV2D_MISH, STEP_RELU, 0, 0},
    {"", "Gelu", CONV2D_GELU, STEP_RELU, 0, 0},
    {"com.microsoft", "Gelu", CONV2D_GELU, STEP_RELU, 0, 0},
};

static bool is_onnx(const char *domain)
{
    return !*domain || strcmp(domain, "ai.onnx") == 0;
}

static const operation *find_operation(const char *domain, const char *type)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(is_onnx(domain) ? "" : domain, operations[i].domain) == 0 && strcmp(type, operations[i].type) == 0)
            return &operations[i];
    return NULL;
}

static bool is_fused_conv(const graph_node *node)
{
    return strcmp(node->domain, "com.microsoft") == 0 && strcmp(node->type, "FusedConv") == 0;
}

bool is_convolution(const graph_node *node)
{
    return (is_onnx(node->domain) && strcmp(node->type, "Conv") == 0) || is_fused_conv(node);
}

static source source_of(const graph_value *value)
{
    source result = {.name = value->name, .input = NOT_AN_INPUT, .data = value->data, .rank = value->rank};
    memcpy(result.dims, value->dims, sizeof result.dims);
    return result;
}

static bool bind(program *p, const char *name, size_t value)
{
    if (p->binding_count == sizeof p->bindings / sizeof *p->bindings)
        return false;
    p->bindings[p->binding_count++] = (binding){name, value};
    p->result = name;
    return true;
}

static const binding *find_binding(const program *p, const char *name)
{
    for (size_t i = 0; i < p->binding_count; i++)
        if (strcmp(p->bindings[i].name, name) == 0)
            return &p->bindings[i];
    return NULL;
}

/* The value that an input of a node means: one of the program, or a new operand.  Tensors of more dimensions than the
 * convolution's, or of unknown ones, could change the shape of the result. */
static bool find_value(program *p, const graph_value *input, size_t *value)
{
    const binding *bound = find_binding(p, input->name);
    if (bound) {
        *value = bound->value;
        return bound->value != ACTIVATED;
    }
    for (size_t i = 1; i < p->operand_count; i++)
        if (strcmp(p->operands[i].name, input->name) == 0) {
            *value = i;
            return true;
        }
    const bool known = input->is_constant ? input->data != NULL : input->rank != 0;
    if (!*input->name || !input->is_float || !known || input->rank > p->conv.rank || p->operand_count == MAX_OPERANDS)
        return false;
    *value = p->operand_count;
    p->operands[p->operand_count++] = source_of(input);
    return true;
}

static bool add_step(program *p, const expression_step *step)
{
    if (p->expression.step_count == MAX_STEPS)
        return false;
    p->expression.steps[p->expression.step_count++] = *step;
    return true;
}

static size_t last_value(const program *p)
{
    return p->expression.step_count ? MAX_OPERANDS + p->expression.step_count - 1 : 0;
}

/* The activation of a FusedConv, with its parameters in the order of the operator's attributes. */
static const char *add_fused_activation(program *p, const ort_api *api, const graph_node *node)
{
    char type[32];
    float parameters[2] = {0};
    size_t count = 2;
    const int found = attribute_string(api, node, "activation", type, sizeof type);
    if (found == 0 || (found > 0 && !*type))
        return NULL;
    const operation *op = found > 0 ? find_operation("", type) : NULL;
    const int given = attribute_floats(api, node, "activation_params", parameters, &count);
    if (!op || given < 0)
        return "an activation that is not known";
    if (op->activation) {
        p->activation = op->activation;
        return NULL;
    }
    expression_step step = {.kind = op->kind, .left = last_value(p), .a = op->a, .b = op->b};
    if (!step_is_unary(step.kind) || (step.kind == STEP_CLIP && (count != 2 || !(parameters[0] <= parameters[1]))))
        return "an activation with parameters that have no meaning";
    step.a = given && count > 0 ? parameters[0] : step.a;
    step.b = given && count > 1 ? parameters[1] : step.b;
    return add_step(p, &step) ? NULL : "too many steps";
}

static const char *begin_fused(program *p, const ort_api *api, const graph_node *node)
{
    const bool has_sum = node->explicit_inputs > 3 && *node->inputs[3].name;
    const char *refusal = add_fused_activation(p, api, node);
    if (refusal || !has_sum)
        return refusal;
    if (!node->inputs[3].is_float || (node->inputs[3].is_constant && !node->inputs[3].data))
        return "a sum that is not f32";
    p->residual = source_of(&node->inputs[3]);
    return NULL;
}

const char *program_begin(program *p, const ort_api *api, const graph_node *node)
{
    *p = (program){.operand_count = 1, .node_count = 1};
    const char *refusal = conv_node_read(api, node, &p->conv);
    if (refusal)
        return refusal;
    p->in = source_of(&node->inputs[0]);
    p->weights = source_of(&node->inputs[1]);
    if (node->inputs[0].is_constant && !p->in.data)
        return "an input without data";
    if (node->explicit_inputs > 2 && *node->inputs[2].name) {
        p->bias = source_of(&node->inputs[2]);
        if (!node->inputs[2].is_float || (node->inputs[2].is_constant && !p->bias.data))
            return "a bias that is not f32";
    }
    if (is_fused_conv(node) && (refusal = begin_fused(p, api, node)))
        return refusal;
    return bind(p, node->outputs[0].name, last_value(p)) ? NULL : "too many names";
}

/* An input of Clip (since opset 11): the default if it is left out, else a constant. */
static bool read_limit(const graph_node *node, size_t input, float *limit)
{
    if (node->explicit_inputs <= input || !*node->inputs[input].name)
        return true;
    const graph_value *value = &node->inputs[input];
    if (!value->data || value->rank > 1 || graph_elements(value) != 1)
        return false;
    *limit = *value->data;
    return true;
}

static bool read_parameters(const ort_api *api, const graph_node *node, expression_step *step)
{
    if (step->kind != STEP_CLIP)
        return attribute_float(api, node, "alpha", &step->a) >= 0 && attribute_float(api, node, "beta", &step->b) >= 0;
    step->a = -INFINITY;
    step->b = INFINITY;
    return attribute_float(api, node, "min", &step->a) >= 0 && attribute_float(api, node, "max", &step->b) >= 0 &&
           read_limit(node, 1, &step->a) && read_limit(node, 2, &step->b) && step->a <= step->b;
}

/* An activation takes the sums as the convolution leaves them, so it must come first. */
static bool extend_activation(program *p, const ort_api *api, const graph_node *node, conv2d_activation activation)
{
    char approximate[8];
    const int found = attribute_string(api, node, "approximate", approximate, sizeof approximate);
    if (found < 0 || (found > 0 && strcmp(approximate, "none") != 0))
        return false;
    const binding *bound = find_binding(p, node->inputs[0].name);
    if (!bound || bound->value != 0 || p->activation || p->expression.step_count || p->residual.name)
        return false;
    p->activation = activation;
    for (size_t i = 0; i < p->binding_count; i++)
        p->bindings[i].value = ACTIVATED;
    return bind(p, node->outputs[0].name, 0);
}

/* x * Sigmoid(x), where Sigmoid(x) is what the convolution gives so far. */
static bool extend_silu(program *p, const graph_node *node)
{
    const binding *left = find_binding(p, node->inputs[0].name), *right = find_binding(p, node->inputs[1].name);
    if (p->activation != CONV2D_SIGMOID || p->expression.step_count || !left || !right || left == right ||
        (left->value != ACTIVATED && right->value != ACTIVATED) || p->binding_count != 2)
        return false;
    p->activation = CONV2D_SILU;
    for (size_t i = 0; i < p->binding_count; i++)
        p->bindings[i].value = ACTIVATED;
    return bind(p, node->outputs[0].name, 0);
}

static bool extend_step(program *p, const ort_api *api, const graph_node *node, const operation *op)
{
    expression_step step = {.kind = op->kind, .a = op->a, .b = op->b};
    if (!find_value(p, &node->inputs[0], &step.left))
        return false;
    if (step_is_unary(step.kind) ? !read_parameters(api, node, &step) : !find_value(p, &node->inputs[1], &step.right))
        return false;
    return add_step(p, &step) && bind(p, node->outputs[0].name, last_value(p));
}

bool program_extend(program *p, const ort_api *api, const graph_node *node)
{
    const operation *op = find_operation(node->domain, node->type);
    if (!op || node->output_count != 1 || node->input_count != node->explicit_inputs)
        return false;
    const bool unary = op->activation || step_is_unary(op->kind);
    if (node->explicit_inputs < (unary ? 1u : 2u))
        return false;
    p->node_count++;
    if (op->activation)
        return extend_activation(p, api, node, op->activation);
    return (op->kind == STEP_MULTIPLY && extend_silu(p, node)) || extend_step(p, api, node, op);
}

static ort_status *keep(source *s, const ort_api *api, const graph_node *fused)
{
    if (!s->name)
        return NULL;
    const float *constant = s->data;
    for (size_t i = 0; !constant && i < fused->input_count; i++)
        if (strcmp(fused->inputs[i].name, s->name) == 0)
            s->input = (int)i;
    s->name = "";
    if (!constant)
        return s->input == NOT_AN_INPUT ? api->create_status(ORT_FAIL, "conv2d: a fused node lacks an input") : NULL;
    size_t count = 1;
    for (size_t i = 0; i < s->rank; i++)
        count *= (size_t)s->dims[i];
    float *copy = malloc((count + 1) * sizeof *copy);
    if (!copy)
        return ort_out_of_memory(api);
    memcpy(copy, constant, count * sizeof *copy);
    s->data = copy;
    s->owned = true;
    return NULL;
}

/* All sources, for loops: the fixed ones, then the operands. */
static source *source_at(program *p, size_t index)
{
    source *const fixed[] = {&p->in, &p->weights, &p->bias, &p->residual};
    const size_t count = sizeof fixed / sizeof *fixed;
    return index < count ? fixed[index] : index - count < p->operand_count ? &p->operands[index - count] : NULL;
}

static void merge_steps(program *p)
{
    const float *scalars[MAX_OPERANDS] = {NULL};
    for (size_t i = 1; i < p->operand_count; i++) {
        const source *s = &p->operands[i];
        bool single = s->data != NULL;
        for (size_t k = 0; k < s->rank; k++)
            single = single && s->dims[k] == 1;
        scalars[i] = single ? s->data : NULL;
    }
    expression_merge(&p->expression, scalars);
}

ort_status *program_keep(program *p, const ort_api *api, const graph_node *fused, bool packed)
{
    static const float is_packed;
    ort_status *status = NULL;
    source *s;
    for (size_t i = 0; !status && (s = source_at(p, i)); i++)
        if (packed && s->data && (s == &p->weights || s == &p->bias))
            s->data = &is_packed, s->name = "";
        else
            status = keep(s, api, fused);
    p->binding_count = 0;
    p->result = NULL;
    if (!status)
        merge_steps(p);
    return status;
}

void program_free(program *p)
{
    source *s;
    for (size_t i = 0; (s = source_at(p, i)); i++)
        if (s->owned)
            free((void *)s->data);
}
