# SPDX-License-Identifier: MIT
"""ncnn: a net with one layer.  own is its packed layout, up to 16 channels together; it knows no batch."""

import math
import os
import tempfile

import worker

peer = worker.start()
peer.refuse_isa("ncnn")
with peer.needs():
    import ncnn
    import numpy

ACTIVATIONS = ["none", "relu", "leaky", "clamp", "sigmoid", "mish", "hswish"]


def layer_text(problem):
    """The layer as a line of a .param file, where ncnn numbers its parameters."""
    if problem.activation not in ACTIVATIONS:
        raise worker.Cannot(f"fuse {problem.activation}")
    kernel, stride, dilation, begin, end = (problem.kernel, problem.stride, problem.dilation, problem.pad_begin,
                                            problem.pad_end)
    values = {0: problem.weight_shape[0], 1: kernel.columns, 11: kernel.rows, 2: dilation.columns, 12: dilation.rows,
              3: stride.columns, 13: stride.rows, 4: begin.columns, 14: begin.rows, 15: end.columns, 16: end.rows,
              5: int(problem.bias), 6: math.prod(problem.weight_shape), 9: ACTIVATIONS.index(problem.activation)}
    if problem.groups > 1:
        values[7] = problem.groups
    text = " ".join(f"{key}={value}" for key, value in values.items())
    parameters = {"leaky": [problem.act_a], "clamp": [problem.act_a, problem.act_b],
                  "hswish": [1 / 6, 0.5]}.get(problem.activation)
    if parameters:
        text += f" -23310={len(parameters)}," + ",".join(f"{value:.9e}" for value in parameters)
    return f"Convolution{'DepthWise' if problem.groups > 1 else ''} conv 1 1 x y {text}"


def set_options(options, winograd):
    for name in dir(options):
        if any(part in name for part in ("fp16", "bf16", "int8", "vulkan")):
            setattr(options, name, False)
        elif "winograd" in name:
            setattr(options, name, winograd)
    options.num_threads = peer.threads


def make_net(problem, tensors, winograd, allocator):
    net = ncnn.Net()
    set_options(net.opt, winograd)
    net.opt.blob_allocator = net.opt.workspace_allocator = allocator
    net.load_param_mem(f"7767517\n2 2\nInput input 0 1 x\n{layer_text(problem)}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.bin")
        with open(path, "wb") as file:
            file.write(bytes(4))  # a tag: f32 follows
            file.write(tensors.weights.tobytes() + (tensors.bias.tobytes() if problem.bias else b""))
        if net.load_model(path):
            raise worker.Cannot("load this layer")
    return net


class Calls:
    """One call for each image.  The outputs of a round go back to the pool before the next one needs memory."""

    def __init__(self, net, images, packed, allocator):
        self.results, self.net, self.images, self.packed = [], net, images, packed
        self.allocator = allocator  # the last, for the others give their memory back to it

    def run(self):
        self.results.clear()
        for image in self.images:
            extractor = self.net.create_extractor()
            extractor.input("x", image)
            self.results.append(extractor.extract("y", self.packed)[1])

    def output(self):
        plain = (ncnn.convert_packing(result, 1, self.net.opt) for result in self.results)
        return numpy.stack([numpy.array(result) for result in plain])


def best_packing(channels):
    return next(pack for pack in (16, 8, 4, 1) if channels % pack == 0)


def prepare(problem, tensors, mode):
    packed = mode.startswith("own")
    allocator = ncnn.PoolAllocator()
    net = make_net(problem, tensors, mode.endswith("winograd"), allocator)
    images = [ncnn.Mat(image).clone() for image in tensors.input]
    pack = best_packing(problem.in_shape[1]) if packed else 1
    if pack > 1:
        images = [ncnn.convert_packing(image, pack, net.opt) for image in images]
    calls = Calls(net, images, int(packed), allocator)
    return worker.Prepared(calls.run, calls.output, f"input packed by {pack}")


if __name__ == "__main__":
    peer.serve(["nchw", "own", "nchw-winograd", "own-winograd"], f"ncnn {ncnn.__version__}", prepare)
