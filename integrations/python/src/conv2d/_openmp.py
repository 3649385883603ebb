# SPDX-License-Identifier: MIT
"""Runs the parts of a plan on the OpenMP threads that PyTorch has already: threads of our own would share the CPUs with
them, and they spin for a while after each of PyTorch's own operators.  There is no header and no compiler in this:
GOMP_parallel is what compilers call for `#pragma omp parallel`, and the same in GNU's, LLVM's and Intel's run time."""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import POINTER, c_uint, c_void_p
from pathlib import Path

from ._library import Share, library
from ._plan import Call

RUNTIME = re.compile(r"lib(gomp|omp|iomp5)\b.*\.so")


def _loaded_runtime() -> ctypes.CDLL:
    """The OpenMP run time of this process; LookupError if there is none, or more than one."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    found = {line[line.index("/"):] for line in lines if "/" in line and RUNTIME.match(line.rpartition("/")[2])}
    if len(found) != 1:
        raise LookupError(f"{len(found)} OpenMP run times in this process")
    return ctypes.CDLL(found.pop(), mode=os.RTLD_NOLOAD)


class Team:
    """As a Pool, of OpenMP's threads; nothing to close.  They run C alone: a part in Python would wait for the lock of
    the interpreter, asleep (75 us a call)."""

    def __init__(self, threads: int) -> None:
        try:
            self._parallel = _loaded_runtime().GOMP_parallel
        except AttributeError as error:
            raise LookupError(str(error)) from error
        self._parallel.argtypes = [c_void_p, POINTER(Share), c_uint, c_uint]
        self._parallel.restype = None
        self.threads = threads
        self._function = ctypes.cast(library.conv2d_run_share, c_void_p)

    def run(self, call: Call) -> int:
        share = call.share
        if share.parts == 1:
            return int(library.conv2d_run(*call.pointers))
        share.taken = share.status = 0
        # Always as many threads as PyTorch asks for: a team of another size would be made anew.
        self._parallel(self._function, call.shared, self.threads, 0)
        return int(share.status)
