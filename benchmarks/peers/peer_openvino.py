# SPDX-License-Identifier: MIT
"""OpenVINO's CPU plugin; its own layout is NHWC: there its reorders of input and output do nothing."""

from functools import partial

import worker
from problem import aligned

peer = worker.start()
peer.refuse_isa("OpenVINO")
with peer.needs():
    import numpy
    import openvino
    from openvino import opset13 as ops
    from openvino._pyopenvino import InferRequest as PlainInferRequest

    from layouts import from_nhwc, to_nhwc


def conv_node(source, problem, tensors):
    settings = problem.stride, problem.pad_begin, problem.pad_end, problem.dilation
    if problem.groups == 1:
        node = ops.convolution(source, ops.constant(tensors.weights), *settings)
    else:
        out_channels, *rest = problem.weight_shape
        weights = tensors.weights.reshape(problem.groups, out_channels // problem.groups, *rest)
        node = ops.group_convolution(source, ops.constant(weights), *settings)
    if problem.bias:
        node = ops.add(node, ops.constant(tensors.bias.reshape(1, -1, 1, 1)))
    simple = {"relu": ops.relu, "hswish": ops.hswish, "hsigmoid": ops.hsigmoid, "sigmoid": ops.sigmoid,
              "silu": ops.swish, "tanh": ops.tanh, "gelu": partial(ops.gelu, approximation_mode="erf"),
              "mish": ops.mish}
    if problem.activation in simple:
        return simple[problem.activation](node)
    if problem.activation == "leaky":
        return ops.prelu(node, ops.constant(numpy.float32([problem.act_a])))
    if problem.activation == "clamp":
        return ops.clamp(node, problem.act_a, problem.act_b)
    return node


def build_model(problem, tensors, nhwc):
    if not nhwc:
        source = ops.parameter(problem.in_shape, numpy.float32)
        return openvino.Model([conv_node(source, problem, tensors)], [source])
    batch, channels, height, width = problem.in_shape
    source = ops.parameter((batch, height, width, channels), numpy.float32)
    node = conv_node(ops.transpose(source, ops.constant([0, 3, 1, 2])), problem, tensors)
    return openvino.Model([ops.transpose(node, ops.constant([0, 2, 3, 1]))], [source])


def kernel_name(compiled):
    nodes = (node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops())
    return "+".join(node["primitiveType"].astype(str) for node in nodes
                    if "Convolution" in node["layerType"].astype(str))


def prepare(problem, tensors, mode):
    nhwc = mode == "nhwc"
    config = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(peer.threads),
              "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": "NO"}
    compiled = openvino.Core().compile_model(build_model(problem, tensors, nhwc), "CPU", config)
    source = to_nhwc(tensors.input) if nhwc else tensors.input
    batch, channels, height, width = problem.out_shape
    target = aligned((batch, height, width, channels) if nhwc else problem.out_shape)
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(source, shared_memory=True))
    request.set_output_tensor(openvino.Tensor(target, shared_memory=True))
    # Not the wrapper of the same name, which would look at the inputs anew in every call.
    run = partial(PlainInferRequest.infer, request, {}, True, False)
    return worker.Prepared(run, partial(from_nhwc, target) if nhwc else target.view, kernel_name(compiled), (source,))


if __name__ == "__main__":
    peer.serve(["nchw", "nhwc"], f"OpenVINO {openvino.__version__.partition('-')[0]}", prepare)
