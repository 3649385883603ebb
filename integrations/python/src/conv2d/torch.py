# SPDX-License-Identifier: MIT
"""Routes PyTorch's f32 convolutions on the CPU through libconv2d, for inference, models unchanged:

    conv2d.torch.enable()
    with torch.inference_mode():
        model(images)

Claimed are forward convolutions of one or two dimensions, groups and dilation included, of plain f32 CPU tensors,
contiguous or channels_last, when no gradient is wanted.  Everything else (training, transposed or 3-d convolution,
other types, empty tensors) goes where it would have gone; report() counts both.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from typing import Any, Optional, Sequence

import torch

from ._openmp import Team
from ._plan import Attributes, Plan, Pool, Sizes, Threads

# What PyTorch's own types do not cover, in all of its versions.
_operators: Any = getattr(torch, "ops").aten
_make_library: Any = getattr(torch, "library").Library

PLANS_KEPT = 1024  # of all models together; the oldest go

_lock = threading.Lock()
_registration: Any = None
_pool: Optional[Threads] = None
_plans: dict[object, Plan] = {}
_packed: dict[int, "_Packed"] = {}
_claimed = 0
_left: Counter[str] = Counter()


class _Packed:
    """Packed weights, and of which tensors in which state; `alive` is called when the weights' tensor dies."""

    def __init__(self, owner: torch.Tensor, state: object, packed: tuple[object, int]) -> None:
        number = id(owner)
        self.alive = weakref.ref(owner, lambda _: _packed.pop(number, None))
        self.state = state
        self.memory, self.address = packed


def enable(threads: Optional[int] = None) -> None:
    """Routes from now on, with so many threads, torch.get_num_threads() by default; again: with another number.  They
    are PyTorch's own where it uses OpenMP."""
    global _registration, _pool
    with _lock:
        count = torch.get_num_threads() if threads is None else threads
        _pool = _make_threads(count) if count != 1 else None
        if _registration is None:
            library = _make_library("aten", "IMPL")
            library.impl("convolution", _convolution, "CPU")
            _registration = library


def _make_threads(count: int) -> Threads:
    try:
        return Team(count)
    except LookupError:
        return Pool(count)


def disable() -> None:
    """PyTorch's own convolutions again; forgets packed weights and plans, keeps the counts."""
    global _registration, _pool
    with _lock:
        if _registration is not None and hasattr(_registration, "_destroy"):
            _registration._destroy()
        _registration = _pool = None
    forget()


def forget() -> None:
    """Drops packed weights.  Needed only after weights were changed behind PyTorch's back, through .data or a NumPy
    view: whatever else changes a tensor is noticed."""
    _packed.clear()
    _plans.clear()


def report() -> dict[str, Any]:
    """{"claimed": calls that went through libconv2d, "left": {reason: calls that did not}} since reset()."""
    return {"claimed": _claimed, "left": dict(_left)}


def reset() -> None:
    global _claimed
    _claimed = 0
    _left.clear()


def _reason_to_leave(source: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor],
                     transposed: bool) -> Optional[str]:
    tensors = (source, weight) if bias is None else (source, weight, bias)
    if transposed:
        return "transposed"
    if source.dim() not in (3, 4):
        return f"{source.dim() - 2}-d"
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return "gradient"
    for tensor in tensors:
        if tensor.dtype != torch.float32:
            return str(tensor.dtype).replace("torch.", "")
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_neg():
            return "not a plain tensor"
    if source.numel() == 0 or weight.numel() == 0:
        return "empty"
    return None


def _convolution(source: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], stride: Sequence[int],
                 padding: Sequence[int], dilation: Sequence[int], transposed: bool, output_padding: Sequence[int],
                 groups: int) -> torch.Tensor:
    """What PyTorch calls for aten::convolution on CPU tensors."""
    global _claimed
    reason = _reason_to_leave(source, weight, bias, transposed)
    if reason is None:
        try:
            result = _claim(source, weight, bias, stride, padding, dilation, groups)
            with _lock:
                _claimed += 1
            return result
        except ValueError as error:  # PyTorch has its own words for what cannot be, and perhaps its own way
            reason = f"refused: {error}"
    with _lock:
        _left[reason] += 1
    left: torch.Tensor = _operators._convolution(source, weight, bias, stride, padding, dilation, transposed,
                                                 output_padding, groups, False, False, True, True)
    return left


def _claim(source: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], stride: Sequence[int],
           padding: Sequence[int], dilation: Sequence[int], groups: int) -> torch.Tensor:
    if source.dim() == 4:
        return _convolve(source, weight, bias, stride, padding, dilation, groups, weight)
    # One dimension is an image of one row.
    return _convolve(source.unsqueeze(2), weight.unsqueeze(2), bias, (1, *stride), (0, *padding), (1, *dilation),
                     groups, weight).squeeze(2)


def _convolve(source: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], stride: Sequence[int],
              padding: Sequence[int], dilation: Sequence[int], groups: int, owner: torch.Tensor) -> torch.Tensor:
    """weight is owner or a view of it; owner is what stays from call to call."""
    channels_last = _is_channels_last(source) or _is_channels_last(weight)
    order = torch.channels_last if channels_last else torch.contiguous_format
    source = source.contiguous(memory_format=order)  # a copy only where it is neither
    key = (source.shape, weight.shape, bias is None, *stride, *padding, *dilation, groups, channels_last)
    plan = _plans.get(key)
    if plan is None:
        if bias is not None and bias.shape != weight.shape[:1] or source.shape[1] != weight.shape[1] * groups:
            raise ValueError("sizes that do not go together")
        plan = _make_plan(source, weight, bias, stride, padding, dilation, groups, channels_last)
        if len(_plans) >= PLANS_KEPT:
            _plans.pop(next(iter(_plans)), None)
        _plans[key] = plan
    packed = _pack(plan, owner, weight, bias, groups)
    batch, *rest = plan.out_shape
    channels, height, width = (rest[2], rest[0], rest[1]) if channels_last else rest
    out = torch.empty((batch, channels, height, width), dtype=torch.float32, memory_format=order)
    plan.run(source.data_ptr(), packed.address, None, out.data_ptr(), _pool)
    return out


def _is_channels_last(tensor: torch.Tensor) -> bool:
    return not tensor.is_contiguous() and tensor.is_contiguous(memory_format=torch.channels_last)


def _make_plan(source: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], stride: Sequence[int],
               padding: Sequence[int], dilation: Sequence[int], groups: int, channels_last: bool) -> Plan:
    layout = "nhwc" if channels_last else "nchw"
    batch, in_channels, in_height, in_width = source.shape
    out_channels, _, kernel_height, kernel_width = weight.shape
    attributes = Attributes((stride[0], stride[1]), (padding[0], padding[0], padding[1], padding[1]),
                            (dilation[0], dilation[1]), groups, layout=layout, out_layout=layout)
    if min(*stride, *dilation, groups) < 1 or min(padding) < 0:
        raise ValueError("a number that is none of a convolution")
    return Plan(attributes, Sizes(batch, in_channels, in_height, in_width, out_channels, kernel_height, kernel_width,
                                  bias=bias is not None))


def _state(tensor: Optional[torch.Tensor]) -> Optional[tuple[int, int]]:
    """What changes when the tensor's memory or values do; None if that cannot be told."""
    if tensor is None:
        return 0, 0
    return None if tensor.is_inference() else (tensor.data_ptr(), tensor._version)


def _pack(plan: Plan, owner: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor],
          groups: int) -> _Packed:
    states = _state(owner), _state(bias)
    state = None if None in states else (*states, groups, weight.shape, weight.stride())
    known = _packed.get(id(owner))
    if known is not None and state is not None and known.state == state and known.alive() is owner:
        return known
    # Contiguous in rows, whatever the layout of the images: the plan reads OIHW.
    plain = weight.detach().contiguous(memory_format=torch.contiguous_format)
    values = None if bias is None else bias.detach().contiguous()
    made = _Packed(owner, state, plan.pack(plain.data_ptr(), None if values is None else values.data_ptr()))
    if state is not None:
        _packed[id(owner)] = made
    return made
