# SPDX-License-Identifier: MIT
"""The Conv cases of ONNX's conformance data through the provider, which must claim each of them; prints what
onnx_conformance does.
usage: run_cases.py LIBRARY CASE_FOLDER..."""

import os
import sys

from provider import bound_of_difference, claimed, conv_magnitudes, numpy, numpy_helper, onnx, register, session

DEVICE = register(sys.argv[1])


def read_tensor(folder, name):
    with open(os.path.join(folder, "test_data_set_0", f"{name}.pb"), "rb") as file:
        return numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))


def conv_case(folder):
    """The model, if it is a single Conv with one or two dimensions, and all inputs by their names."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    if [node.op_type for node in model.graph.node] != ["Conv"]:
        return None
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    free = [entry.name for entry in model.graph.input if entry.name not in constants]
    feeds = {name: read_tensor(folder, f"input_{index}") for index, name in enumerate(free)}
    weights = (constants | feeds)[model.graph.node[0].input[1]]
    return (model, feeds, constants | feeds) if weights.ndim in (3, 4) else None


def share_of_bound(folder, model, feeds, tensors):
    ours = session(model, DEVICE)
    if claimed(ours) != {"Conv": 1}:
        return float("inf")
    got, expected = ours.run(None, feeds)[0], read_tensor(folder, "output_0")
    node = model.graph.node[0]
    magnitudes, products = conv_magnitudes(node, [tensors[name] for name in node.input])
    difference = numpy.abs(got.astype(numpy.float64) - expected)
    return float((difference / bound_of_difference(magnitudes, products).clip(1e-300)).max())


counts = {True: 0, False: 0, None: 0}
for case_folder in sys.argv[2:]:
    case = conv_case(case_folder) if os.path.exists(os.path.join(case_folder, "model.onnx")) else None
    good = None
    if case:
        share = share_of_bound(case_folder, *case)
        print(f"{case_folder}: {share:.3f} of the bound")
        good = share <= 1
    counts[good] += 1
print(f"{counts[True]} cases good, {counts[False]} failed, {counts[None]} models are no such case")
sys.exit(1 if counts[False] else 0)
