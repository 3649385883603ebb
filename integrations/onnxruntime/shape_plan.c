/* SPDX-License-Identifier: MIT */
#include "shape_plan.h"

#include <stdio.h>
#include <string.h>

static const char *say(char message[MESSAGE_SIZE], const char *what, const size_t a[4], const size_t b[4])
{
    snprintf(message, MESSAGE_SIZE, "%s: %zux%zux%zux%zu and %zux%zux%zux%zu", what, a[0], a[1], a[2], a[3], b[0], b[1],
             b[2], b[3]);
    return message;
}

static bool same_dims(const size_t a[4], const size_t b[4])
{
    return memcmp(a, b, 4 * sizeof *a) == 0;
}

/* Whether a step other than `except` reads the value. */
static bool is_read(const expression *x, size_t value, size_t except)
{
    for (size_t i = 0; i < x->step_count; i++)
        if (i != except &&
            (x->steps[i].left == value || (!step_is_unary(x->steps[i].kind) && x->steps[i].right == value)))
            return true;
    return false;
}

/* An addition of a tensor of the convolution's own shape becomes its residual. */
static void take_residual(shape_plan *plan, const program *p, const tensor *tensors)
{
    const expression *x = &p->expression;
    if (p->activation || tensors[TENSOR_RESIDUAL].data || plan->first_step == x->step_count)
        return;
    const expression_step *step = &x->steps[plan->first_step];
    const size_t other = step->left == plan->base ? step->right : step->left;
    if (step->kind != STEP_ADD || (step->left != plan->base && step->right != plan->base) || other == plan->base ||
        other >= MAX_OPERANDS || is_read(x, plan->base, plan->first_step) ||
        !same_dims(tensors[TENSOR_OPERANDS + other].dims, plan->middle))
        return;
    plan->residual = TENSOR_OPERANDS + other;
    plan->base = MAX_OPERANDS + plan->first_step++;
}

/* A step that the library has as an activation becomes its activation. */
static void take_activation(shape_plan *plan, const program *p, conv2d_desc *desc)
{
    static const conv2d_activation kinds[] = {
        [STEP_RELU] = CONV2D_RELU, [STEP_CLIP] = CONV2D_CLAMP, [STEP_LEAKY_RELU] = CONV2D_LEAKY_RELU};
    const expression *x = &p->expression;
    desc->activation = p->activation;
    if (p->activation || plan->first_step == x->step_count)
        return;
    const expression_step *step = &x->steps[plan->first_step];
    if (step->left != plan->base || step->kind >= sizeof kinds / sizeof *kinds || !kinds[step->kind] ||
        is_read(x, plan->base, plan->first_step))
        return;
    desc->activation = kinds[step->kind];
    desc->act_a = step->a;
    desc->act_b = step->b;
    plan->base = MAX_OPERANDS + plan->first_step++;
}

/* The result has the shape that all operands of the steps that are left broadcast to. */
static const char *broadcast(shape_plan *plan, const program *p, const tensor *tensors, char message[MESSAGE_SIZE])
{
    memcpy(plan->out, plan->middle, sizeof plan->out);
    for (size_t k = 1; k < p->operand_count; k++) {
        const size_t *dims = tensors[TENSOR_OPERANDS + k].dims;
        for (size_t i = 0; i < 4; i++) {
            if (plan->out[i] == 1)
                plan->out[i] = dims[i];
            else if (dims[i] != 1 && dims[i] != plan->out[i])
                return say(message, "a tensor does not broadcast with the convolution's result", dims, plan->middle);
        }
    }
    return NULL;
}

/* How a tensor of these dimensions is stepped through as one of the result's; false if it changes within a plane other
 * than from element to element. */
static bool view_operand(const size_t dims[4], const size_t out[4], operand_view *view)
{
    const size_t plane = dims[2] * dims[3], out_plane = out[2] * out[3];
    *view = (operand_view){dims[0] == 1 ? 0 : dims[1] * plane, dims[1] == 1 ? 0 : plane, plane == 1 ? 0 : 1};
    if (plane == 1 && out_plane == 1 && elements_of(dims) == elements_of(out))
        view->element = 1; /* whole, as planes of one element */
    return plane == 1 || (dims[2] == out[2] && dims[3] == out[3]);
}

static void view_operands(shape_plan *plan, const program *p, const tensor *tensors)
{
    plan->shape.images = plan->out[0];
    plan->shape.channels = plan->out[1];
    plan->shape.plane = plan->out[2] * plan->out[3];
    for (size_t k = 0; k < p->operand_count; k++) {
        const size_t *dims = k ? tensors[TENSOR_OPERANDS + k].dims : plan->middle;
        plan->expanded[k] = !view_operand(dims, plan->out, &plan->shape.views[k]);
        if (plan->expanded[k])
            view_operand(plan->out, plan->out, &plan->shape.views[k]);
    }
    if (plan->direct)
        plan->shape.views[0].image = plan->shape.out_image;
}

/* Decides where the convolution stores.  A residual would have to lie as the result does. */
static void place_result(shape_plan *plan, size_t joined_channels, conv2d_desc *desc)
{
    const bool dense = !joined_channels || plan->out[0] == 1;
    plan->shape.out_image = (joined_channels ? joined_channels : plan->out[1]) * plan->out[2] * plan->out[3];
    plan->direct = same_dims(plan->middle, plan->out) && (dense || plan->residual == MAX_TENSORS);
    if (plan->direct && !dense)
        desc->out_pitch[0] = plan->shape.out_image;
}

const char *shape_plan_make(shape_plan *plan, const program *p, const tensor tensors[MAX_TENSORS],
                            size_t joined_channels, char message[MESSAGE_SIZE])
{
    conv2d_desc desc;
    *plan = (shape_plan){.residual = MAX_TENSORS};
    const tensor *in = &tensors[TENSOR_IN], *weights = &tensors[TENSOR_WEIGHTS];
    const char *fault = conv_attributes_describe(&p->conv, in->dims, weights->dims, &desc);
    if (fault)
        return say(message, fault, in->dims, weights->dims);
    if (tensors[TENSOR_BIAS].data && elements_of(tensors[TENSOR_BIAS].dims) != weights->dims[0])
        return say(message, "not one bias for each channel", tensors[TENSOR_BIAS].dims, weights->dims);
    memcpy(plan->middle, (size_t[4]){in->dims[0], weights->dims[0]}, sizeof plan->middle);
    conv2d_status status = conv2d_output_size(&desc, &plan->middle[2], &plan->middle[3]);
    if (tensors[TENSOR_RESIDUAL].data) {
        plan->residual = TENSOR_RESIDUAL;
        if (!status && !same_dims(tensors[TENSOR_RESIDUAL].dims, plan->middle))
            return say(message, "a sum of another shape", tensors[TENSOR_RESIDUAL].dims, plan->middle);
    }
    take_residual(plan, p, tensors);
    take_activation(plan, p, &desc);
    fault = broadcast(plan, p, tensors, message);
    place_result(plan, joined_channels, &desc);
    desc.bias = tensors[TENSOR_BIAS].data;
    desc.residual = plan->residual == MAX_TENSORS ? NULL : in->data; /* only whether there is one counts */
    if (!status)
        status = conv2d_plan_init(&plan->conv, &desc, NULL);
    if (status)
        return say(message, conv2d_status_string(status), in->dims, weights->dims);
    view_operands(plan, p, tensors);
    plan->empty = elements_of(plan->out) == 0;
    return fault;
}
