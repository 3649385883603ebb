# SPDX-License-Identifier: MIT
"""conv2d for Python without memory: each allocation of a convolution is refused in turn, those of the C library, of
arrays, of ctypes, of mappings.  That must be a MemoryError, or not matter; and the same call then gives the same bits.
usage: check_faults.py PRELOAD, with the package and the library as run_tests.sh has them"""

import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import Any, Callable, Optional

PRELOAD = os.path.abspath(sys.argv[1])
if os.environ.get("LD_PRELOAD") != PRELOAD:
    settings = {"LD_PRELOAD": PRELOAD, "FAULT_OBJECT": "nobody"}
    os.execve(sys.executable, [sys.executable, "-B", *sys.argv], os.environ | settings)

import numpy as np

import conv2d
from conv2d._plan import floats

FAULTS = ctypes.CDLL(None)
FAULTS.allocations_counted.restype = FAULTS.allocations_held.restype = ctypes.c_ulong
FAULTS.fail_allocation.argtypes = [ctypes.c_ulong, ctypes.c_char_p]
RANDOM = np.random.default_rng(6)
# Who asks: the C library, NumPy, Python's mmap; the interpreter not, where NumPy crashes without its memory.
OBJECTS = (b"libconv2d", b"_multiarray_umath", b"/mmap.cpython")
failures: list[str] = []


def check(condition: bool, what: str) -> None:
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def tensor(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def attempt(whose: bytes, number: int, call: Callable[[], Any]) -> tuple[Any, Optional[BaseException], int]:
    """Result, error and number of allocations while one of them was refused, 0: none."""
    result = error = None
    FAULTS.fail_allocation(number, whose)
    try:
        result = call()
    except Exception as caught:
        error = caught.with_traceback(None)
    counted = FAULTS.allocations_counted()
    FAULTS.fail_allocation(0, b"nobody")
    return result, error, counted


def refuse_each(what: str, whose: bytes, call: Callable[[], Any]) -> tuple[int, int]:
    """Allocations refused, and exceptions."""
    expected = call()
    count = attempt(whose, 0, call)[2]
    said = 0
    for number in range(1, count + 1):
        result, error, _ = attempt(whose, number, call)
        check(np.array_equal(expected, result) if error is None else isinstance(error, MemoryError),
              f"{what}, {whose.decode()}, allocation {number}: {error!r}")
        said += error is not None
        check(np.array_equal(expected, call()), f"{what}, after {whose.decode()}'s allocation {number}")
    return count, said


def count_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def main() -> int:
    threads = count_threads()
    x, w, b = tensor(2, 8, 30, 40), tensor(24, 8, 3, 3), tensor(24)
    deep, many = tensor(1, 300, 6, 6), tensor(300, 300, 3, 3)

    def with_pool() -> Any:
        with conv2d.Pool(2) as pool:
            return conv2d.convolve(x, w, b, padding=1, pool=pool)

    calls: dict[str, Callable[[], Any]] = {
        "convolution": lambda: conv2d.convolve(x, w, b, padding=1, activation="silu"),
        "on a pool": with_pool,
        "weights in huge pages": lambda: conv2d.convolve(deep, many)}
    for what, call in calls.items():
        counts = [refuse_each(what, whose, call) for whose in OBJECTS]
        print(f"{what}: {sum(count for count, _ in counts)} allocations refused, "
              f"{sum(said for _, said in counts)} exceptions")
    refused, said = refuse_each("packed weights", sys.executable.encode(), lambda: floats(9999)[1] % 64)
    check(said > 0, "no memory of ctypes was refused")
    print(f"packed weights: {refused} allocations refused, {said} exceptions")
    gc.collect()
    check(count_threads() == threads, f"{count_threads() - threads} threads of pools are left")
    return 1 if failures else 0


sys.exit(main())
