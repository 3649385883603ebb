# SPDX-License-Identifier: MIT
"""Random convolutions against PyTorch's, with every attribute, each output held to a bound that is derived.

Let u be 2^-24, n the taps of an output, g(k) = k * u / (1 - k * u), and M = |bias| + sum |x||w| + |residual| (Higham,
Accuracy and Stability of Numerical Algorithms, 3.1).  A sum of n products, a bias and a residual is off by at most
g(n + 2) * M in any order, with or without fused operations.  An activation adds its own error (docs/contract.md: less
than 4 ulp) and multiplies that of the sum by its largest slope.  PyTorch in double precision stands for the exact
result: its own error is 2^-29 of that.  PyTorch in single precision may be off as much as we are, so twice the bound.
"""

import os
import random
import unittest

import conv2d
import numpy as np

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

COUNT = int(os.environ.get("CONV2D_DIFFERENTIAL_COUNT", 2000))
SEED = int(os.environ.get("CONV2D_DIFFERENTIAL_SEED", 2026))
UNIT = 2.0 ** -24
TINY = 2.0 ** -126

# What we call it, its parameters, PyTorch's, and the largest slope.
ACTIVATIONS = [
    (None, (), lambda y: y, 1),
    ("relu", (), lambda y: functional.relu(y), 1),
    ("clamp", (-0.5, 1.25), lambda y: torch.clamp(y, -0.5, 1.25), 1),
    ("leaky_relu", (0.125,), lambda y: functional.leaky_relu(y, 0.125), 1),
    ("hard_swish", (), lambda y: functional.hardswish(y), 1.5),
    ("hard_sigmoid", (), lambda y: functional.hardsigmoid(y), 1 / 6),
    ("sigmoid", (), lambda y: torch.sigmoid(y), 0.25),
    ("silu", (), lambda y: functional.silu(y), 1.1),
    ("tanh", (), lambda y: torch.tanh(y), 1),
    ("gelu", (), lambda y: functional.gelu(y), 1.13),
    ("mish", (), lambda y: functional.mish(y), 1.09),
]


class Case:
    """One random convolution: sizes, attributes and data, all from its seed."""

    def __init__(self, seed):
        self.choose = choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.groups = choose.choice((1, 1, 1, 2, 3, 8))
        depthwise = choose.random() < 0.15
        in_group = 1 if depthwise else choose.choice((1, 2, 3, 5, 16, 33))
        out_group = 1 if depthwise else choose.choice((1, 2, 3, 7, 16, 20))
        self.groups *= choose.choice((1, 2, 5)) if depthwise else 1
        self.kernel = choose.choice(((1, 1), (3, 3), (3, 3), (5, 5), (1, 7), (4, 2), (2, 3)))
        self.stride = choose.choice(((1, 1), (1, 1), (2, 2), (3, 1), (1, 2)))
        self.dilation = choose.choice(((1, 1), (1, 1), (2, 2), (1, 3)))
        self.padding = tuple(choose.choice((0, 0, 1, 2, 4)) for _ in range(4))
        top, bottom, left, right = self.padding
        spans = [(size - 1) * step + 1 for size, step in zip(self.kernel, self.dilation)]
        self.image = (max(1, spans[0] - top - bottom) + choose.randrange(24),
                      max(1, spans[1] - left - right) + choose.randrange(40))
        self.batch = choose.choice((1, 1, 2, 3))
        self.channels = in_group * self.groups, out_group * self.groups
        self.activation, self.parameters, self.theirs, self.slope = choose.choice(ACTIVATIONS)
        self.layout, self.out_layout = choose.choice(("nchw", "nhwc")), choose.choice(("nchw", "nhwc"))
        self.weights_layout = choose.choice(("oihw", "ohwi", "hwio"))
        self.isa = choose.choice(("any", "any", "avx2", "scalar"))
        self.x = self.draw(self.batch, self.channels[0], *self.image)
        self.weights = self.draw(self.channels[1], in_group, *self.kernel)
        self.bias = self.draw(self.channels[1]) if choose.random() < 0.6 else None
        self.residual = None

    def __str__(self):
        names = ("image", "batch", "channels", "kernel", "stride", "dilation", "padding", "groups", "activation",
                 "layout", "out_layout", "weights_layout", "isa")
        return ", ".join(f"{name} {getattr(self, name)}" for name in names)

    def draw(self, *shape):
        """Of sizes that differ by powers of ten, so that sums cancel and some terms vanish in others."""
        values = self.numbers.standard_normal(shape, np.float32)
        return values * np.float32(10) ** self.numbers.integers(-2, 2, shape).astype(np.float32)

    def view(self, array, layout):
        """The array in this layout, now and then as a part of a larger one."""
        array = array.transpose(0, 2, 3, 1) if layout == "nhwc" else array
        room = [self.choose.choice((0, 0, 3)) for _ in range(3)] + [self.choose.choice((0, 5))]
        large = np.full([size + more for size, more in zip(array.shape, room)], np.nan, np.float32)
        part = large[tuple(slice(more // 2, more // 2 + size) for size, more in zip(array.shape, room))]
        part[...] = array
        return part

    def ours(self, shape, weights):
        """The result, as NCHW; out and residual are views too, and now and then the same."""
        name = (self.activation, *self.parameters) if self.parameters else self.activation
        axes = {"oihw": (0, 1, 2, 3), "ohwi": (0, 2, 3, 1), "hwio": (2, 3, 1, 0)}[self.weights_layout]
        convolution = conv2d.Convolution(
            weights.transpose(axes), self.bias, stride=self.stride, padding=self.padding, dilation=self.dilation,
            groups=self.groups, activation=name, layout=self.layout, out_layout=self.out_layout,
            weights_layout=self.weights_layout, isa=self.isa)
        out, residual = self.view(np.zeros(shape, np.float32), self.out_layout), None
        if self.choose.random() < 0.3:
            self.residual = self.draw(*shape)
            out[...] = self.residual.transpose(0, 2, 3, 1) if self.out_layout == "nhwc" else self.residual
            residual = out
        y = convolution(self.view(self.x, self.layout), residual, out=out)
        return y.transpose(0, 3, 1, 2) if self.out_layout == "nhwc" else y

    def sums(self, x, weights, bias):
        """PyTorch's convolution, of tensors."""
        top, bottom, left, right = self.padding
        padded = functional.pad(x, (left, right, top, bottom))
        return functional.conv2d(padded, weights, bias, self.stride, (0, 0), self.dilation, self.groups)


def compare(case, weights=None):
    """The largest error of the case in units of its bound: against double precision, against single.  weights: what we
    get instead of the case's."""
    def tensors(kind, change=lambda tensor: tensor):
        found = (None if array is None else torch.from_numpy(array) for array in (case.x, case.weights, case.bias))
        return [None if tensor is None else change(tensor.to(kind)) for tensor in found]
    exact, single = case.sums(*tensors(torch.float64)), case.sums(*tensors(torch.float32))
    magnitude = case.sums(*tensors(torch.float64, torch.abs))
    ours = case.ours(tuple(exact.shape), case.weights if weights is None else weights)
    ours = torch.from_numpy(np.ascontiguousarray(ours))
    if case.residual is not None:
        residual = torch.from_numpy(case.residual)
        exact, single, magnitude = exact + residual, single + residual, magnitude + residual.abs()
    exact, single = case.theirs(exact), case.theirs(single)
    terms = (case.weights[0].size + 2) * UNIT
    bound = terms / (1 - terms) * magnitude * case.slope * (1 + 2.0 ** -20) + 8 * UNIT * exact.abs() + TINY
    return [float(((ours.double() - other.double()).abs() / limit).max())
            for other, limit in ((exact, bound), (single, 2 * bound))]


@unittest.skipIf(torch is None, "PyTorch is not there (python3-torch): not compared with it")
class Differential(unittest.TestCase):
    def test_random(self):
        worst = [0.0, 0.0]
        with torch.inference_mode():
            for number in range(COUNT):
                case = Case(SEED * 1000003 + number)
                errors = compare(case)
                # Not <=, so that a NaN fails.
                self.assertTrue(max(errors) <= 1, f"number {number}, {errors} of the bound: {case}")
                worst = list(map(max, worst, errors))
        print(f"{COUNT} convolutions; of the bound at most {worst[0]:.3f} (double), {worst[1]:.3f} (single)")

    def test_bound_is_tight(self):
        """A single weight that is off by 0.01 is seen in most cases."""
        seen = 0
        with torch.inference_mode():
            for case in map(Case, range(50)):
                wrong = case.weights.copy()
                wrong[0, 0, 0, 0] += np.float32(0.01)
                seen += compare(case, wrong)[0] > 1
        self.assertGreater(seen, 25)


if __name__ == "__main__":
    unittest.main()
