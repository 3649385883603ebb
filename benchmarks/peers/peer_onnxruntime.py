# SPDX-License-Identifier: MIT
"""ONNX Runtime: nchw is a session with one Conv node; own the blocked Conv that its optimizer makes of it, alone."""

import os
import tempfile
from functools import cache, partial

import worker
from problem import Pair, Problem, aligned, make_tensors

peer = worker.start()
peer.refuse_isa("ONNX Runtime")
with peer.needs():
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    from layouts import from_blocks, to_blocks


SIMPLE = {"relu": "Relu", "hswish": "HardSwish", "sigmoid": "Sigmoid", "tanh": "Tanh"}


def conv_nodes(problem):
    inputs = ["x", "w"] + (["b"] if problem.bias else [])
    end = "y" if problem.activation == "none" else "sum"
    yield helper.make_node("Conv", inputs, [end], kernel_shape=problem.kernel, strides=problem.stride,
                           dilations=problem.dilation, pads=problem.pad_begin + problem.pad_end, group=problem.groups)
    if problem.activation in SIMPLE:
        yield helper.make_node(SIMPLE[problem.activation], [end], ["y"])
    if problem.activation == "leaky":
        yield helper.make_node("LeakyRelu", [end], ["y"], alpha=problem.act_a)
    if problem.activation == "clamp":
        yield helper.make_node("Clip", [end, "low", "high"], ["y"])
    if problem.activation == "hsigmoid":
        yield helper.make_node("HardSigmoid", [end], ["y"], alpha=1 / 6, beta=0.5)
    if problem.activation == "silu":
        yield helper.make_node("Sigmoid", [end], ["gate"])
        yield helper.make_node("Mul", [end, "gate"], ["y"])
    if problem.activation in ("gelu", "mish"):
        raise worker.Cannot(f"do {problem.activation} by one node of opset 17")


def conv_model(problem, tensors):
    """The plain model, as an exporter would write it."""
    constants = {"w": tensors.weights}
    if problem.bias:
        constants["b"] = tensors.bias
    if problem.activation == "clamp":
        constants |= {"low": numpy.float32(problem.act_a), "high": numpy.float32(problem.act_b)}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("x", problem.in_shape), ("y", problem.out_shape))]
    graph = helper.make_graph(list(conv_nodes(problem)), "conv", ends[:1], ends[1:],
                              [numpy_helper.from_array(numpy.asarray(array), name)
                               for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def session_of(model, save_as=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = peer.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if save_as:
        options.optimized_model_filepath = save_as
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def optimized(model):
    """The model after ONNX Runtime's own optimizer, its weights in the order of its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "optimized.onnx")
        session_of(model, path)
        return onnx.load(path)


def blocked_conv(model):
    """The blocked convolution, and the shapes of all constants."""
    conv = next((node for node in model.graph.node if node.op_type == "Conv" and "nchwc" in node.domain), None)
    if conv is None:
        raise worker.Cannot("use its own layout here: its optimizer leaves the node in NCHW")
    return conv, {constant.name: constant.dims for constant in model.graph.initializer}


@cache
def channels_per_block():
    """8 or 16, as the processor has it: to so many channels the optimizer extends these 8."""
    problem = Problem((1, 8, 8, 8), (8, 8, 1, 1), Pair(1, 1), Pair(1, 1), Pair(0, 0), Pair(0, 0), 1, False)
    conv, constants = blocked_conv(optimized(conv_model(problem, make_tensors(problem))))
    return constants[conv.input[1]][0]


def set_channels(value, channels):
    value.type.tensor_type.shape.dim[1].dim_value = channels


def without_reorders(model):
    """The model with its blocked convolution alone, and whether the input is blocked too."""
    graph = model.graph
    conv, constants = blocked_conv(model)
    blocked_input = any(node.op_type == "ReorderInput" for node in graph.node)
    if len(graph.node) != 2 + blocked_input:
        raise worker.Cannot("use its own layout alone: its optimizer adds more than reorders")
    out_channels, group_channels = constants[conv.input[1]][:2]
    groups = next(attribute.i for attribute in conv.attribute if attribute.name == "group")
    set_channels(graph.output[0], out_channels)
    if blocked_input:
        set_channels(graph.input[0], group_channels * groups)
    conv = onnx.NodeProto.FromString(conv.SerializeToString())
    conv.input[0], conv.output[0] = graph.input[0].name, graph.output[0].name
    del graph.node[:]
    graph.node.append(conv)
    return model, blocked_input


def prepare(problem, tensors, mode):
    model, source, target = conv_model(problem, tensors), tensors.input, aligned(problem.out_shape)
    output, note = target.view, "input and output bound"
    if mode == "own":
        model, blocked_input = without_reorders(optimized(model))
        block = channels_per_block()
        source = to_blocks(source, block) if blocked_input else source
        target = to_blocks(target, block)
        output, note = partial(from_blocks, target, problem.out_shape[1]), f"NCHW{block}c, input and output bound"
    session = session_of(model)
    binding = session.io_binding()
    for bind, end, array in ((binding.bind_input, session.get_inputs()[0], source),
                             (binding.bind_output, session.get_outputs()[0], target)):
        bind(end.name, "cpu", 0, numpy.float32, end.shape, array.ctypes.data)
    return worker.Prepared(partial(session.run_with_iobinding, binding), output, note, (source,))


if __name__ == "__main__":
    peer.serve(["nchw", "own"], f"ONNX Runtime {onnxruntime.__version__}", prepare)
