# SPDX-License-Identifier: MIT
"""Writes ResNet-50 as an ONNX model: the real shapes, with batch normalisation folded as exporters do, and random
weights of a size that keeps activations near 1, since no package that can be had brings the real ones.
usage: make_resnet50.py FILE"""

import sys

from provider import constant, helper, make_model, numpy, onnx, value

RANDOM = numpy.random.default_rng(50)
# Of each stage: blocks, inner channels, outer channels, stride of its first block.
STAGES = ((3, 64, 256, 1), (4, 128, 512, 2), (6, 256, 1024, 2), (3, 512, 2048, 2))


class Builder:
    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, kind, sources, **attributes):
        result = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, sources, [result], **attributes))
        return result

    def weights(self, *shape, gain=1.0):
        name = f"w{len(self.constants)}"
        scale = gain * numpy.sqrt(2 / numpy.prod(shape[1:])) if len(shape) > 1 else 0.01
        array = RANDOM.standard_normal(shape, dtype=numpy.float32) * numpy.float32(scale)
        self.constants.append(constant(name, array))
        return name

    def conv(self, source, out_channels, in_channels, kernel, stride=1, gain=1.0):
        sources = [source, self.weights(out_channels, in_channels, kernel, kernel, gain=gain),
                   self.weights(out_channels)]
        return self.add("Conv", sources, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)

    def block(self, source, in_channels, inner, outer, stride):
        x = self.add("Relu", [self.conv(source, inner, in_channels, 1)])
        x = self.add("Relu", [self.conv(x, inner, inner, 3, stride)])
        x = self.conv(x, outer, inner, 1, gain=0.25) # or sums of sixteen blocks grow
        shortcut = source if in_channels == outer else self.conv(source, outer, in_channels, 1, stride)
        return self.add("Relu", [self.add("Add", [x, shortcut])])


def resnet50():
    b = Builder()
    x = b.add("Relu", [b.conv("x", 64, 3, 7, 2)])
    x = b.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for blocks, inner, outer, stride in STAGES:
        for index in range(blocks):
            x = b.block(x, channels, inner, outer, stride if index == 0 else 1)
            channels = outer
    x = b.add("Flatten", [b.add("GlobalAveragePool", [x])])
    x = b.add("Gemm", [x, b.weights(2048, 1000), b.weights(1000)])
    return make_model(b.nodes, [value("x", ["n", 3, "h", "w"])], [value(x, ["n", 1000])], b.constants)


if __name__ == "__main__":
    onnx.save(resnet50(), sys.argv[1])
