# SPDX-License-Identifier: MIT
"""Small graphs through the provider: what it claims, what it leaves, and what comes out.  A convolution must agree with
the runtime's own within the bound of rounding, what is fused behind it must then not change a bit.
usage: check_provider.py LIBRARY"""

import sys
import threading

from provider import (TensorProto, bound_of_difference, claimed, constant, conv_magnitudes, helper, make_model, numpy,
                      register, session, value)
from small_graphs import check, conv, inputs_of, node, run_checks, tensor

DEVICE = register(sys.argv[1])


def check_conv(what, x, w, b=None, constant_weights=True, **attributes):
    """One Conv against the runtime's own."""
    tensors = {"x": x, "w": w} | ({"b": b} if b is not None else {})
    fixed = [name for name in tensors if constant_weights and name != "x"]
    feeds = {name: array for name, array in tensors.items() if name not in fixed}
    alone = conv(b="b" if b is not None else None, **attributes)
    model = make_model([alone], inputs_of(feeds), [value("c", None)], [constant(name, tensors[name]) for name in fixed])
    ours = session(model, DEVICE, threads=2)
    check(claimed(ours) == {"Conv": 1}, f"{what}: claimed {claimed(ours)}")
    got, expected = ours.run(None, feeds)[0], session(model).run(None, feeds)[0]
    check(got.shape == expected.shape, f"{what}: {got.shape}, not {expected.shape}")
    if got.shape == expected.shape and got.size:
        magnitudes, products = conv_magnitudes(alone, list(tensors.values()))
        excess = numpy.abs(got - expected) / bound_of_difference(magnitudes, products).clip(1e-300)
        check(excess.max() <= 1, f"{what}: {excess.max():.2f} times the bound")


def check_convs():
    x, w, b = tensor(2, 6, 13, 17), tensor(8, 6, 3, 3), tensor(8)
    check_conv("plain", x, w)
    check_conv("bias", x, w, b)
    check_conv("weights of a run", x, w, b, constant_weights=False)
    check_conv("pads", x, w, b, pads=[1, 2, 0, 1])
    check_conv("strides, dilations", x, w, b, strides=[2, 3], dilations=[3, 2], pads=[3, 2, 3, 2])
    check_conv("groups", x, tensor(8, 3, 3, 3), b, group=2, pads=[1, 1, 1, 1])
    check_conv("depthwise", x, tensor(6, 1, 5, 5), tensor(6), group=6, pads=[2, 2, 2, 2])
    check_conv("wide", tensor(1, 48, 33, 31), tensor(40, 48, 1, 1), tensor(40))
    check_conv("long", tensor(1, 2, 1, 200), tensor(3, 2, 1, 7), kernel_shape=[1, 7])
    for auto_pad in "SAME_UPPER", "SAME_LOWER", "VALID":
        check_conv(auto_pad, x, tensor(8, 6, 4, 3), auto_pad=auto_pad, strides=[2, 1])
        check_conv(f"{auto_pad}, one dimension", tensor(2, 6, 18), tensor(8, 6, 4), auto_pad=auto_pad, strides=[3])
    check_conv("one dimension", tensor(2, 6, 50), tensor(8, 6, 5), b, pads=[1, 3], strides=[2], dilations=[3])
    check_conv("no image", tensor(0, 6, 13, 17), w, b)
    big = tensor(1, 4, 9, 9)
    big[0, 0, 4, 4] = numpy.inf
    expected = session(make_model([conv()], inputs_of({"x": big}), [value("c", None)],
                                  [constant("w", numpy.ones((1, 4, 3, 3), numpy.float32))])).run(None, {"x": big})[0]
    check(numpy.isinf(expected).sum() == 9, "infinity reaches nine results")


def check_tail(what, nodes, claims, others=None, constants=None, x=None, w=None, opset=17, exact=True, **attributes):
    """Conv and `nodes` behind it, from c to y: the same bits as the nodes by themselves on the convolution's result."""
    others, constants = others or {}, constants or {}
    x = tensor(2, 4, 14, 19) if x is None else x
    w = tensor(5, 4, 3, 3) if w is None else w
    fixed = [constant(name, array) for name, array in constants.items()]
    weights = constant("w", w)
    whole = make_model([conv(**attributes)] + nodes, inputs_of({"x": x} | others), [value("y", None)],
                       fixed + [weights], opset)
    first = make_model([conv(**attributes)], inputs_of({"x": x}), [value("c", None)], [weights], opset)
    ours = session(whole, DEVICE, threads=2)
    check(dict(claimed(ours)) == {"Conv": 1} | claims, f"{what}: claimed {dict(claimed(ours))}")
    sums = session(first, DEVICE).run(None, {"x": x})[0]
    rest = make_model(nodes, inputs_of({"c": sums} | others), [value("y", None)], fixed, opset)
    got, expected = ours.run(None, {"x": x} | others)[0], session(rest).run(None, {"c": sums} | others)[0]
    if exact:
        check(numpy.array_equal(got, expected), f"{what}: not the same bits")
    else: # the runtime's own exponentials are approximations of some 1e-6
        check(numpy.abs(got - expected).max() < 4e-6 * max(1, numpy.abs(expected).max()), f"{what}: not close")


def check_tails():
    f32 = numpy.float32
    same, channels = tensor(2, 5, 12, 17), tensor(5, 1, 1)
    check_tail("relu", [node("Relu", ["c"], "y")], {"Relu": 1})
    check_tail("leaky", [node("LeakyRelu", ["c"], "y", alpha=0.125)], {"LeakyRelu": 1})
    check_tail("clip", [node("Clip", ["c", "low", "high"], "y")], {"Clip": 1},
               constants={"low": f32(0), "high": f32(6)})
    check_tail("clip of opset 6", [node("Clip", ["c"], "y", min=-1.0, max=2.0)], {"Clip": 1}, opset=6)
    check_tail("residual", [node("Add", ["r", "c"], "y")], {"Add": 1}, {"r": same})
    check_tail("residual, relu", [node("Add", ["c", "r"], "a"), node("Relu", ["a"], "y")], {"Add": 1, "Relu": 1},
               {"r": same})
    check_tail("relu, residual", [node("Relu", ["c"], "a"), node("Add", ["a", "r"], "y")], {"Add": 1, "Relu": 1},
               {"r": same})
    check_tail("itself", [node("Add", ["c", "c"], "y")], {"Add": 1})
    check_tail("scalars", [node("Mul", ["c", "s"], "a"), node("Add", ["t", "a"], "y")], {"Mul": 1, "Add": 1},
               constants={"s": f32([1.75]), "t": f32(0.3)})
    check_tail("difference", [node("Sub", ["r", "c"], "a"), node("Div", ["c", "a"], "y")], {"Sub": 1, "Div": 1},
               {"r": same})
    hard_swish = [node("Add", ["c", "three"], "a"), node("Clip", ["a", "zero", "six"], "b"),
                  node("Mul", ["c", "b"], "d"), node("Div", ["d", "six"], "y")]
    check_tail("hard swish in parts", hard_swish, {"Add": 1, "Clip": 1, "Mul": 1, "Div": 1},
               constants={"three": f32(3), "zero": f32(0), "six": f32(6)})
    whole = [node("Mul", ["c", "s"], "c1"), node("Add", ["t", "c1"], "c2"), node("Add", ["three", "c2"], "a"),
             node("Clip", ["a", "zero", "six"], "b"), node("Mul", ["b", "c2"], "d"), node("Div", ["d", "six"], "e"),
             node("Mul", ["s", "e"], "f"), node("Add", ["f", "t"], "y")]
    check_tail("hard swish between scales", whole, {"Add": 3, "Clip": 1, "Mul": 3, "Div": 1},
               constants={"three": f32(3), "zero": f32(0), "six": f32(6), "s": f32([1.375]), "t": f32(-0.3)})
    check_tail("hard sigmoid", [node("HardSigmoid", ["c"], "y", alpha=0.25, beta=0.4)], {"HardSigmoid": 1})
    # Not a product: by a constant the runtime multiplies the weights.
    check_tail("by channel", [node("Sub", ["c", "k"], "a"), node("Add", ["a", "r"], "y")], {"Sub": 1, "Add": 1},
               {"r": tensor(2, 5, 1, 1)}, {"k": channels})
    check_tail("by column", [node("Mul", ["c", "r"], "y")], {"Mul": 1}, {"r": tensor(17)})
    check_tail("by pixel", [node("Mul", ["r", "c"], "y")], {"Mul": 1}, {"r": tensor(2, 1, 12, 17)})
    check_tail("product, in place", [node("Mul", ["c", "r"], "y")], {"Mul": 1}, {"r": tensor(1, 5, 58, 68)},
               x=tensor(1, 4, 60, 70))
    for order in ["c", "a"], ["a", "c"]:
        check_tail("hard swish as a product", [node("HardSigmoid", ["c"], "a"), node("Mul", order, "y")],
                   {"HardSigmoid": 1, "Mul": 1}, x=tensor(1, 4, 60, 70))
    check_tail("gate", [node("HardSigmoid", ["c"], "a"), node("Mul", ["r", "a"], "b"), node("Add", ["r", "b"], "y")],
               {"HardSigmoid": 1, "Mul": 1, "Add": 1}, {"r": same}, x=tensor(2, 4, 1, 1), w=tensor(5, 4, 1, 1))
    check_tail("one dimension", [node("Sub", ["c", "k"], "a"), node("Add", ["a", "r"], "y")], {"Sub": 1, "Add": 1},
               {"r": tensor(9)}, {"k": tensor(5, 1)}, x=tensor(2, 4, 11), w=tensor(5, 4, 3))
    check_tail("larger than the convolution", [node("Add", ["c", "r"], "y")], {"Add": 1}, {"r": tensor(3, 5, 12, 17)},
               x=tensor(1, 4, 14, 19))
    for kind in "Sigmoid", "Tanh":
        check_tail(kind, [node(kind, ["c"], "y")], {kind: 1}, exact=False)
    check_tail("silu", [node("Sigmoid", ["c"], "a"), node("Mul", ["c", "a"], "y")], {"Sigmoid": 1, "Mul": 1},
               exact=False)
    check_tail("mish", [node("Mish", ["c"], "y")], {"Mish": 1}, exact=False, opset=18)
    check_tail("gelu", [node("Gelu", ["c"], "y")], {"Gelu": 1}, exact=False, opset=20)
    check_tail("sigmoid behind relu is left", [node("Relu", ["c"], "a"), node("Sigmoid", ["a"], "y")], {"Relu": 1})
    check_tail("five dimensions are left", [node("Add", ["c", "r"], "y")], {}, {"r": tensor(1, 2, 5, 12, 17)})


def check_graph(what, nodes, feeds, outputs, constants, claims, opset=17):
    """A graph against the runtime's own provider; differences of small sums, compared as numbers of their size."""
    model = make_model(nodes, inputs_of(feeds), [value(name, None) for name in outputs],
                       [constant(name, array) for name, array in constants.items()], opset)
    ours = session(model, DEVICE, threads=2)
    check(dict(claimed(ours)) == claims, f"{what}: claimed {dict(claimed(ours))}")
    for got, expected in zip(ours.run(None, feeds), session(model).run(None, feeds)):
        check(got.shape == expected.shape and numpy.allclose(got, expected, rtol=1e-4, atol=1e-4), f"{what}: values")


def check_graphs():
    x, w, v = tensor(1, 4, 9, 9), tensor(4, 4, 3, 3) / 6, tensor(4, 4, 1, 1)
    same = {"pads": [1, 1, 1, 1]}
    check_graph("a result that is read twice", [conv(**same), helper.make_node("Relu", ["c"], ["y"])], {"x": x},
                ["c", "y"], {"w": w}, {"Conv": 1})
    # A path leaves the first group and comes back: the product must not join it.
    gate = [conv(**same), helper.make_node("GlobalAveragePool", ["c"], ["p"]), conv("p", "v", y="g"),
            helper.make_node("HardSigmoid", ["g"], ["h"]), helper.make_node("Mul", ["c", "h"], ["y"])]
    check_graph("squeeze and excite", gate, {"x": x}, ["y"], {"w": w, "v": v},
                {"Conv": 2, "GlobalAveragePool": 1, "HardSigmoid": 1, "Mul": 1})
    # Two groups that could each take the other's sum would make a cycle of the two.
    crossed = [conv(y="a", **same), conv(w="v", y="b"), helper.make_node("Relu", ["a"], ["a1"]),
               helper.make_node("Relu", ["b"], ["b1"]), helper.make_node("Add", ["a1", "b1"], ["y"]),
               helper.make_node("Mul", ["b1", "a1"], ["z"])]
    check_graph("crossed", crossed, {"x": x}, ["y", "z"], {"w": w, "v": v}, {"Conv": 2, "Relu": 2})
    block = [conv(y="a", **same), helper.make_node("Relu", ["a"], ["a1"]), conv("a1", y="b", **same),
             helper.make_node("Add", ["b", "x"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    check_graph("residual block", block, {"x": x}, ["y"], {"w": w}, {"Conv": 2, "Relu": 2, "Add": 1})
    fused = helper.make_node("FusedConv", ["x", "w", "k", "r"], ["y"], domain="com.microsoft", activation="Relu",
                             **same)
    check_graph("FusedConv", [fused], {"x": x, "r": tensor(1, 4, 9, 9)}, ["y"], {"w": w, "k": tensor(4)},
                {"FusedConv": 1})
    leaky = helper.make_node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft", activation="LeakyRelu",
                             activation_params=[0.25])
    check_graph("FusedConv, leaky", [leaky], {"x": x}, ["y"], {"w": w}, {"FusedConv": 1})
    inner = helper.make_graph([conv(**same), helper.make_node("Relu", ["c"], ["t"])], "then", [], [value("t", None)])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "else", [], [value("e", None)])
    branch = helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=other)
    reduce = [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Greater", ["m", "zero"],
                                                                                          ["yes"])]
    check_graph("in a branch", reduce + [branch], {"x": x}, ["y"], {"w": w, "zero": numpy.float32(0)},
                {"Conv": 1, "Relu": 1})


def check_refused():
    def refuse(what, model, feeds):
        ours = session(model, DEVICE)
        check(not claimed(ours), f"{what}: claimed {dict(claimed(ours))}")
        check(numpy.array_equal(ours.run(None, feeds)[0], session(model).run(None, feeds)[0]), f"{what}: values")

    volume, kernel = tensor(1, 2, 5, 6, 7), tensor(3, 2, 3, 3, 3)
    refuse("three dimensions", make_model([conv()], inputs_of({"x": volume}), [value("c", None)],
                                          [constant("w", kernel)]), {"x": volume})
    x, w = tensor(1, 2, 6, 7), tensor(3, 2, 3, 3)
    unknown = make_model([helper.make_node("Reshape", ["w0", "shape"], ["w"]), conv()],
                         inputs_of({"x": x, "w0": w}) + [value("shape", ["n"], TensorProto.INT64)], [value("c", None)])
    refuse("weights of unknown rank", unknown, {"x": x, "w0": w, "shape": numpy.array([3, 2, 3, 3])})
    refuse("pooling without convolutions", make_model([helper.make_node("GlobalAveragePool", ["x"], ["y"])],
                                                      inputs_of({"x": x}), [value("y", None)]), {"x": x})
    back = make_model([helper.make_node("ConvTranspose", ["x", "w"], ["y"])], inputs_of({"x": x}), [value("y", None)],
                      [constant("w", tensor(2, 3, 3, 3))])
    refuse("ConvTranspose", back, {"x": x})


def check_errors():
    model = make_model([conv()], inputs_of({"x": tensor(1, 4, 9, 9)}), [value("c", None)],
                       [constant("w", tensor(3, 4, 3, 3))])
    ours = session(model, DEVICE)
    for what, shape in (("channels", (1, 5, 9, 9)), ("dilated kernel", (1, 4, 2, 2))):
        try:
            ours.run(None, {"x": tensor(*shape)})
            check(False, f"{shape} is not refused")
        except Exception as error: # whatever class the binding makes of it
            check("conv2d" in str(error) and what in str(error), f"{shape}: {error}")
    check(ours.run(None, {"x": tensor(1, 4, 9, 9)})[0].shape == (1, 3, 7, 7), "a run after refusals")


def check_threads():
    """Many shapes, more than are remembered, from several threads at once on one session."""
    w = tensor(24, 8, 3, 3)
    nodes = [conv(pads=[1, 1, 1, 1]), helper.make_node("Mul", ["c", "k"], ["y"])]
    fixed = [constant("w", w), constant("k", tensor(24, 1, 1))]
    model = make_model(nodes, inputs_of({"x": tensor(1, 8, 9, 9)}), [value("y", None)], fixed)
    ours, alone = session(model, DEVICE, threads=2), session(model, DEVICE, threads=1)
    feeds = [{"x": tensor(1, 8, 20 + 3 * i, 17 + i)} for i in range(24)]
    expected = [alone.run(None, feed)[0] for feed in feeds]

    def run(first):
        for i in range(3 * len(feeds)):
            at = (first + i) % len(feeds)
            check(numpy.array_equal(ours.run(None, feeds[at])[0], expected[at]), f"threads: shape {at}")

    threads = [threading.Thread(target=run, args=(8 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


run_checks(check_convs, check_tails, check_graphs, check_refused, check_errors, check_threads)
