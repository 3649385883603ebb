# SPDX-License-Identifier: MIT
"""PP-OCRv4's three networks through the provider: every convolution is claimed, each agrees with the runtime's own
within the bound of its rounding on what reaches it, the results differ by no more than such bounds do when they are
carried through the network, and the text of a picture is read.
usage: check_models.py LIBRARY PACKAGES"""

import sys

from read_text import LINES, Reader, detection_input, line_input, models_of, write_lines
from provider import (bound_of_difference, claimed, constant, conv_magnitudes, helper, make_model, numpy, numpy_helper,
                      onnx, register, session, value)

CONVOLUTIONS = {"det": 62, "cls": 53, "rec": 38}
SIGNS = 4 # patterns of signs that the bounds are carried through with
DEVICE = register(sys.argv[1])
PATHS, _ = models_of(sys.argv[2])
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
    print(f"{'good' if condition else 'FAILED'}: {what}")


def constants_of(graph):
    """Tensors of initializers and of Constant nodes, by name."""
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            tensors[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return tensors


def values_before(model, names, feed):
    """The tensors of these names in a run of the runtime's own."""
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    wider.graph.output.extend(value(name, None) for name in names)
    given = len(model.graph.output)
    return dict(zip(names, session(wider).run(None, feed)[given:]))


def conv_alone(node, tensors, device):
    model = make_model([node], [value(node.input[0], None)], [value(node.output[0], None)],
                       [constant(name, tensors[name]) for name in node.input[1:]])
    of = session(model, device)
    return of.run(None, {node.input[0]: tensors[node.input[0]]})[0], claimed(of)["Conv"] if device else 0


def check_each_convolution(kind, model, feed):
    """Returns the bound of each convolution's result, by its name."""
    convs = [node for node in model.graph.node if node.op_type == "Conv"]
    tensors = constants_of(model.graph)
    given = dict(feed)
    wanted = sorted({node.input[0] for node in convs} - given.keys())
    tensors |= given | values_before(model, wanted, feed)
    bounds, worst, ran = {}, 0.0, 0
    for node in convs:
        got, count = conv_alone(node, tensors, DEVICE)
        expected, _ = conv_alone(node, tensors, None)
        bound = bound_of_difference(*conv_magnitudes(node, [tensors[name] for name in node.input]))
        worst = max(worst, float((numpy.abs(got.astype(numpy.float64) - expected) / bound.clip(1e-300)).max()))
        bounds[node.output[0]], ran = bound, ran + count
    check(ran == CONVOLUTIONS[kind] and worst <= 1, f"{kind}: {ran} convolutions, each within {worst:.3f} of its bound")
    return bounds


def disturbed(model, bounds, random):
    """The model with each convolution's result moved by its bound, up or down at random."""
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    nodes = []
    for node in moved.graph.node:
        nodes.append(node)
        if node.op_type != "Conv":
            continue
        name = node.output[0]
        signs = random.integers(0, 2, bounds[name].shape) * 2 - 1
        moved.graph.initializer.append(constant(f"{name} moved", (bounds[name] * signs).astype(numpy.float32)))
        node.output[0] = f"{name} before"
        nodes.append(helper.make_node("Add", [f"{name} before", f"{name} moved"], [name]))
    del moved.graph.node[:]
    moved.graph.node.extend(nodes)
    return moved


def check_network(kind, tensor):
    model = onnx.load(PATHS[kind])
    feed = {model.graph.input[0].name: tensor}
    ours = session(PATHS[kind], DEVICE, threads=2)
    count = claimed(ours)["Conv"]
    check(count == CONVOLUTIONS[kind], f"{kind}: {count} of {CONVOLUTIONS[kind]} convolutions claimed")
    bounds = check_each_convolution(kind, model, feed)
    got, expected = ours.run(None, feed)[0], session(model).run(None, feed)[0]
    random = numpy.random.default_rng(8)
    carried = max(float(numpy.abs(session(disturbed(model, bounds, random)).run(None, feed)[0] - expected).max())
                  for _ in range(SIGNS))
    difference = float(numpy.abs(got - expected).max())
    check(difference <= carried, f"{kind}: results differ by {difference:.2g}, carried bounds by {carried:.2g}")


def check_reading():
    texts = {}
    for name, device in ("conv2d", DEVICE), ("CPU", None):
        texts[name] = tuple(text for _, text in Reader(sys.argv[2], device, threads=2).read(write_lines()))
        print(f"{name} reads: {' / '.join(texts[name])}")
    check(texts["conv2d"] == texts["CPU"] == LINES, "the text of the picture is read")


PICTURE = write_lines()
check_network("det", detection_input(PICTURE.resize((320, 192))))
check_network("cls", line_input(PICTURE.crop((0, 0, 640, 96)), 192))
check_network("rec", line_input(PICTURE.crop((30, 10, 450, 86))))
check_reading()
sys.exit(1 if failures else 0)
