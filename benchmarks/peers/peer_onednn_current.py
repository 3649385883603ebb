# SPDX-License-Identifier: MIT
"""The current oneDNN, from the package onednn, by its C interface.

It is built for SYCL: each call goes through a SYCL queue of the processor, which costs, and TBB has the threads.
As in peer_onednn.c a mode has several ways, all tried when the problem is made, of which the fastest is kept.
"""

import math
import os
import sys
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p, memmove
from functools import partial

LIBRARIES = os.path.join(sys.prefix, "lib")
if LIBRARIES not in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
    # The loader reads it but once, when a process begins.
    os.environ["LD_LIBRARY_PATH"] = LIBRARIES + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    os.execv(sys.executable, sys.orig_argv)

import worker
from problem import aligned

peer = worker.start()
os.environ["ONEDNN_MAX_CPU_ISA"] = {"any": "ALL", "avx2": "AVX2", "avx512": "AVX512_CORE"}[peer.isa]
# Where SYCL finds the processor; the package does not register it with the system.
os.environ["OCL_ICD_FILENAMES"] = os.path.join(LIBRARIES, "libintelocl.so")
os.environ["ONEAPI_DEVICE_SELECTOR"] = "opencl:cpu"
# It has as many threads as there are processors that it may run on, and nothing else tells it how many.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-peer.threads:])
with peer.needs():
    dnnl = CDLL(os.path.join(LIBRARIES, "libdnnl.so.3"))

# Numbers of its enumerations.
CPU, IN_ORDER, F32, INFERENCE, DIRECT = 1, 1, 3, 96, 1
ANY, VECTOR, NCHW, OIHW, GOIHW, NHWC, NCHW8C, NCHW16C = 1, 2, 5, 5, 6, 22, 102, 78
RELU, TANH, HARD_SIGMOID, LOGISTIC, SWISH, CLIP, GELU, MISH, HARD_SWISH = 32, 33, 40, 41, 44, 47, 49, 51, 52
QUERY_NAME, QUERY_SOURCE, QUERY_WEIGHTS, QUERY_TARGET = 8, 129, 131, 133
SOURCE, TARGET, WEIGHTS, BIAS = 1, 17, 33, 41
ALLOCATE = c_void_p(-1)
# A mode's layout outside (None: that inside), and what to try inside.
WAYS = {"nchw": (NCHW, [ANY, NCHW, NHWC, NCHW16C, NCHW8C]), "nhwc": (NHWC, [ANY, NHWC]),
        "own": (None, [ANY, NCHW16C, NCHW8C])}


class Argument(Structure):
    _fields_ = [("which", c_int), ("memory", c_void_p)]


class Handle(c_void_p):
    """What oneDNN made, until nobody needs it."""

    def __del__(self):
        if self:
            self.destroy(self)


def make(function, *arguments):
    """What a function of the kind dnnl_..._create makes."""
    handle = Handle()
    # The descriptions of all kinds of primitives have one function.
    kind = "dnnl_primitive_desc" if "_primitive_desc_" in function else function.partition("_create")[0]
    handle.destroy = getattr(dnnl, kind + "_destroy")
    if getattr(dnnl, function)(byref(handle), *arguments):
        raise worker.Cannot(f"do this: {function} fails")
    return handle


class Version(Structure):
    _fields_ = [("major", c_int), ("minor", c_int), ("patch", c_int)]


def version():
    dnnl.dnnl_version.restype = POINTER(Version)
    numbers = dnnl.dnnl_version().contents
    return f"{numbers.major}.{numbers.minor}.{numbers.patch}"


dnnl.dnnl_primitive_desc_query_md.restype = c_void_p


def dims(*numbers):
    return (c_int64 * 12)(*numbers)


def layout(shape, tag):
    return make("dnnl_memory_desc_create_with_tag", len(shape), dims(*shape), F32, tag)


def memory(description):
    return make("dnnl_memory_create", description, engine, ALLOCATE)


def copy(tensor, array, store):
    """Between plain memory of oneDNN and an array."""
    pointer = c_void_p()
    dnnl.dnnl_memory_map_data(tensor, byref(pointer))
    there, here = pointer, c_void_p(array.ctypes.data)
    memmove(there if store else here, here if store else there, array.nbytes)
    dnnl.dnnl_memory_unmap_data(tensor, pointer)


class Step:
    """A primitive with its arguments."""

    def __init__(self, description, arguments):
        self.keep = arguments
        self.run = partial(dnnl.dnnl_primitive_execute, make("dnnl_primitive_create", description), stream,
                           len(arguments), (Argument * len(arguments))(*arguments))


def reorder(source, target):
    descriptions = []
    for tensor in (source, target):
        description = c_void_p()
        dnnl.dnnl_memory_get_memory_desc(tensor, byref(description))
        descriptions += [description, engine]
    return Step(make("dnnl_reorder_primitive_desc_create", *descriptions, None),
                [(SOURCE, source), (TARGET, target)])


def packed(array, shape, description):
    """The array in oneDNN's memory, in the order that a primitive wants."""
    plain = memory(layout(shape, {1: VECTOR, 4: OIHW, 5: GOIHW}[len(shape)]))
    copy(plain, array, True)
    result = memory(description)
    reorder(plain, result).run()
    dnnl.dnnl_stream_wait(stream)
    return result


def attributes(problem):
    result, operations = make("dnnl_primitive_attr_create"), make("dnnl_post_ops_create")
    given, sixth = (problem.act_a, problem.act_b), (1 / 6, 0.5)
    kind, parameters = {"none": (None, given), "relu": (RELU, given), "leaky": (RELU, given), "clamp": (CLIP, given),
                        "hswish": (HARD_SWISH, sixth), "hsigmoid": (HARD_SIGMOID, sixth), "sigmoid": (LOGISTIC, given),
                        "silu": (SWISH, (1, 0)), "tanh": (TANH, given), "gelu": (GELU, given),
                        "mish": (MISH, given)}[problem.activation]
    if kind:
        dnnl.dnnl_post_ops_append_eltwise(operations, kind, *map(c_float, parameters))
        dnnl.dnnl_primitive_attr_set_post_ops(result, operations)
    return result


class Way:
    """The convolution with one layout inside, and the reorders that the layout outside makes necessary."""

    def __init__(self, problem, tensors, outside, inside):
        group_shape = (problem.weight_shape[0] // problem.groups, *problem.weight_shape[1:])
        weight_shape = (problem.groups, *group_shape) if problem.groups > 1 else group_shape
        bias = layout(problem.weight_shape[:1], VECTOR) if problem.bias else None
        self.description = make("dnnl_convolution_forward_primitive_desc_create", engine, INFERENCE, DIRECT,
                                layout(problem.in_shape, inside), layout(weight_shape, ANY), bias,
                                layout(problem.out_shape, inside), dims(*problem.stride),
                                dims(*(step - 1 for step in problem.dilation)), dims(*problem.pad_begin),
                                dims(*problem.pad_end), attributes(problem))
        source, target = self.memory(QUERY_SOURCE), self.memory(QUERY_TARGET)
        arguments = [(SOURCE, source), (TARGET, target),
                     (WEIGHTS, packed(tensors.weights, weight_shape, self.wanted(QUERY_WEIGHTS)))]
        if problem.bias:
            arguments.append((BIAS, packed(tensors.bias, problem.weight_shape[:1], bias)))
        self.steps = [Step(self.description, arguments)]
        self.source, self.target, self.out_shape = source, target, problem.out_shape
        if outside and not self.wants(problem.in_shape, outside, QUERY_SOURCE):
            self.source = memory(layout(problem.in_shape, outside))
            self.steps.insert(0, reorder(self.source, source))
        if outside and not self.wants(problem.out_shape, outside, QUERY_TARGET):
            self.target = memory(layout(problem.out_shape, outside))
            self.steps.append(reorder(target, self.target))
        plain = memory(layout(problem.in_shape, NCHW))
        copy(plain, tensors.input, True)
        reorder(plain, self.source).run()
        dnnl.dnnl_stream_wait(stream)

    def wanted(self, query):
        return c_void_p(dnnl.dnnl_primitive_desc_query_md(self.description, query, 0))

    def wants(self, shape, tag, query):
        return dnnl.dnnl_memory_desc_equal(layout(shape, tag), self.wanted(query))

    def memory(self, query):
        return memory(self.wanted(query))

    def run(self):
        for step in self.steps:
            step.run()
        dnnl.dnnl_stream_wait(stream)

    def output(self):
        plain = memory(layout(self.out_shape, NCHW))
        reorder(self.target, plain).run()
        dnnl.dnnl_stream_wait(stream)
        array = aligned(self.out_shape)
        copy(plain, array, False)
        return array

    def name(self):
        text = c_char_p()
        dnnl.dnnl_primitive_desc_query(self.description, QUERY_NAME, 0, byref(text))
        reorders = len(self.steps) - 1
        return text.value.decode() + (f", {reorders} reorders" if reorders else "")


def prepare(problem, tensors, mode):
    outside, insides = WAYS[mode]
    best, best_seconds = None, math.inf
    for inside in insides:
        try:
            way = Way(problem, tensors, outside, inside)
        except worker.Cannot as reason:
            refusal = reason
            continue
        if best and way.name().startswith("ref"):  # its reference loops can take seconds
            continue
        way.run()
        seconds = min(worker.time_calls(way.run, 1) for _ in range(3))
        if seconds < best_seconds:
            best, best_seconds = way, seconds
    if not best:
        raise refusal
    return worker.Prepared(best.run, best.output, best.name())


if __name__ == "__main__":
    with peer.needs():
        engine = c_void_p()
        if dnnl.dnnl_engine_create(byref(engine), CPU, c_size_t(0)):
            raise OSError("oneDNN finds no processor for SYCL")
        stream = make("dnnl_stream_create", engine, IN_ORDER)
    peer.serve(list(WAYS), f"oneDNN {version()} for SYCL", prepare)
