# SPDX-License-Identifier: MIT
"""Runs the parts of a plan on the OpenMP threads that PyTorch has already: threads of our own would share the CPUs with
them, and they spin for a while after each of PyTorch's own operators.  There is no header and no compiler in this:
GOMP_parallel is what compilers call for `#pragma omp parallel`, and the same in GNU's, LLVM's and Intel's run time."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
from ctypes import byref
from pathlib import Path
from typing import Any

from . import _library
from ._library import library

RUNTIME = re.compile(r"lib(gomp|omp|iomp5)\b.*\.so")
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _loaded_runtime() -> ctypes.CDLL:
    """The OpenMP run time of this process; LookupError if there is none, or more than one."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    found = {line[line.index("/"):] for line in lines if "/" in line and RUNTIME.match(line.rpartition("/")[2])}
    if len(found) != 1:
        raise LookupError(f"{len(found)} OpenMP run times in this process")
    runtime = ctypes.CDLL(found.pop(), mode=os.RTLD_NOLOAD)
    runtime.GOMP_parallel.argtypes = [FUNCTION, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    runtime.GOMP_parallel.restype = None
    return runtime


class Team:
    """As a Pool, of OpenMP's threads; nothing to close."""

    def __init__(self, threads: int) -> None:
        try:
            self._runtime = _loaded_runtime()
        except AttributeError as error:
            raise LookupError(str(error)) from error
        self.threads = threads
        self._keys = itertools.count(1)
        self._jobs: dict[int, tuple[Any, ...]] = {}
        self._function = FUNCTION(self._run_parts)

    def run(self, plan: _library.Plan, args: _library.Args) -> int:
        parts = min(self.threads, library.conv2d_useful_parts(byref(plan)))
        if parts == 1:
            return int(library.conv2d_run(byref(plan), byref(args)))
        key, failures = next(self._keys), list[int]()
        self._jobs[key] = byref(plan), byref(args), parts, failures
        # Always as many threads as PyTorch asks for: a team of another size would be made anew.
        self._runtime.GOMP_parallel(self._function, key, self.threads, 0)
        del self._jobs[key]
        return max(failures, default=0)

    def _run_parts(self, key: int) -> None:
        plan, args, parts, failures = self._jobs[key]
        here, threads = self._runtime.omp_get_thread_num(), self._runtime.omp_get_num_threads()
        for part in range(here, parts, threads):
            status = library.conv2d_run_part(plan, args, part, parts)
            if status:
                failures.append(status)
