# SPDX-License-Identifier: MIT
"""The provider without memory: each allocation that it asks for itself is refused in turn, while it is registered,
while a session is made and in runs.  That must be an exception that says so, or not matter; nothing is lost; and what
is tried again succeeds, with the same bits.
usage: check_faults.py LIBRARY PRELOAD"""

import ctypes
import gc
import os
import sys

LIBRARY, PRELOAD = (os.path.abspath(path) for path in sys.argv[1:])
if os.environ.get("LD_PRELOAD") != PRELOAD:
    settings = {"LD_PRELOAD": PRELOAD, "FAULT_OBJECT": os.path.basename(LIBRARY)}
    os.execve(sys.executable, [sys.executable, "-B", *sys.argv], os.environ | settings)

# pylint: disable=wrong-import-position
from provider import claimed, constant, helper, make_model, numpy, onnxruntime, register, session, value
from small_graphs import check, failures, tensor

FAULTS = ctypes.CDLL(None)
FAULTS.allocations_counted.restype = FAULTS.allocations_held.restype = ctypes.c_ulong
FAULTS.fail_allocation.argtypes = [ctypes.c_ulong, ctypes.c_char_p]
OBJECT = os.path.basename(LIBRARY).encode()
CLAIMS = 13 # nodes of make_network


def make_network():
    """Packed weights and those of a run, a constant that is kept, a residual, an operand to be written out, pools, a
    Concat that is stored into and one that is normalized."""
    same = {"pads": [1, 1, 1, 1]}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], **same), helper.make_node("Sub", ["c", "k"], ["m"]),
             helper.make_node("Add", ["m", "r"], ["a"]),
             helper.make_node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p", "v"], ["d"], kernel_shape=[3, 3], **same),
             helper.make_node("Mul", ["d", "columns"], ["e"]),
             helper.make_node("Conv", ["e", "u"], ["f"]), helper.make_node("Conv", ["e", "t"], ["g"], **same),
             helper.make_node("Concat", ["f", "g"], ["h"], axis=1),
             helper.make_node("Concat", ["h", "p"], ["i"], axis=1),
             helper.make_node("BatchNormalization", ["i"] + ["ones"] * 4, ["j"]),
             helper.make_node("Relu", ["j"], ["l"]), helper.make_node("GlobalAveragePool", ["l"], ["y"])]
    inputs = [value(name, [f"{name}{i}" for i in range(rank)])
              for name, rank in (("x", 4), ("r", 4), ("v", 4), ("columns", 1))]
    constants = [constant("w", tensor(8, 4, 3, 3)), constant("b", tensor(8)), constant("k", tensor(8, 1, 1)),
                 constant("u", tensor(5, 6, 1, 1)), constant("t", tensor(7, 6, 3, 3)),
                 constant("ones", numpy.ones(20, numpy.float32))]
    return make_model(nodes, inputs, [value("y", None)], constants)


def feeds_of(size):
    return {"x": tensor(1, 4, size, size), "r": tensor(1, 8, size, size), "v": tensor(6, 8, 3, 3),
            "columns": tensor(size // 2)}


class Attempt:
    """What became of a call while one allocation was refused, 0: none."""

    def __init__(self, number, call):
        self.error = self.result = None
        FAULTS.fail_allocation(number, OBJECT)
        try:
            self.result = call()
        except Exception as error: # whatever class the binding makes of it
            self.error = str(error)
        self.count = FAULTS.allocations_counted()
        FAULTS.fail_allocation(0, OBJECT)


def refuse_each(what, prepare, call, good, also_good=None):
    """Tries call(prepare()) with each of its allocations refused, then once more without; good(result) must be so, or,
    of the first, also_good(result)."""
    def attempt(number):
        held = FAULTS.allocations_held()
        prepared = prepare()
        first = Attempt(number, lambda: call(prepared))
        if first.error is None:
            check(good(first.result) or (number and also_good and also_good(first.result)),
                  f"{what}, allocation {number}: a wrong result")
        else:
            check("conv2d" in first.error and "out of memory" in first.error,
                  f"{what}, allocation {number}: {first.error}")
        first.result = None
        again = Attempt(0, lambda: call(prepared))
        check(again.error is None and good(again.result), f"{what}, after allocation {number}: {again.error}")
        count, failed = first.count, first.error is not None
        del prepared, first, again
        gc.collect()
        left = FAULTS.allocations_held() - held
        check(left == 0, f"{what}, allocation {number}: {left} pieces of memory are lost")
        return count, failed

    count, failed = attempt(0)
    check(count > 0 and not failed, f"{what}: {count} allocations")
    said = sum(attempt(number)[1] for number in range(1, count + 1))
    print(f"{what}: {count} allocations refused, {said} exceptions")
    return said


def main():
    def register_and_back(_):
        register(LIBRARY)
        onnxruntime.unregister_execution_provider_library("conv2d")
        return True

    refuse_each("registration", lambda: None, register_and_back, bool)

    device = register(LIBRARY)
    network = make_network()
    small, large = feeds_of(20), feeds_of(90)
    plain = session(network, device)
    check(sum(claimed(plain).values()) == CLAIMS, f"claimed {dict(claimed(plain))}")
    expected, expected_large = plain.run(None, small)[0], plain.run(None, large)[0]
    del plain

    def run_new():
        made = session(network, device)
        return sum(claimed(made).values()), made.run(None, small)[0]

    # The runtime logs that the provider cannot look at a graph, and keeps it.
    refuse_each("session", lambda: None, lambda _: run_new(),
                lambda result: result[0] == CLAIMS and numpy.array_equal(result[1], expected),
                lambda result: result[0] == 0 and numpy.allclose(result[1], expected, rtol=1e-3, atol=1e-3))
    refuse_each("first run", lambda: session(network, device), lambda made: made.run(None, small)[0],
                lambda result: numpy.array_equal(result, expected))

    def used():
        made = session(network, device)
        made.run(None, small)
        return made

    refuse_each("larger run", used, lambda made: made.run(None, large)[0],
                lambda result: numpy.array_equal(result, expected_large))
    return 1 if failures else 0


sys.exit(main())
