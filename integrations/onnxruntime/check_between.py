# SPDX-License-Identifier: MIT
"""What stands between convolutions, through the provider: pooling, and what is joined with a Concat or a normalization.
usage: check_between.py LIBRARY"""

import sys

from provider import bound_of_difference, claimed, constant, helper, make_model, numpy, register, session, value
from small_graphs import check, conv, inputs_of, node, run_checks, tensor

DEVICE = register(sys.argv[1])
WEIGHTS = {"w": tensor(8, 6, 1, 1), "u": tensor(8, 6, 1, 1), "v": tensor(5, 6, 3, 3), "b": tensor(5)}
# Two convolutions of one input, which make a1 of 8 channels and c1 of 5.
FIRE = [conv(y="a"), node("Relu", ["a"], "a1"), conv(w="v", b="b", y="c", pads=[1, 1, 1, 1]),
        node("Relu", ["c"], "c1")]
FIRE_CLAIMS = {"Conv": 2, "Relu": 2}


def check_average(x):
    """Both averages within the bound of their sums' rounding, and the same bits on any number of threads."""
    model = make_model([conv(group=x.shape[1]), helper.make_node("GlobalAveragePool", ["c"], ["y"])],
                       inputs_of({"x": x}), [value("y", None)], [constant("w", numpy.ones((x.shape[1], 1, 1, 1), "f"))])
    ours = session(model, DEVICE, threads=2)
    check(dict(claimed(ours)) == {"Conv": 1, "GlobalAveragePool": 1}, f"average: claimed {dict(claimed(ours))}")
    got, expected = ours.run(None, {"x": x})[0], session(model).run(None, {"x": x})[0]
    pixels = x.shape[2] * x.shape[3]
    bound = bound_of_difference(numpy.abs(x).sum((2, 3), keepdims=True) / pixels, pixels)
    check(got.shape == expected.shape and (numpy.abs(got - expected) <= bound).all(), f"average of {x.shape}: values")
    check(numpy.array_equal(got, session(model, DEVICE).run(None, {"x": x})[0]), f"average of {x.shape}: one thread")


def check_pools():
    """The largest of some numbers is the same, whoever finds it."""
    x, w = tensor(2, 4, 21, 30), tensor(7, 4, 1, 1)

    def check_pool(what, taken=True, x=x, **attributes):
        nodes = [conv(), helper.make_node("MaxPool", ["c"], ["y"], **attributes)]
        model = make_model(nodes, inputs_of({"x": x}), [value("c", None), value("y", None)], [constant("w", w)])
        ours = session(model, DEVICE, threads=2)
        check(dict(claimed(ours)) == ({"Conv": 1, "MaxPool": 1} if taken else {"Conv": 1}),
              f"pool, {what}: claimed {dict(claimed(ours))}")
        sums, got = ours.run(None, {"x": x})
        alone = make_model(nodes[1:], inputs_of({"c": sums}), [value("y", None)])
        check(numpy.array_equal(got, session(alone).run(None, {"c": sums})[0]), f"pool, {what}: values")

    check_pool("2x2", kernel_shape=[2, 2], strides=[2, 2])
    check_pool("3x3", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    check_pool("every pixel", kernel_shape=[5, 5], pads=[2, 2, 2, 2])
    check_pool("uneven", kernel_shape=[4, 3], strides=[3, 5], pads=[3, 0, 1, 2])
    for size in range(20, 26):
        check_pool(f"rounded up, {size}", x=tensor(1, 4, size, size + 3), kernel_shape=[3, 3], strides=[2, 4],
                   ceil_mode=1)
        check_pool(f"rounded up, padded, {size}", x=tensor(1, 4, size, size + 3), kernel_shape=[4, 3], strides=[4, 2],
                   pads=[1, 1, 1, 1], ceil_mode=1)
    check_pool("large", x=tensor(1, 4, 200, 300), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    check_pool("no image", x=tensor(0, 4, 21, 30), kernel_shape=[2, 2], strides=[2, 2])
    check_pool("dilated is left", taken=False, kernel_shape=[3, 3], dilations=[2, 2])
    check_pool("automatic padding is left", taken=False, kernel_shape=[3, 3], auto_pad="SAME_UPPER")
    for shape in (2, 7, 21, 30), (3, 5, 1, 1), (1, 6, 7, 7), (0, 4, 3, 3), (1, 40, 112, 113):
        check_average(tensor(*shape))
    for kernel in 1, 2, 4, 5:
        for width in 11, 30:
            check_pool(f"every second of {width}, {kernel}", x=tensor(1, 4, 9, width), kernel_shape=[1, kernel],
                       strides=[1, 2])
    for width in 6, 40:
        check_nan(tensor(1, 4, 6, width), w)


def check_nan(nothing, w):
    nothing[0, 2, 3, 3] = numpy.nan
    model = make_model([conv(), helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
                       inputs_of({"x": nothing}), [value("y", None)], [constant("w", numpy.ones_like(w))])
    got = session(model, DEVICE).run(None, {"x": nothing})[0]
    check(numpy.isnan(got).sum() == 7 and numpy.isnan(got[0, :, 1, 1]).all(), "pool: a NaN is the largest")


def check_join(what, parts, rest, names, claims, feeds, constants=None, opset=17):
    """`parts` make the tensors `names`, of which `rest` makes y: the same bits as the runtime's own `rest`."""
    fixed = [constant(name, array) for name, array in (WEIGHTS | (constants or {})).items()]
    inputs = inputs_of(feeds)
    for entry in inputs: # a Concat is taken if its channels are known
        if entry.name != "unknown" and feeds[entry.name].ndim == 4:
            entry.type.tensor_type.shape.dim[1].dim_value = feeds[entry.name].shape[1]
    ours = session(make_model(parts + rest, inputs, [value("y", None)], fixed, opset), DEVICE, threads=2)
    check(dict(claimed(ours)) == claims, f"join, {what}: claimed {dict(claimed(ours))}")
    first = make_model(parts, inputs_of(feeds), [value(name, None) for name in names], fixed, opset)
    made = dict(zip(names, session(first, DEVICE).run(None, feeds)))
    given = made | {name: array for name, array in feeds.items() if any(name in entry.input for entry in rest)}
    last = make_model(rest, inputs_of(given), [value("y", None)], fixed, opset)
    got, expected = ours.run(None, feeds)[0], session(last).run(None, given)[0]
    check(got.shape == expected.shape and numpy.array_equal(got, expected), f"join, {what}: not the same bits")


def check_stored():
    """Convolutions that store into a Concat's result, and tensors beside them."""
    concat = [node("Concat", ["a1", "c1"], "y", axis=1)]
    for images, height, width in (1, 13, 17), (3, 13, 17), (2, 1, 1), (0, 4, 4), (1, 80, 90):
        check_join(f"fire, {images}x{height}x{width}", FIRE, concat, ["a1", "c1"], FIRE_CLAIMS | {"Concat": 1},
                   {"x": tensor(images, 6, height, width)})
    sums = [conv(y="a"), node("Add", ["a", "r"], "a1"), conv(w="v", b="b", y="c", pads=[1, 1, 1, 1]),
            node("HardSigmoid", ["c"], "c2"), node("Mul", ["c2", "s"], "c1")]
    for images in 1, 2:
        check_join(f"sums, {images}", sums, [node("Concat", ["t", "a1", "c1", "t"], "y", axis=-3)], ["a1", "c1"],
                   {"Conv": 2, "Add": 1, "HardSigmoid": 1, "Mul": 1, "Concat": 1},
                   {"x": tensor(images, 6, 9, 8), "r": tensor(images, 8, 9, 8), "s": tensor(images, 1, 9, 8),
                    "t": tensor(images, 3, 9, 8)})


def check_not_stored():
    x = {"x": tensor(2, 6, 9, 8)}
    check_join("rows are left", FIRE[:2] + [conv(w="u", y="c"), FIRE[3]], [node("Concat", ["a1", "c1"], "y", axis=2)],
               ["a1", "c1"], FIRE_CLAIMS, x)
    check_join("unknown channels are left", FIRE, [node("Concat", ["a1", "unknown", "c1"], "y", axis=1)], ["a1", "c1"],
               FIRE_CLAIMS, x | {"unknown": tensor(2, 4, 9, 8)})
    check_join("twice is left", FIRE[:2], [node("Concat", ["a1", "a1"], "y", axis=1)], ["a1"],
               {"Conv": 1, "Relu": 1}, x)
    others = [node("Concat", ["a1", "c1"], "d", axis=1), node("Neg", ["a1"], "n"),
              node("Concat", ["d", "n"], "y", axis=1)]
    check_join("one is read by others", FIRE, others, ["a1", "c1"], FIRE_CLAIMS | {"Concat": 1}, x)
    wider = [conv(w="one", y="a"), node("Add", ["a", "r"], "a1"), *FIRE[2:]]
    check_join("broadcast to more channels", wider, [node("Concat", ["c1", "a1"], "y", axis=1)], ["c1", "a1"],
               {"Conv": 2, "Add": 1, "Relu": 1, "Concat": 1}, x | {"r": tensor(2, 4, 9, 8)},
               {"one": tensor(1, 6, 1, 1)})
    unequal = make_model([conv(y="a"), node("Concat", ["a", "t"], "y", axis=1)],
                         inputs_of({"x": x["x"]}) + [value("t", ["n", 3, "h", "w"])], [value("y", None)],
                         [constant("w", WEIGHTS["w"])])
    ours = session(unequal, DEVICE)
    check(dict(claimed(ours)) == {"Conv": 1, "Concat": 1}, f"join: claimed {dict(claimed(ours))}")
    try:
        ours.run(None, x | {"t": tensor(2, 3, 9, 9)})
        check(False, "join: unequal widths are not refused")
    except Exception as error: # whatever class the binding makes of it
        check("extents" in str(error), f"join: {error}")


def moments(channels):
    return {"scale": tensor(channels), "shift": tensor(channels), "mean": tensor(channels),
            "variance": numpy.abs(tensor(channels))}


def check_normalizations():
    def normal(source, result="y", **attributes):
        return node("BatchNormalization", [source, "scale", "shift", "mean", "variance"], result, **attributes)

    for images in 1, 2:
        x = {"x": tensor(images, 6, 31, 40), "t": tensor(images, 3, 31, 40)}
        joined = node("Concat", ["a1", "t", "c1"], "d", axis=1)
        check_join("normalization", FIRE, [joined, normal("d")], ["a1", "c1"],
                   FIRE_CLAIMS | {"Concat": 1, "BatchNormalization": 1}, x, moments(16))
        check_join("normalization, relu", FIRE, [joined, normal("d", "e", epsilon=0.25), node("Relu", ["e"], "y")],
                   ["a1", "c1"], FIRE_CLAIMS | {"Concat": 1, "BatchNormalization": 1, "Relu": 3}, x, moments(16))
    pool, x = [conv(y="a"), node("MaxPool", ["a"], "a1", kernel_shape=[2, 2])], {"x": x["x"]}
    claims = {"Conv": 1, "MaxPool": 1}
    check_join("normalization alone", pool, [normal("a1", "e"), node("Relu", ["e"], "y")], ["a1"],
               claims | {"BatchNormalization": 1, "Relu": 1}, x, moments(8))
    check_join("normalization of opset 7", pool, [normal("a1", epsilon=1e-3)], ["a1"],
               claims | {"BatchNormalization": 1}, x, moments(8), opset=7)
    check_join("relu that is not alone", pool, [normal("a1", "e"), node("Relu", ["e"], "f"),
                                                node("Sub", ["f", "e"], "y")], ["a1"],
               claims | {"BatchNormalization": 1}, x, moments(8))
    check_join("moments of a run are left", pool, [normal("a1")], ["a1"], claims, x | moments(8))


run_checks(check_pools, check_stored, check_not_stored, check_normalizations)
