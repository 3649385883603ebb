# SPDX-License-Identifier: MIT
"""PyTorch in inference mode.  A mode has two ways, the function and the prepacked operator: the faster one is kept."""

import os
from functools import partial

import worker
from problem import aligned

peer = worker.start()
if peer.isa != "any":
    os.environ["ATEN_CPU_CAPABILITY"] = peer.isa
    os.environ["ONEDNN_MAX_CPU_ISA"] = {"avx2": "AVX2", "avx512": "AVX512_CORE"}[peer.isa]
with peer.needs():
    import torch
    from torch.nn import functional


def tensor_of(array):
    """A view; by way of the buffer, for not every torch knows every numpy."""
    return torch.frombuffer(memoryview(array).cast("B"), dtype=torch.float32).reshape(array.shape)


def activation_of(problem):
    simple = {"none": None, "relu": functional.relu_, "hswish": partial(functional.hardswish, inplace=True),
              "hsigmoid": partial(functional.hardsigmoid, inplace=True), "sigmoid": torch.sigmoid_,
              "silu": partial(functional.silu, inplace=True), "tanh": torch.tanh_, "gelu": functional.gelu,
              "mish": partial(functional.mish, inplace=True)}
    if problem.activation in simple:
        return simple[problem.activation]
    if problem.activation == "leaky":
        return partial(functional.leaky_relu_, negative_slope=problem.act_a)
    if problem.activation == "clamp":
        return partial(torch.clamp_, min=problem.act_a, max=problem.act_b)
    raise worker.Cannot(f"do {problem.activation}")


def plain_way(problem, source, weights, bias, padding):
    return partial(functional.conv2d, source, weights, bias, problem.stride, padding, problem.dilation, problem.groups)


def prepacked_way(problem, source, weights, bias, padding):
    pack = torch.ops.mkldnn_prepacked.conv2d_prepack(weights, bias, problem.stride, padding, problem.dilation,
                                                     problem.groups, list(source.shape), "none")
    return partial(torch.ops.mkldnn_prepacked.conv2d_run, source, pack)


def with_rest(problem, way, source, weights, bias):
    """The way, with what it does not do itself: padding that differs between the sides, and activations."""
    (top, left), (bottom, right) = problem.pad_begin, problem.pad_end
    if (top, left) == (bottom, right):
        run = way(problem, source, weights, bias, problem.pad_begin)
    else:
        pad = partial(functional.pad, source, (left, right, top, bottom))
        convolve = way(problem, pad(), weights, bias, (0, 0))
        # Its first argument is the padded input, a new one in each call.
        run = lambda: convolve.func(pad(), *convolve.args[1:])  # noqa: E731
    activation = activation_of(problem)
    return run if activation is None else lambda: activation(run())


class Calls:
    """The last result is let go before the next call, which so may have its memory again."""

    def __init__(self, run):
        self.run_once, self.result = run, None

    def run(self):
        self.result = None
        self.result = self.run_once()

    def output(self):
        array = aligned(self.result.shape)
        tensor_of(array).copy_(self.result)
        return array


def prepare(problem, tensors, mode):
    order = torch.channels_last if mode == "nhwc" else torch.contiguous_format
    source, weights = (tensor_of(array).to(memory_format=order) for array in (tensors.input, tensors.weights))
    bias = tensor_of(tensors.bias) if problem.bias else None
    ways = {}
    for name, way in {"conv2d": plain_way, "mkldnn_prepacked": prepacked_way}.items():
        run = with_rest(problem, way, source, weights, bias)
        if run().is_contiguous(memory_format=order):  # else it would leave a reorder to the caller
            ways[name] = min(worker.time_calls(run, 1) for _ in range(3)), run
    if not ways:
        raise worker.Cannot(f"return {mode} for it")
    best = min(ways, key=lambda name: ways[name][0])
    calls = Calls(ways[best][1])
    return worker.Prepared(calls.run, calls.output, best, (tensors,))


if __name__ == "__main__":
    torch.set_num_threads(peer.threads)
    with torch.inference_mode():
        peer.serve(["nchw", "nhwc"], f"PyTorch {torch.__version__}", prepare)
