# SPDX-License-Identifier: MIT
"""What the tests of small graphs share."""

import sys

from provider import helper, numpy, value

RANDOM = numpy.random.default_rng(20)
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def tensor(*shape):
    return RANDOM.standard_normal(shape).astype(numpy.float32)


def conv(x="x", w="w", b=None, y="c", **attributes):
    return helper.make_node("Conv", [x, w] + ([b] if b else []), [y], **attributes)


def inputs_of(arrays):
    """Inputs of unknown extents, so that nothing can be planned ahead."""
    return [value(name, [f"{name}{i}" for i in range(array.ndim)]) for name, array in arrays.items()]


def node(kind, sources, result, **attributes):
    return helper.make_node(kind, sources, [result], **attributes)


def run_checks(*checks):
    for part in checks:
        part()
        print(f"{part.__name__[6:]}: {len(failures)} failures so far")
    sys.exit(1 if failures else 0)
