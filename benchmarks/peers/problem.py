# SPDX-License-Identifier: MIT
"""The problems that convbench hands to its peers, and the values it fills their tensors with (see README.md).

Nothing but the standard library is needed until tensors are made; those are numpy arrays.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

MASK = 0xFFFFFFFF
CHUNK = 1 << 20


class Pair(NamedTuple):
    rows: int
    columns: int


@dataclass(frozen=True)
class Problem:
    in_shape: tuple  # NCHW
    weight_shape: tuple  # OIHW
    stride: Pair
    dilation: Pair
    pad_begin: Pair  # top, left
    pad_end: Pair  # bottom, right
    groups: int
    bias: bool
    activation: str = "none"
    act_a: float = 0.0
    act_b: float = 0.0

    @property
    def kernel(self):
        return Pair(*self.weight_shape[2:])

    @property
    def out_shape(self):
        axes = zip(self.in_shape[2:], self.kernel, self.stride, self.dilation, self.pad_begin, self.pad_end)
        sizes = [(size + begin + end - (taps - 1) * dilation - 1) // stride + 1
                 for size, taps, stride, dilation, begin, end in axes]
        return self.in_shape[0], self.weight_shape[0], *sizes

    @property
    def depthwise(self):
        return self.groups == self.in_shape[1] > 1


def parse(words):
    """The problem in the words KEY=VALUE of a command; ValueError says which of them is amiss."""
    values = dict(word.partition("=")[::2] for word in words)
    try:
        number = {key: int(value) for key, value in values.items() if key not in ("mode", "act", "a", "b")}
        n, c, h, w, k, r, s, groups = (number[key] for key in "nchwkrsg")
        return Problem((n, c, h, w), (k, c // groups, r, s), Pair(number["sh"], number["sw"]),
                       Pair(number["dh"], number["dw"]), Pair(number["pt"], number["pl"]),
                       Pair(number["pb"], number["pr"]), groups, number["bias"] != 0, values["act"],
                       float(values["a"]), float(values["b"]))
    except KeyError as error:
        raise ValueError(f"a problem without {error}") from error


def values_at(index, seed):
    """The values in [-1, 1) at an index, or at each index of an array of 64-bit integers."""
    h = (index * 2654435761 + seed * 2246822519) & MASK
    h = (h ^ (h >> 16)) * 3266489917 & MASK
    h ^= h >> 13
    return (h >> 8) * 2.0**-23 - 1


def aligned(shape, alignment=64):
    """Zeros that begin on a cache line: not every library copes well with less."""
    import numpy
    size = 4 * math.prod(shape)
    memory = numpy.zeros(size + alignment, numpy.uint8)
    begin = -memory.ctypes.data % alignment
    return memory[begin:begin + size].view(numpy.float32).reshape(shape)


def aligned_copy(array):
    copy = aligned(array.shape)
    copy[...] = array
    return copy


def filled(shape, seed):
    import numpy
    values = aligned(shape)
    flat = values.reshape(-1)
    for begin in range(0, flat.size, CHUNK):
        end = min(begin + CHUNK, flat.size)
        flat[begin:end] = values_at(numpy.arange(begin, end, dtype=numpy.uint64), seed)
    return values


@dataclass(frozen=True)
class Tensors:
    input: object  # NCHW
    weights: object  # OIHW
    bias: object  # None without


def make_tensors(problem):
    bias = filled(problem.weight_shape[:1], 3) if problem.bias else None
    return Tensors(filled(problem.in_shape, 1), filled(problem.weight_shape, 2), bias)
