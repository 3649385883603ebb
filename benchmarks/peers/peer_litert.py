# SPDX-License-Identifier: MIT
"""LiteRT (once TensorFlow Lite), whose XNNPACK takes the whole of a model with one convolution, and its padding."""

import worker

peer = worker.start()
peer.refuse_isa("LiteRT")
with peer.needs():
    import flatbuffers
    import numpy
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    from layouts import from_nhwc

ACTIVATIONS = {"none": schema.ActivationFunctionType.NONE, "relu": schema.ActivationFunctionType.RELU}


class ModelBuilder:
    """A model of one graph, as its schema has it."""

    def __init__(self):
        self.model = schema.ModelT(version=3, buffers=[schema.BufferT()], operatorCodes=[], description="conv")
        self.graph = schema.SubGraphT(tensors=[], operators=[])
        self.model.subgraphs = [self.graph]

    def tensor(self, shape, constant=None, kind=schema.TensorType.FLOAT32):
        buffer = 0
        if constant is not None:
            buffer = len(self.model.buffers)
            data = numpy.frombuffer(constant.tobytes(), numpy.uint8)
            self.model.buffers.append(schema.BufferT(data=data))
        index = len(self.graph.tensors)
        self.graph.tensors.append(schema.TensorT(shape=list(shape), type=kind, buffer=buffer, name=f"t{index}"))
        return index

    def operator(self, code, inputs, outputs, options=None, options_type=0):
        self.model.operatorCodes.append(
            schema.OperatorCodeT(builtinCode=code, deprecatedBuiltinCode=code, version=1))
        self.graph.operators.append(
            schema.OperatorT(opcodeIndex=len(self.model.operatorCodes) - 1, inputs=inputs, outputs=outputs,
                             builtinOptionsType=options_type, builtinOptions=options))

    def finish(self, source, target):
        self.graph.inputs, self.graph.outputs = [source], [target]
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def same_padding(problem):
    """Whether the padding is the one that the format calls SAME."""
    axes = zip(problem.in_shape[2:], problem.out_shape[2:], problem.kernel, problem.stride, problem.dilation,
               problem.pad_begin, problem.pad_end)
    return all(out == -(-size // stride) and begin == (total := max(
        (out - 1) * stride + (taps - 1) * dilation + 1 - size, 0)) // 2 and end == total - begin
        for size, out, taps, stride, dilation, begin, end in axes)


def add_padding(builder, problem, source):
    """An operator of its own, which XNNPACK merges with the convolution."""
    (top, left), (bottom, right) = problem.pad_begin, problem.pad_end
    amounts = numpy.int32([[0, 0], [top, bottom], [left, right], [0, 0]])
    batch, channels, height, width = problem.in_shape
    padded = builder.tensor((batch, height + top + bottom, width + left + right, channels))
    constant = builder.tensor((4, 2), amounts, schema.TensorType.INT32)
    builder.operator(schema.BuiltinOperator.PAD, [source, constant], [padded], schema.PadOptionsT(),
                     schema.BuiltinOptions.PadOptions)
    return padded


def add_convolution(builder, problem, tensors, source, padding):
    batch, channels, height, width = problem.out_shape
    target = builder.tensor((batch, height, width, channels))
    values = {"padding": padding, "strideH": problem.stride.rows, "strideW": problem.stride.columns,
              "dilationHFactor": problem.dilation.rows, "dilationWFactor": problem.dilation.columns,
              "fusedActivationFunction": ACTIVATIONS[problem.activation]}
    if problem.depthwise:
        weights = tensors.weights.transpose(1, 2, 3, 0)
        code, kind = schema.BuiltinOperator.DEPTHWISE_CONV_2D, schema.BuiltinOptions.DepthwiseConv2DOptions
        options = schema.DepthwiseConv2DOptionsT(depthMultiplier=channels // problem.groups, **values)
    else:
        weights = tensors.weights.transpose(0, 2, 3, 1)
        code, kind = schema.BuiltinOperator.CONV_2D, schema.BuiltinOptions.Conv2DOptions
        options = schema.Conv2DOptionsT(**values)
    bias = tensors.bias if problem.bias else numpy.zeros(channels, numpy.float32)
    inputs = [source, builder.tensor(weights.shape, weights), builder.tensor(bias.shape, bias)]
    builder.operator(code, inputs, [target], options, kind)
    return target


def build_model(problem, tensors):
    builder = ModelBuilder()
    batch, channels, height, width = problem.in_shape
    first = source = builder.tensor((batch, height, width, channels))
    padding = schema.Padding.SAME if same_padding(problem) else schema.Padding.VALID
    if padding == schema.Padding.VALID and any(problem.pad_begin + problem.pad_end):
        source = add_padding(builder, problem, source)
    return builder.finish(first, add_convolution(builder, problem, tensors, source, padding))


def prepare(problem, tensors, _):
    if problem.activation not in ACTIVATIONS:
        raise worker.Cannot(f"fuse {problem.activation}")
    interpreter = Interpreter(model_content=build_model(problem, tensors), num_threads=peer.threads,
                              experimental_op_resolver_type=OpResolverType.BUILTIN)
    interpreter.allocate_tensors()
    source, target = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    interpreter.set_tensor(source, numpy.ascontiguousarray(tensors.input.transpose(0, 2, 3, 1)))
    delegated = sum("Delegate" in operator["op_name"].title() for operator in interpreter._get_ops_details())
    note = "XNNPACK" if delegated else "without XNNPACK"
    return worker.Prepared(interpreter.invoke, lambda: from_nhwc(interpreter.get_tensor(target)), note)


if __name__ == "__main__":
    from importlib.metadata import version
    peer.serve(["nhwc"], f"LiteRT {version('ai-edge-litert')}", prepare)
