# SPDX-License-Identifier: MIT
"""Convolutions of NumPy arrays, read and written where they are."""

from __future__ import annotations

from ctypes import byref
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from . import _library
from ._library import library
from ._plan import (Activation, Attributes, Padding, Pair, Plan, Pool, Sizes, activation_of, floats, four_sides, pair,
                    pitches)

Array = NDArray[np.float32]
FLOAT = np.dtype(np.float32)
PLANS_KEPT = 64  # of one Convolution; the oldest go
WEIGHTS_AXES = {"oihw": (0, 1, 2, 3), "ohwi": (0, 3, 1, 2), "hwio": (3, 2, 0, 1)}


def _check(array: Any, what: str, axes: int = 4) -> None:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} is a {type(array).__name__}, not a NumPy array")
    if array.dtype != FLOAT:
        raise TypeError(f"{what} has the type {array.dtype}, not float32; {what}.astype(numpy.float32) makes a copy")
    if array.ndim != axes:
        raise ValueError(f"{what} has {array.ndim} axes, not {axes}")
    if not array.flags.aligned:
        raise ValueError(f"{what} is not aligned to a float; make a copy")


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])  # several times as fast as array.ctypes.data


def _view(array: Array, what: str) -> tuple[int, ...]:
    return pitches(array.shape, [stride // 4 for stride in array.strides], what)


def _empty(shape: tuple[int, ...]) -> Array:
    memory = np.empty(int(np.prod(shape)) + 16, FLOAT)
    start = -_address(memory) % 64 // 4
    return memory[start:memory.size - 16 + start].reshape(shape)


class Convolution:
    """A convolution with its weights, packed once.  Call it with an input: `y = convolution(x)`.

    weights   out_channels x in_channels / groups x kernel rows x kernel columns, or as weights_layout says
    bias      one value for each output channel, or None
    stride, dilation   one number, or (rows, columns)
    padding   one number, (rows, columns), or (top, bottom, left, right)
    activation  a name such as "relu" or "gelu"; ("clamp", low, high); ("leaky_relu", slope)
    layout    of the input, "nchw" or "nhwc": the order of its axes; out_layout of the result, the same by default
    isa, kernel   hold the library to "avx2" or to one kernel, for experiments; results stay the same

    May be called from any number of threads at once.  Later changes of the weights' array are not seen.
    """

    def __init__(self, weights: Array, bias: Optional[Array] = None, *, stride: Pair = 1, padding: Padding = 0,
                 dilation: Pair = 1, groups: int = 1, activation: Activation = None, layout: str = "nchw",
                 out_layout: Optional[str] = None, weights_layout: str = "oihw", isa: str = "any",
                 kernel: Optional[str] = None) -> None:
        _check(weights, "weights")
        if weights_layout not in WEIGHTS_AXES:
            raise ValueError(f"weights_layout is {weights_layout!r}, not one of {', '.join(WEIGHTS_AXES)}")
        if groups < 1:
            raise ValueError(f"groups is {groups}")
        self.attributes = Attributes(pair(stride, "stride"), four_sides(padding), pair(dilation, "dilation"), groups,
                                     activation_of(activation), layout, out_layout or layout, weights_layout, isa,
                                     kernel)
        self._channels_last = layout == "nhwc"
        out, in_group, rows, columns = (weights.shape[axis] for axis in WEIGHTS_AXES[weights_layout])
        self._sizes = Sizes(1, in_group * groups, 0, 0, out, rows, columns, bias=bias is not None)
        if bias is not None:
            _check(bias, "bias", 1)
            if bias.shape != (out,):
                raise ValueError(f"bias has {bias.size} values for {out} output channels")
            bias = np.ascontiguousarray(bias)
        # What is packed depends on channels, groups and kernel alone: any size of the image does, if the padded image
        # holds the kernel.
        spans = [(size - 1) * step + 1 for size, step in zip((rows, columns), self.attributes.dilation)]
        plan = Plan(self.attributes._replace(kernel=None),
                    self._sizes._replace(in_height=max(spans[0], 1), in_width=max(spans[1], 1)))
        weights = np.ascontiguousarray(weights)
        self._memory, self._packed = plan.pack(_address(weights), None if bias is None else _address(bias))
        self._plans: dict[object, Plan] = {}

    def plan(self, shape: tuple[int, ...], residual: bool = False, *, in_pitch: tuple[int, ...] = (0, 0, 0),
             out_pitch: tuple[int, ...] = (0, 0, 0)) -> Plan:
        """How an input of this shape is run: a Plan, with kernel, out_shape, explain()."""
        if len(shape) != 4:
            raise ValueError(f"the input has {len(shape)} axes, not 4")
        channel_axis = 3 if self._channels_last else 1
        height, width = shape[1:3] if self._channels_last else shape[2:4]
        if shape[channel_axis] != self._sizes.in_channels:
            raise ValueError(f"the input has {shape[channel_axis]} channels on axis {channel_axis} of "
                             f"{self.attributes.layout}, the weights are for {self._sizes.in_channels}")
        if shape[0] < 1:
            raise ValueError("the input has no image")
        return Plan(self.attributes, self._sizes._replace(batch=shape[0], in_height=height, in_width=width,
                                                          in_pitch=in_pitch, out_pitch=out_pitch, residual=residual))

    def __call__(self, x: Array, residual: Optional[Array] = None, *, out: Optional[Array] = None,
                 pool: Optional[Pool] = None) -> Array:
        """Convolves x.  residual is added before the activation.  The result is a new array, or out, which may be a
        view with strides, and may be the residual.  pool runs it on several threads.  Nothing is copied: arrays whose
        strides cannot be described are refused."""
        key = (x.shape, x.strides, residual is None, out is None or out.strides) if isinstance(x, np.ndarray) else None
        plan = self._plans.get(key)
        _check(x, "x")
        if plan is None:
            plan = self.plan(x.shape, residual is not None, in_pitch=_view(x, "x"),
                             out_pitch=(0, 0, 0) if out is None else _view(out, "out"))
            if len(self._plans) >= PLANS_KEPT:
                self._plans.pop(next(iter(self._plans)), None)
            self._plans[key] = plan
        if out is None:
            out = _empty(plan.out_shape)
        else:
            self._check_out(out, x, plan)
        if residual is not None:
            self._check_residual(residual, out)
        plan.run(_address(x), self._packed, None if residual is None else _address(residual), _address(out), pool)
        return out

    @staticmethod
    def _check_out(out: Array, x: Array, plan: Plan) -> None:
        _check(out, "out")
        if out.shape != plan.out_shape:
            raise ValueError(f"out has the shape {out.shape}, the result {plan.out_shape}")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if np.may_share_memory(out, x) and np.shares_memory(out, x):
            raise ValueError("out overlaps x")

    @staticmethod
    def _check_residual(residual: Array, out: Array) -> None:
        _check(residual, "residual")
        if residual.shape != out.shape:
            raise ValueError(f"residual has the shape {residual.shape}, the result {out.shape}")
        if _view(residual, "residual") != _view(out, "out"):
            raise ValueError(f"residual has the strides {residual.strides}, the result {out.strides}; they must be the "
                             "same: give an out with the residual's strides, or make a copy of the residual")


def convolve(x: Array, weights: Array, bias: Optional[Array] = None, *, residual: Optional[Array] = None,
             out: Optional[Array] = None, pool: Optional[Pool] = None, **attributes: Any) -> Array:
    """One convolution, its weights packed for this call; the attributes are those of Convolution."""
    return Convolution(weights, bias, **attributes)(x, residual, out=out, pool=pool)


class Kernel(NamedTuple):
    """What is known of a kernel: see conv2d_kernel_info in conv2d.h."""

    name: str
    isa: str
    family: str
    kernel_width: int
    stride_w: int
    tile_channels: int
    tile_rows: int
    tile_columns: int
    lanes: int
    registers: int
    fmas: int
    loads: int


def kernels() -> list[Kernel]:
    """All kernels of this build."""
    found: list[Kernel] = []
    info = _library.KernelInfo()
    while library.conv2d_kernel_at(len(found), byref(info)):
        values = [getattr(info, field[0]) for field in info._fields_]
        isa = library.conv2d_isa_name(values[1]).decode()
        found.append(Kernel(values[0].decode(), isa, values[2].decode(), *values[3:]))
    return found


def cpu_isa() -> str:
    """The best instruction set of this CPU: "scalar", "avx2" or "avx512"."""
    return str(library.conv2d_isa_name(library.conv2d_cpu_isa()).decode())
