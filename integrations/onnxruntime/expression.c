/* SPDX-License-Identifier: MIT */
#include "expression.h"

#include <stdatomic.h>
#include <string.h>

#include "elementwise.h"
#include "range.h"

/* Of so many elements that the values of all steps fit an L1 of 32 KiB; a single step keeps none. */
enum { BLOCK = 256, LONG_BLOCK = 16 * BLOCK };

/* A value within the current block. */
typedef struct block_value {
    const float *at;
    size_t element; /* 0: one value for all of the block */
} block_value;

bool step_is_unary(step_kind kind)
{
    return kind >= STEP_RELU;
}

/* Planes follow each other without a gap and no operand changes from one to the next only: one long plane. */
static expression_shape flattened(const expression_shape *shape)
{
    expression_shape flat = *shape;
    if (shape->images > 1 && shape->out_image != shape->channels * shape->plane)
        return flat;
    for (size_t i = 0; i < MAX_OPERANDS; i++) {
        const operand_view *view = &shape->views[i];
        const bool whole = view->element == 1 && (view->channel == shape->plane || shape->channels == 1) &&
                           (view->image == shape->channels * shape->plane || shape->images == 1);
        if (!whole && (view->element || view->channel || view->image))
            return *shape;
        flat.views[i] = (operand_view){0, 0, view->element};
    }
    flat.plane = shape->images * shape->channels * shape->plane;
    flat.images = flat.channels = 1;
    return flat;
}

static size_t blocks_of(const expression_shape *shape, size_t block)
{
    return shape->plane / block + (shape->plane % block != 0);
}

size_t expression_units(const expression_shape *shape)
{
    const expression_shape flat = flattened(shape);
    return flat.images * flat.channels * blocks_of(&flat, BLOCK);
}

/* Whether a step of these operands may store where it reads: element by element, from the left only. */
static bool may_store(const expression_step *step, block_value left, block_value right, const float *out)
{
    return (left.at != out || left.element) && (right.at != out || step_is_unary(step->kind)) &&
           (left.element || right.element);
}

/* One step that needs no buffer may have long blocks. */
static size_t block_of(const evaluation *e)
{
    const expression *x = e->expression;
    if (x->step_count != e->first_step + 1)
        return BLOCK;
    const expression_step *step = &x->steps[e->first_step];
    const size_t numbers[] = {step->left, step_is_unary(step->kind) ? step->left : step->right};
    block_value values[2];
    for (size_t i = 0; i < 2; i++) {
        const size_t operand = numbers[i] == e->base ? 0 : numbers[i];
        if (operand >= MAX_OPERANDS)
            return BLOCK;
        values[i] = (block_value){e->operands[operand], e->shape->views[operand].element};
    }
    return may_store(step, values[0], values[1], e->out) ? LONG_BLOCK : BLOCK;
}

/* The value of a step in the block: a single one if its operands are. */
static void evaluate_block(const evaluation *e, elementwise_fn *apply, block_value *values, float *out, size_t count)
{
    float buffers[MAX_STEPS][BLOCK];
    const expression *x = e->expression;
    for (size_t i = e->first_step; i < x->step_count; i++) {
        const expression_step *step = &x->steps[i];
        const block_value left = values[step->left],
                          right = values[step_is_unary(step->kind) ? step->left : step->right];
        const size_t element = left.element | right.element;
        float *to = i + 1 == x->step_count && may_store(step, left, right, out) ? out : buffers[i];
        apply(step, to, left.at, left.element, right.at, right.element, element ? count : 1);
        values[MAX_OPERANDS + i] = (block_value){to, element};
    }
    const block_value result = values[x->step_count ? MAX_OPERANDS + x->step_count - 1 : e->base];
    if (result.element && result.at != out)
        memcpy(out, result.at, count * sizeof *out);
    for (size_t i = 0; !result.element && i < count; i++)
        out[i] = *result.at;
}

void expression_evaluate(const evaluation *e, size_t part, size_t parts)
{
    static _Atomic(elementwise_fn *) chosen;
    elementwise_fn *apply = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!apply)
        atomic_store_explicit(&chosen, apply = elementwise_choose(), memory_order_relaxed);

    const expression_shape shape = flattened(e->shape);
    const size_t block = block_of(e), blocks = blocks_of(&shape, block), units = shape.images * shape.channels * blocks;
    const range own = range_of(units, part, parts);
    size_t operands = MAX_OPERANDS;
    while (operands > 0 && !e->operands[operands - 1])
        operands--;
    for (size_t unit = own.begin; unit < own.end; unit++) {
        const size_t plane = unit / blocks, at = unit % blocks * block;
        const size_t image = plane / shape.channels, channel = plane % shape.channels;
        block_value values[MAX_OPERANDS + MAX_STEPS];
        for (size_t i = 0; i < operands; i++) {
            const operand_view *view = &shape.views[i];
            const size_t offset = image * view->image + channel * view->channel + at * view->element;
            values[i] = (block_value){e->operands[i] ? e->operands[i] + offset : NULL, view->element};
        }
        values[e->base] = values[0];
        const size_t left = shape.plane - at;
        evaluate_block(e, apply, values, e->out + image * shape.out_image + channel * shape.plane + at,
                       left < block ? left : block);
    }
}
