# SPDX-License-Identifier: MIT
"""ONNX's own conformance cases: all single Conv nodes of one or two dimensions, of Debian's libonnx-testdata and,
newer, of the package onnx."""

import os
import struct
import unittest
from pathlib import Path

import conv2d
import numpy as np

DEBIAN = Path("/usr/share/libonnx-testdata/data")
CURRENT = Path(os.environ.get("CONV2D_ONNX_CASES", "onnx_cases"))
CASES = 26
UNIT = 2.0 ** -24
VARINT, BYTES, FOUR_BYTES = 0, 2, 5
FLOAT = 1  # of TensorProto.data_type


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """{number: [values]} of a message of protocol buffers: whole numbers, floats, or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == VARINT:
            value, at = varint(data, at)
        elif key & 7 == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif key & 7 == FOUR_BYTES:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            raise ValueError(f"a field of kind {key & 7}")
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(values):
    """Of a repeated field, one by one or packed."""
    result = []
    for value in values:
        if not isinstance(value, bytes):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            result.append(number)
    return result


def tensor(data):
    """A TensorProto of floats with raw data, or None."""
    message = fields(data)
    if message.get(2) != [FLOAT] or 9 not in message:
        return None
    return np.frombuffer(message[9][0], "<f4").reshape(numbers(message.get(1, [])))


def attributes(node):
    found = {}
    for message in map(fields, node.get(5, [])):
        value = message[4][0].decode() if 4 in message else numbers(message[8]) if 8 in message else message[3][0]
        found[message[1][0].decode()] = value
    return found


def read_case(folder):
    """Attributes, inputs and expected output; None for a model that is no single Conv of f32 tensors."""
    graph = fields(fields((folder / "model.onnx").read_bytes())[7][0])
    nodes = [fields(node) for node in graph[1]]
    if len(nodes) != 1 or nodes[0][4] != [b"Conv"]:
        return None
    data = folder / "test_data_set_0"
    known = {fields(constant)[8][0]: tensor(constant) for constant in graph.get(5, [])}
    for number, value in enumerate(graph[11]):
        name = fields(value)[1][0]
        if name not in known:
            known[name] = tensor((data / f"input_{number}.pb").read_bytes())
    inputs = [known[name] for name in nodes[0][1]]
    if inputs[0].ndim > 4:
        return None
    return attributes(nodes[0]), inputs, tensor((data / "output_0.pb").read_bytes())


def pads(found, shape, kernel, stride, dilation):
    """Begin and end of each axis."""
    if found.get("auto_pad", "NOTSET") in ("NOTSET", "VALID"):
        given = found.get("pads", [0] * (2 * len(kernel)))
        return list(zip(given[:len(kernel)], given[len(kernel):]))
    both = [max(0, (-(-size // step) - 1) * step + (taps - 1) * apart + 1 - size)
            for size, taps, step, apart in zip(shape, kernel, stride, dilation)]
    upper = found["auto_pad"] == "SAME_UPPER"
    return [(total // 2 if upper else total - total // 2, total - total // 2 if upper else total // 2)
            for total in both]


def run(found, inputs):
    """The result, and for each output the sum of magnitudes of its terms."""
    x, weights = inputs[:2]
    bias = inputs[2] if len(inputs) > 2 else np.zeros(len(weights), np.float32)
    axes = x.ndim - 2
    stride, dilation = (found.get(name, [1] * axes) for name in ("strides", "dilations"))
    both = pads(found, x.shape[2:], weights.shape[2:], stride, dilation)
    if axes == 1:  # an image of one row
        x, weights = x[:, :, None], weights[:, :, None]
        stride, dilation, both = [1, *stride], [1, *dilation], [(0, 0), *both]
    named = {"stride": tuple(stride), "dilation": tuple(dilation), "groups": found.get("group", 1),
             "padding": (*both[0], *both[1])}
    results = (conv2d.convolve(x, weights, bias, **named),
               conv2d.convolve(np.abs(x), np.abs(weights), np.abs(bias), **named))
    return [result[:, :, 0] if axes == 1 else result for result in results]


class Conformance(unittest.TestCase):
    @unittest.skipUnless(DEBIAN.is_dir(), f"{DEBIAN} is not there (libonnx-testdata): its cases are not run")
    def test_debian(self):
        self.run_cases(DEBIAN)

    @unittest.skipUnless(CURRENT.is_dir(), f"{CURRENT} is not there (CONV2D_ONNX_CASES, the folder onnx_cases that "
                         "integrations/setup.sh makes): its cases are not run")
    def test_current(self):
        self.run_cases(CURRENT)

    def run_cases(self, root):
        """Both results are sums of n products and a bias in f32, each off by at most g(n + 1) of the magnitudes."""
        ran = 0
        for folder in sorted(path.parent for path in root.glob("*/test_*/model.onnx")):
            case = read_case(folder) if "onv" in folder.name else None
            if case is None:
                continue
            found, inputs, expected = case
            with self.subTest(folder.name):
                y, magnitudes = run(found, inputs)
                self.assertEqual(y.shape, expected.shape)
                terms = (inputs[1][0].size + 2) * UNIT
                bound = 2 * terms / (1 - terms) * magnitudes.astype(np.float64)
                self.assertTrue((np.abs(y.astype(np.float64) - expected) <= bound).all())
                ran += 1
        self.assertEqual(ran, CASES)


if __name__ == "__main__":
    unittest.main()
