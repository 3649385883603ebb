/* SPDX-License-Identifier: MIT */
/* ONNX models, made here byte by byte: what each operator does to shapes, seen by the convolution behind it; what is
 * said of the rest; and that no file does harm. */
#define _DEFAULT_SOURCE /* strtok_r */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"
#include "support.h"

/* A message in the making. */
typedef struct message {
    unsigned char bytes[4000];
    size_t length;
} message;

static void put_varint(message *m, uint64_t value)
{
    for (; value > 127; value >>= 7)
        m->bytes[m->length++] = (unsigned char)(value | 128);
    m->bytes[m->length++] = (unsigned char)value;
    cr_assert_lt(m->length, sizeof m->bytes - 10);
}

static void put_number(message *m, unsigned field, int64_t value)
{
    put_varint(m, field << 3);
    put_varint(m, (uint64_t)value);
}

static void put_bytes(message *m, unsigned field, const void *bytes, size_t length)
{
    put_varint(m, field << 3 | 2);
    put_varint(m, length);
    cr_assert_lt(m->length + length, sizeof m->bytes);
    memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static void put_text(message *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static void put_message(message *m, unsigned field, const message *part)
{
    put_bytes(m, field, part->bytes, part->length);
}

enum { LIST = 8, ATTRIBUTES = 4 };

typedef struct numbers {
    int count;
    long values[LIST];
} numbers;

#define L(...)                                                                                                         \
    {                                                                                                                  \
        sizeof((long[]){__VA_ARGS__}) / sizeof(long),                                                                  \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

/* TensorProto: shape only, unless values are given (int64, or f32 for a type of 1). */
static message make_tensor(const char *name, const numbers *shape, int type, const numbers *values)
{
    message m = {.length = 0};
    for (int i = 0; i < shape->count; i++)
        put_number(&m, 1, shape->values[i]);
    put_number(&m, 2, type);
    put_text(&m, 8, name);
    if (values) {
        message raw = {.length = 0};
        for (int i = 0; i < values->count; i++) {
            const float real = (float)values->values[i] / 2; /* halves */
            const size_t size = type == 1 ? sizeof real : sizeof values->values[i];
            memcpy(raw.bytes + raw.length, type == 1 ? (const void *)&real : &values->values[i], size);
            raw.length += size;
        }
        put_message(&m, 9, &raw);
    }
    return m;
}

/* ValueInfoProto; a size of 0 is open, and has a name instead. */
static message make_value_info(const char *name, const numbers *shape)
{
    message m = {.length = 0}, type = {.length = 0}, tensor = {.length = 0}, dimensions = {.length = 0};
    for (int i = 0; i < shape->count; i++) {
        message dimension = {.length = 0};
        if (shape->values[i])
            put_number(&dimension, 1, shape->values[i]);
        else
            put_text(&dimension, 2, "N");
        put_message(&dimensions, 1, &dimension);
    }
    put_number(&tensor, 1, 1);
    put_message(&tensor, 2, &dimensions);
    put_message(&type, 1, &tensor);
    put_text(&m, 1, name);
    put_message(&m, 2, &type);
    return m;
}

typedef struct attribute {
    const char *name, *text; /* text: a string; else one number if the list has a count of 0, or a list */
    long number;
    numbers list;
} attribute;

static void put_attribute(message *node, const attribute *a)
{
    message m = {.length = 0}, packed = {.length = 0};
    put_text(&m, 1, a->name);
    if (a->text)
        put_text(&m, 4, a->text);
    else if (a->list.count == 0)
        put_number(&m, 3, a->number);
    for (int i = 0; i < a->list.count; i++)
        put_varint(&packed, (uint64_t)a->list.values[i]);
    /* Both forms that writers use. */
    if (a->list.count % 2 == 0 && a->list.count)
        put_message(&m, 8, &packed);
    for (int i = 0; i < a->list.count && a->list.count % 2; i++)
        put_number(&m, 8, a->list.values[i]);
    put_message(node, 5, &m);
}

/* in -> op (with up to two constant inputs) -> y -> convolution with 4x?x1x1 weights. */
typedef struct op_case {
    const char *op;
    numbers in, constants[3];
    attribute attributes[ATTRIBUTES];
    const char *expected; /* "": the convolution is left out */
    int type;             /* of the constants; 0 is int64 */
    const char *notes;    /* must be said */
} op_case;

static void put_node(message *graph, const char *op, const char *inputs, const char *output,
                     const attribute *attributes)
{
    message m = {.length = 0};
    char copy[100], *rest;
    snprintf(copy, sizeof copy, "%s", inputs);
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        put_text(&m, 1, strcmp(name, "-") == 0 ? "" : name);
    put_text(&m, 2, output);
    put_text(&m, 4, op);
    for (size_t i = 0; attributes && i < ATTRIBUTES && attributes[i].name; i++)
        put_attribute(&m, &attributes[i]);
    put_message(graph, 1, &m);
}

static message finish_model(const message *graph)
{
    message model = {.length = 0};
    put_number(&model, 1, 8); /* the version of the format */
    put_message(&model, 7, graph);
    return model;
}

static message make_model(const op_case *c, size_t channels)
{
    static const char *const names[] = {"c1", "c2", "c3"};
    message graph = {.length = 0}, part;
    char inputs[40] = "x";
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const bool is_given = c->constants[i].count > 0;
        const numbers shape = {1, {c->constants[i].count}};
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), " %s", is_given ? names[i] : "-");
        if (!is_given)
            continue;
        part = make_tensor(names[i], &shape, c->type ? c->type : 7, &c->constants[i]);
        put_message(&graph, 5, &part);
    }
    for (size_t end = strlen(inputs); end > 1 && inputs[end - 1] == '-'; end -= 2)
        inputs[end - 2] = '\0';
    part = make_tensor("w", &(numbers)L(4, (long)channels, 1, 1), 1, NULL);
    put_message(&graph, 5, &part);
    part = make_value_info("x", &c->in);
    put_message(&graph, 11, &part);
    put_node(&graph, c->op, inputs, "y", c->attributes);
    put_node(&graph, "Conv", "y w", "z", NULL);
    return finish_model(&graph);
}

static const op_case ops[] = {
    {"Relu", L(1, 8, 9, 11), .expected = "8x9x11 4x1x1"},
    {"MaxPool", L(2, 8, 9, 11), .attributes = {{"kernel_shape", .list = L(2, 2)}, {"strides", .list = L(2, 2)}},
     .expected = "2x8x4x5 4x1x1"},
    {"MaxPool", L(1, 8, 9, 11),
     .attributes = {{"kernel_shape", .list = L(2, 2)}, {"strides", .list = L(2, 2)}, {"ceil_mode", .number = 1}},
     .expected = "8x5x6 4x1x1"},
    {"AveragePool", L(1, 8, 9, 11),
     .attributes = {{"kernel_shape", .list = L(3, 3)},
                    {"strides", .list = L(2, 1)},
                    {"auto_pad", .text = "SAME_UPPER"}},
     .expected = "8x5x11 4x1x1"},
    {"GlobalAveragePool", L(1, 8, 9, 11), .expected = "8x1x1 4x1x1"},
    {"ConvTranspose", L(1, 8, 9, 11), .notes = "ConvTranspose", .expected = ""},
    {"Add", L(1, 8, 9, 1), .constants = {L(2, 2, 2, 2, 2)}, .expected = "8x9x5 4x1x1"},
    {"Transpose", L(1, 9, 11, 8), .attributes = {{"perm", .list = L(0, 3, 1, 2)}}, .expected = "8x9x11 4x1x1"},
    {"Reshape", L(1, 8, 99), .constants = {L(0, 8, 9, -1)}, .expected = "8x9x11 4x1x1"},
    {"Slice", L(1, 16, 9, 30), .constants = {L(0, 2), L(8, -1), L(1, 3)}, .expected = "8x9x27 4x1x1"},
    {"Slice", L(1, 16, 9, 11),
     .attributes = {{"starts", .list = L(8)}, {"ends", .list = L(999)}, {"axes", .list = L(1)}},
     .expected = "8x9x11 4x1x1"},
    {"Split", L(1, 16, 9, 11), .attributes = {{"axis", .number = 1}, {"split", .list = L(8, 8)}},
     .expected = "8x9x11 4x1x1"},
    {"Unsqueeze", L(8, 9, 11), .constants = {L(0)}, .expected = "8x9x11 4x1x1"},
    {"Squeeze", L(1, 1, 8, 9, 11), .constants = {L(1)}, .expected = "8x9x11 4x1x1"},
    {"Pad", L(1, 8, 9, 11), .constants = {L(0, 0, 1, 2, 0, 0, 3, 4)}, .expected = "8x13x17 4x1x1"},
    {"Resize", L(1, 8, 9, 11), .constants = {{0}, L(2, 2, 4, 5)}, .type = 1, .expected = "8x18x27 4x1x1"},
    {"Resize", L(1, 8, 9, 11), .constants = {{0}, {0}, L(1, 8, 20, 30)}, .expected = "8x20x30 4x1x1"},
    {"Upsample", L(1, 8, 9, 11), .constants = {L(2, 2, 4, 4)}, .type = 1, .expected = "8x18x22 4x1x1"},
    {"DepthToSpace", L(1, 32, 9, 11), .attributes = {{"blocksize", .number = 2}}, .expected = "8x18x22 4x1x1"},
    {"SpaceToDepth", L(1, 2, 18, 22), .attributes = {{"blocksize", .number = 2}}, .expected = "8x9x11 4x1x1"},
    {"ReduceMean", L(1, 8, 9, 11), .attributes = {{"axes", .list = L(2, 3)}}, .expected = "8x1x1 4x1x1"},
    {"Expand", L(1, 8, 1, 1), .constants = {L(1, 8, 5, 6)}, .expected = "8x5x6 4x1x1"},
    {"Concat", L(1, 8, 9, 11), .attributes = {{"axis", .number = 2}}, .expected = "8x9x11 4x1x1"},
    {"Conv", L(1, 2, 9, 11), .constants = {L(3)}, .notes = "left out", .expected = ""},
    {"Mystery", L(1, 8, 9, 11), .notes = "Mystery", .expected = ""},
    {"Relu", L(0, 8, 9, 11), .notes = "1 is taken", .expected = "8x9x11 4x1x1"},
    {"Relu", L(1, 8, 0, 11), .notes = "give it as --input", .expected = ""},
    {"Relu", L(1, 8, 2147483648, 11), .notes = "give it as --input", .expected = ""},
    {"Relu", L(1, 7, 9, 11), .notes = "do not fit", .expected = ""},
    {"Relu", L(1, 8, 9), .notes = "left out", .expected = ""},
    {"Relu", L(1, 2, 3, 4, 5, 6, 7, 8), .notes = "left out", .expected = ""},
    {"DepthToSpace", L(1, 32, 9, 11), .attributes = {{"blocksize", .number = INT64_MAX}}, .notes = "left out",
     .expected = ""},
    {"MaxPool", L(1, 8, 9, 11), .attributes = {{"kernel_shape", .list = L(INT64_MAX, 2)}}, .notes = "left out",
     .expected = ""},
    {"Pad", L(1, 8, 9, 11), .constants = {L(0, 0, INT64_MAX, INT64_MAX, 0, 0, INT64_MAX, INT64_MAX)},
     .notes = "left out", .expected = ""},
};

static const model_input as_it_is = {.batch = 0};

static bool parse(problem_list *list, const message *model, const model_input *input, char *notes, size_t size)
{
    /* In memory of its own, so that a byte read behind it is seen. */
    unsigned char *const bytes = malloc(model->length + 1);
    cr_assert_not_null(bytes);
    memcpy(bytes, model->bytes, model->length);
    const bool good = onnx_parse(list, "test.onnx", bytes, model->length, input, notes, size);
    free(bytes);
    return good;
}

static void expect_problems(const message *model, const model_input *input, const char *expected, const char *said,
                            const char *what)
{
    char notes[1000], text[4 * PROBLEM_TEXT_SIZE] = "";
    problem_list list = {.count = 0};
    cr_assert(parse(&list, model, input, notes, sizeof notes), "%s", what);
    for (size_t i = 0; i < list.count && i < 4; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s", i ? ", " : "");
        problem_format(&list.problems[i], text + strlen(text), PROBLEM_TEXT_SIZE);
    }
    cr_expect_str_eq(text, expected, "%s: %s, not %s; %s", what, text, expected, notes);
    cr_expect(said ? strstr(notes, said) != NULL : *notes == '\0', "%s: said is %s", what, notes);
    input_free(&list);
}

Test(onnx, each_operator)
{
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        const message model = make_model(&ops[i], 8);
        expect_problems(&model, &as_it_is, ops[i].expected, ops[i].notes, ops[i].op);
    }
}

/* Convolutions of every kind, one after the other. */
static message make_chain(long height)
{
    message graph = {.length = 0}, part;
    static const struct {
        const char *name;
        numbers shape;
    } tensors[] = {{"w1", L(16, 3, 3, 3)}, {"b", L(16)}, {"w2", L(16, 1, 3, 3)}, {"w3", L(16, 16, 1, 1)}};
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        part = make_tensor(tensors[i].name, &tensors[i].shape, 1, NULL);
        put_message(&graph, 5, &part);
    }
    part = make_value_info("x", &(numbers)L(1, 3, height, 24));
    put_message(&graph, 11, &part);
    put_node(&graph, "Conv", "x w1 b", "a",
             (attribute[ATTRIBUTES]){{"strides", .list = L(2, 2)}, {"pads", .list = L(0, 1, 2, 3)}});
    put_node(&graph, "Conv", "a w2 b", "c",
             (attribute[ATTRIBUTES]){{"group", .number = 16},
                                     {"dilations", .list = L(2, 1)},
                                     {"auto_pad", .text = "SAME_LOWER"},
                                     {"kernel_shape", .list = L(3, 3)}});
    put_node(&graph, "Conv", "c w3 -", "d", NULL);
    put_node(&graph, "Conv", "d w3", "e", NULL);
    put_node(&graph, "QLinearConv", "e s z w3 s z s z b", "f", NULL);
    return finish_model(&graph);
}

Test(onnx, convolutions)
{
    message model = make_chain(20);
    expect_problems(&model, &as_it_is,
                    "3x20x24 16x3x3 s2 p0,2,1,3 b, 16x10x13 16x3x3 p2x1 d2x1 g16 b, 16x10x13 16x1x1 x2, "
                    "16x10x13 16x1x1 b",
                    NULL, "a chain");
    const model_input other = {.batch = 5, .channels = 3, .height = 10, .width = 8};
    model = make_chain(0);
    expect_problems(&model, &other,
                    "5x3x10x8 16x3x3 s2 p0,2,1,3 b, 5x16x5x5 16x3x3 p2x1 d2x1 g16 b, 5x16x5x5 16x1x1 x2, "
                    "5x16x5x5 16x1x1 b",
                    NULL, "another input");
}

/* A shape that the graph computes, as exporters write it: y is x reshaped to (its batch, 8, 9, -1). */
Test(onnx, computed_shapes)
{
    message graph = {.length = 0}, part;
    const struct {
        const char *name;
        numbers shape, values;
    } constants[] = {{"zero", L(1), L(0)}, {"rest", L(2), L(9, -1)}, {"eight", L(1), L(8)}, {"one", L(1), L(1)}};
    for (size_t i = 0; i < COUNT_OF(constants); i++) {
        part = make_tensor(constants[i].name, &constants[i].shape, 7, &constants[i].values);
        put_message(&graph, 5, &part);
    }
    part = make_tensor("w", &(numbers)L(4, 8, 1, 1), 1, NULL);
    put_message(&graph, 5, &part);
    part = make_value_info("x", &(numbers)L(3, 8, 99));
    put_message(&graph, 11, &part);
    put_node(&graph, "Shape", "x", "s", NULL);
    put_node(&graph, "Gather", "s zero", "n", NULL);
    put_node(&graph, "Mul", "eight one", "m", NULL);
    put_node(&graph, "Concat", "n m rest", "to", (attribute[ATTRIBUTES]){{"axis", .number = 0}});
    put_node(&graph, "Reshape", "x to", "y", NULL);
    put_node(&graph, "Conv", "y w", "z", NULL);
    const message model = finish_model(&graph);
    expect_problems(&model, &as_it_is, "3x8x9x11 4x1x1", NULL, "a computed shape");
}

/* What the model says itself counts where an operator is unknown, but not for another input. */
Test(onnx, value_info)
{
    message graph = {.length = 0}, part = make_tensor("w", &(numbers)L(4, 8, 1, 1), 1, NULL);
    put_message(&graph, 5, &part);
    part = make_value_info("x", &(numbers)L(1, 8, 9, 11));
    put_message(&graph, 11, &part);
    part = make_value_info("y", &(numbers)L(1, 8, 5, 6));
    put_message(&graph, 13, &part);
    put_node(&graph, "Mystery", "x", "y", NULL);
    put_node(&graph, "Conv", "y w", "z", NULL);
    const message model = finish_model(&graph);
    expect_problems(&model, &as_it_is, "8x5x6 4x1x1", "Mystery", "value_info");
    const model_input other = {.channels = 8, .height = 20, .width = 20};
    expect_problems(&model, &other, "", "left out", "another input");
}

Test(onnx, refuses)
{
    static const message none = {.bytes = {0x3a}, .length = 0}, cut = {.bytes = {0x3a, 5, 1}, .length = 3};
    static const message group = {.bytes = {0x3a, 2, 0x0b, 0x0c}, .length = 4};
    static const message no_graph = {.bytes = {0x08, 8}, .length = 2};
    const message *const wrong[] = {&none, &cut, &group, &no_graph};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char notes[100];
        problem_list list = {.count = 0};
        cr_expect(!parse(&list, wrong[i], &as_it_is, notes, sizeof notes), "%zu", i);
        input_free(&list);
    }
}

/* Each model cut at each length, and with each byte changed. */
Test(onnx, damaged_models)
{
    for (size_t i = 0; i <= COUNT_OF(ops); i++) {
        const message whole = i < COUNT_OF(ops) ? make_model(&ops[i], 8) : make_chain(20);
        for (size_t k = 0; k < whole.length; k++) {
            char notes[60];
            problem_list list = {.count = 0};
            message damaged = whole;
            damaged.length = k;
            cr_expect(!parse(&list, &damaged, &as_it_is, notes, sizeof notes) || k < 2);
            damaged = whole;
            damaged.bytes[k] ^= (unsigned char)(1u << (i + k) % 8);
            parse(&list, &damaged, &as_it_is, notes, sizeof notes);
            damaged.bytes[k] = 0xff;
            parse(&list, &damaged, &as_it_is, notes, sizeof notes);
            input_free(&list);
        }
    }
}
