# SPDX-License-Identifier: MIT
"""Plans and pools, on addresses and distances: what NumPy's arrays and PyTorch's tensors both come down to."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
from collections import defaultdict
from ctypes import byref, c_float, c_int, c_size_t
from typing import NamedTuple, Optional, Protocol, Sequence, Union

from . import _library
from ._library import library

Activation = Union[None, str, "tuple[str, float]", "tuple[str, float, float]"]
Pair = Union[int, "tuple[int, int]"]
Padding = Union[int, "tuple[int, int]", "tuple[int, int, int, int]"]
ALIGNMENT = 64
HUGE_PAGE = 2 << 20


def _number(table: "dict[str, int] | Sequence[str]", name: str, what: str) -> int:
    if name not in table:
        raise ValueError(f"{what} is {name!r}, not one of {', '.join(table)}")
    return list(table).index(name)


def pair(value: Pair, what: str) -> tuple[int, int]:
    both: Sequence[int] = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2 or min(both) < 1:
        raise ValueError(f"{what} is {value!r}: one number, or two, for rows and columns, none below 1")
    return both[0], both[1]


def four_sides(value: Padding) -> tuple[int, int, int, int]:
    sides: Sequence[int] = (value, value) if isinstance(value, int) else tuple(value)
    if len(sides) == 2:
        sides = (sides[0], sides[0], sides[1], sides[1])
    if len(sides) != 4 or min(sides) < 0:
        raise ValueError(f"padding is {value!r}: one number, two (rows, columns), or four (top, bottom, left, right), "
                         "none negative")
    return sides[0], sides[1], sides[2], sides[3]


def activation_of(value: Activation) -> tuple[int, float, float]:
    """Its number and its two parameters."""
    name, *parameters = ("none",) if value is None else (value,) if isinstance(value, str) else value
    number = _number(_library.ACTIVATIONS, str(name), "activation")
    if len(parameters) != _library.ACTIVATIONS[str(name)]:
        raise ValueError(f"activation {name} takes {_library.ACTIVATIONS[str(name)]} parameters, not {len(parameters)}:"
                         " write (name, parameter, ...)")
    a, b = (*map(float, parameters), 0.0, 0.0)[:2]
    return number, a, b


class Attributes(NamedTuple):
    """All of a convolution but the sizes of its tensors."""

    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    activation: tuple[int, float, float] = (0, 0.0, 0.0)
    layout: str = "nchw"
    out_layout: str = "nchw"
    weights_layout: str = "oihw"
    isa: str = "any"
    kernel: Optional[str] = None


class Sizes(NamedTuple):
    """The tensors of one problem; pitches as in conv2d.h, (0, 0, 0) is dense."""

    batch: int
    in_channels: int
    in_height: int
    in_width: int
    out_channels: int
    kernel_height: int
    kernel_width: int
    in_pitch: tuple[int, ...] = (0, 0, 0)
    out_pitch: tuple[int, ...] = (0, 0, 0)
    bias: bool = False
    residual: bool = False


def pitches(shape: Sequence[int], strides: Sequence[int], what: str) -> tuple[int, ...]:
    """The pitches of a tensor of four axes, in elements.  The distance along an axis of one element means nothing."""
    dense = 1
    found = []
    for axis in (3, 2, 1, 0):
        stride = strides[axis] if shape[axis] > 1 else dense
        if stride < dense or axis == 3 and stride != 1:
            raise ValueError(f"the strides of {what}, {tuple(strides)} elements for the shape {tuple(shape)}, cannot "
                             "be used without a copy: neighbours along the last axis must be neighbours in memory, and "
                             "no axis may run backwards, repeat or overlap another; make a copy that is contiguous")
        found.append(stride)
        dense = stride * max(shape[axis], 1)
    return tuple(found[:0:-1])


def floats(count: int) -> tuple[object, int]:
    """Memory for so many floats, and the address of the first one, which is aligned.  Large memory is in huge pages if
    the system has them: weights are read once a call, all of them (1 % of ResNet-50's time, 4 % of VGG-16's)."""
    size = 4 * count + ALIGNMENT
    if size < HUGE_PAGE:
        block = (ctypes.c_char * size)()
        address = ctypes.addressof(block)
        return block, address + -address % ALIGNMENT
    try:
        pages = mmap.mmap(-1, size + HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {count} floats: {error.strerror}") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    return pages, address + -address % HUGE_PAGE


class Call:
    """What C gets for a run, with a workspace of its own, made once: structures of ctypes take microseconds."""

    def __init__(self, plan: _library.Plan, parts: int) -> None:
        self._memory, workspace = floats(library.conv2d_workspace_size(byref(plan), parts))
        self.args = _library.Args(workspace=workspace)
        self.pointers = byref(plan), byref(self.args)
        self.share = _library.Share(ctypes.addressof(plan), ctypes.addressof(self.args), parts)
        self.shared = byref(self.share)


class Threads(Protocol):
    """What runs the parts of a plan."""

    threads: int

    def run(self, call: Call) -> int:
        """The status."""


class Pool:
    """Threads for convolutions, the calling one included; 0: as many as it has CPUs.  One call at a time has them:
    a call from another thread waits.  Usable in a with statement; close() stops the threads."""

    def __init__(self, threads: int = 0) -> None:
        status = c_int()
        self._lock = threading.Lock()
        self._handle = library.conv2d_pool_create(threads, byref(status))
        if not self._handle:
            _library.refuse(status.value)
        self.threads = int(library.conv2d_pool_threads(self._handle))

    def close(self) -> None:
        with self._lock:
            if self._handle:
                library.conv2d_pool_destroy(self._handle)
            self._handle = None

    def run(self, call: Call) -> int:
        with self._lock:
            if not self._handle:
                raise RuntimeError("this pool is closed")
            return int(library.conv2d_run_pool(self._handle, *call.pointers))

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


class Plan:
    """One problem made ready to run.  Immutable, for any number of threads."""

    def __init__(self, attributes: Attributes, sizes: Sizes) -> None:
        self.attributes, self.sizes = attributes, sizes
        desc = _describe(attributes, sizes)
        options = _library.Options(isa=_number(_library.ISAS, attributes.isa, "isa"),
                                   kernel=attributes.kernel.encode() if attributes.kernel else None)
        self._plan = _library.Plan()
        status = library.conv2d_plan_init(byref(self._plan), byref(desc), byref(options))
        if status:
            _library.refuse(status, _library.explain(self._plan))
        height, width = c_size_t(), c_size_t()
        library.conv2d_output_size(byref(desc), byref(height), byref(width))
        channels_last = attributes.out_layout == "nhwc"
        #: The shape of the result, in the order of the axes that its layout has.
        self.out_shape: tuple[int, int, int, int] = (
            (sizes.batch, height.value, width.value, sizes.out_channels) if channels_last else
            (sizes.batch, sizes.out_channels, height.value, width.value))
        self._useful_parts = int(library.conv2d_useful_parts(byref(self._plan)))
        # What no run has now, by the number of parts; appending and popping are atomic.
        self._spare: defaultdict[int, list[Call]] = defaultdict(list)

    @property
    def kernel(self) -> str:
        """The name of the kernel that it runs."""
        return str(library.conv2d_kernel_name(byref(self._plan)).decode())

    @property
    def predicted_efficiency(self) -> float:
        """The share of the CPU's multiply-add peak that is expected, 0 to 1."""
        return float(library.conv2d_predicted_efficiency(byref(self._plan)))

    def explain(self) -> str:
        """What it does and why: kernel, blocking, and the reasons against every other kernel."""
        return _library.explain(self._plan)

    def pack(self, weights: int, bias: Optional[int]) -> tuple[object, int]:
        """Packs the weights and the bias at these addresses; the memory, and its address."""
        memory, address = floats(library.conv2d_packed_size(byref(self._plan)))
        status = library.conv2d_pack_weights(byref(self._plan), weights, bias, address)
        if status:
            _library.refuse(status)
        return memory, address

    def run(self, source: int, packed: int, residual: Optional[int], out: int,
            pool: Optional[Threads] = None) -> None:
        """Runs on these addresses, which must be those of tensors such as the plan was made for."""
        parts = min(pool.threads, self._useful_parts) if pool else 1
        spare = self._spare[parts]
        try:
            call = spare.pop()
        except IndexError:
            call = Call(self._plan, parts)
        args = call.args
        args.input, args.packed, args.residual, args.out = source, packed, residual, out
        status = pool.run(call) if pool else library.conv2d_run(*call.pointers)
        spare.append(call)
        if status:
            _library.refuse(status)


def _describe(attributes: Attributes, sizes: Sizes) -> _library.Desc:
    top, bottom, left, right = attributes.padding
    number, a, b = attributes.activation
    present = 1  # a plan keeps only whether there is a bias or a residual, not where
    return _library.Desc(
        batch=sizes.batch, in_channels=sizes.in_channels, in_height=sizes.in_height, in_width=sizes.in_width,
        out_channels=sizes.out_channels, kernel_height=sizes.kernel_height, kernel_width=sizes.kernel_width,
        stride_h=attributes.stride[0], stride_w=attributes.stride[1], dilation_h=attributes.dilation[0],
        dilation_w=attributes.dilation[1], groups=attributes.groups, pad_top=top, pad_bottom=bottom, pad_left=left,
        pad_right=right, in_layout=_number(_library.LAYOUTS, attributes.layout, "layout"),
        out_layout=_number(_library.LAYOUTS, attributes.out_layout, "out_layout"),
        weights_layout=_number(_library.WEIGHTS_LAYOUTS, attributes.weights_layout, "weights_layout"),
        in_pitch=(c_size_t * 3)(*sizes.in_pitch), out_pitch=(c_size_t * 3)(*sizes.out_pitch),
        bias=present if sizes.bias else None, residual=present if sizes.residual else None, activation=number,
        act_a=a, act_b=b)
