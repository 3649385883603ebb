# SPDX-License-Identifier: MIT
"""The C library by ctypes: where it is, and its types and functions as conv2d.h has them."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_float, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any, NoReturn

STATUS = ("OK", "NULL_POINTER", "INVALID", "EMPTY_OUTPUT", "OVERFLOW", "UNSUPPORTED", "UNKNOWN_KERNEL",
          "KERNEL_MISMATCH", "NO_MEMORY", "NO_THREADS")
LAYOUTS = {"nchw": 0, "nhwc": 1}
WEIGHTS_LAYOUTS = {"oihw": 0, "ohwi": 1, "hwio": 2}
# With the number of parameters that each takes.
ACTIVATIONS = {"none": 0, "relu": 0, "clamp": 2, "leaky_relu": 1, "hard_swish": 0, "hard_sigmoid": 0, "sigmoid": 0,
               "silu": 0, "tanh": 0, "gelu": 0, "mish": 0}
ISAS = {"any": 0, "scalar": 1, "avx2": 2, "avx512": 3}


class Error(ValueError):
    """What the library refused; `status` is its name for it, such as "INVALID"."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = STATUS[status] if status < len(STATUS) else str(status)


class Desc(Structure):
    _fields_ = [(name, c_size_t) for name in (
        "batch", "in_channels", "in_height", "in_width", "out_channels", "kernel_height", "kernel_width", "stride_h",
        "stride_w", "dilation_h", "dilation_w", "groups", "pad_top", "pad_bottom", "pad_left", "pad_right")] + [
            ("in_layout", c_int), ("out_layout", c_int), ("weights_layout", c_int), ("in_pitch", c_size_t * 3),
            ("out_pitch", c_size_t * 3), ("bias", c_void_p), ("residual", c_void_p), ("activation", c_int),
            ("act_a", c_float), ("act_b", c_float)]


class Options(Structure):
    _fields_ = [("isa", c_int), ("kernel", c_char_p), ("prefer_256", c_int), ("records", c_void_p),
                ("record_count", c_size_t)]


class Plan(Structure):
    _fields_ = [("opaque", c_size_t * 80)]


class Args(Structure):
    _fields_ = [(name, c_void_p) for name in ("input", "packed", "residual", "out", "workspace")]


class Share(Structure):
    _fields_ = [("plan", c_void_p), ("args", c_void_p), ("parts", c_size_t), ("taken", c_size_t), ("status", c_int)]


class KernelInfo(Structure):
    _fields_ = [("name", c_char_p), ("isa", c_int), ("family", c_char_p)] + [
        (name, c_size_t) for name in ("kernel_width", "stride_w", "tile_channels", "tile_rows", "tile_columns", "lanes",
                                      "registers", "fmas", "loads")]


# What each function returns and takes.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "conv2d_output_size": (c_int, [POINTER(Desc), POINTER(c_size_t), POINTER(c_size_t)]),
    "conv2d_plan_init": (c_int, [POINTER(Plan), POINTER(Desc), POINTER(Options)]),
    "conv2d_packed_size": (c_size_t, [POINTER(Plan)]),
    "conv2d_pack_weights": (c_int, [POINTER(Plan), c_void_p, c_void_p, c_void_p]),
    "conv2d_workspace_size": (c_size_t, [POINTER(Plan), c_size_t]),
    "conv2d_run": (c_int, [POINTER(Plan), POINTER(Args)]),
    "conv2d_run_part": (c_int, [POINTER(Plan), POINTER(Args), c_size_t, c_size_t]),
    "conv2d_run_share": (None, [c_void_p]),
    "conv2d_useful_parts": (c_size_t, [POINTER(Plan)]),
    "conv2d_pool_create": (c_void_p, [c_size_t, POINTER(c_int)]),
    "conv2d_pool_threads": (c_size_t, [c_void_p]),
    "conv2d_run_pool": (c_int, [c_void_p, POINTER(Plan), POINTER(Args)]),
    "conv2d_pool_destroy": (None, [c_void_p]),
    "conv2d_explain": (c_size_t, [POINTER(Plan), c_char_p, c_size_t]),
    "conv2d_kernel_name": (c_char_p, [POINTER(Plan)]),
    "conv2d_predicted_efficiency": (c_double, [POINTER(Plan)]),
    "conv2d_kernel_at": (c_int, [c_size_t, POINTER(KernelInfo)]),
    "conv2d_cpu_isa": (c_int, []),
    "conv2d_isa_name": (c_char_p, [c_int]),
    "conv2d_status_string": (c_char_p, [c_int]),
    "conv2d_version": (c_char_p, []),
}


def _load() -> ctypes.CDLL:
    """$CONV2D_LIBRARY, or the library inside this package, or the system's."""
    bundled = Path(__file__).parent / "libconv2d.so"
    wanted = os.environ.get("CONV2D_LIBRARY") or (str(bundled) if bundled.exists() else "libconv2d.so.0")
    try:
        library = ctypes.CDLL(wanted)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"conv2d cannot use its C library, {wanted}: {error}. Install libconv2d, or let the "
                          "environment variable CONV2D_LIBRARY name the file.") from error
    return library


library = _load()


def explain(plan: Plan) -> str:
    size = library.conv2d_explain(byref(plan), None, 0) + 1
    text = ctypes.create_string_buffer(size)
    library.conv2d_explain(byref(plan), text, size)
    return text.value.decode()


def refuse(status: int, explained: str = "") -> NoReturn:
    text = explained.strip().removeprefix("refused: ") or library.conv2d_status_string(status).decode()
    if STATUS[status] == "NO_MEMORY":
        raise MemoryError(text)
    if STATUS[status] == "NO_THREADS":
        raise RuntimeError(text)
    raise Error(status, text)


def library_version() -> str:
    return str(library.conv2d_version().decode())
