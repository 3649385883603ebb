# SPDX-License-Identifier: MIT
"""What the tests and examples of the provider share: sessions with it and without it, what it claimed of a model, and
the bound on the difference of two convolutions."""

import os
import sys
from collections import Counter

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed; integrations/setup.sh BUILD_DIR gets it")
    sys.exit(77)

NAME = "Conv2dExecutionProvider"


def register(library):
    """The device of the provider.  The runtime would look for a relative path among its own files."""
    onnxruntime.register_execution_provider_library("conv2d", os.path.abspath(library))
    return next(device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME)


def session(model, device=None, threads=1):
    """A session with the provider of `device`, or with the runtime's own for the CPU; model is one, or a path."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    # Threads that wait for the next run of one session would take the processors from the other one.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    source = model if isinstance(model, str) else model.SerializeToString()
    if device is None:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    options.add_provider_for_devices([device], {})
    return onnxruntime.InferenceSession(source, options)


def claimed(of):
    """How many nodes of each type the provider got, as the runtime tells it."""
    return Counter(node.op_type for part in of.get_provider_graph_assignment_info() if part.ep_name == NAME
                   for node in part.get_nodes())


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(numpy.ascontiguousarray(array), name)


def make_model(nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def bound_of_difference(magnitudes, products):
    """Any two orders of summing `products` rounded products and a bias, the sum of whose magnitudes is known, differ by
    no more: each is off by less than n u / (1 - n u) of it (Higham, Accuracy and Stability, chapter 3), n roundings a
    term.  The magnitudes were summed in f32 themselves, which the last factor allows for."""
    roundings = (products + 2) * 2.0 ** -24
    gamma = roundings / (1 - roundings)
    return 2 * gamma * magnitudes.astype(numpy.float64) * (1 + 2 * gamma)


def conv_magnitudes(node, tensors):
    """The sums of absolute products of a Conv node, and the number of products, for its input tensors in order."""
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    plain.op_type, plain.domain = "Conv", ""
    plain.input[:] = ["x", "w", "b"][:len(tensors)]
    plain.output[:] = ["y"]
    inputs = [value(name, tensor.shape) for name, tensor in zip(plain.input, tensors)]
    model = make_model([plain], inputs, [value("y", None)])
    feeds = {name: numpy.abs(tensor) for name, tensor in zip(plain.input, tensors)}
    return session(model).run(None, feeds)[0], int(numpy.prod(tensors[1].shape[1:]))
