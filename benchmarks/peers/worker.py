# SPDX-License-Identifier: MIT
"""The part that all peers in Python share: the protocol of README.md, and the clock.

A peer is a file that calls start(), imports its library within needs(), and ends in Worker.serve().  What it brings is
prepare(problem, tensors, mode), which does everything that a program would do once (packs weights, allocates
outputs, chooses kernels) and returns a Prepared or raises Cannot.
"""

import gc
import os
import statistics
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter
from typing import Callable

from problem import Pair, Problem, make_tensors, parse

SHORTEST_SAMPLE = 50e-6
SAMPLES = 64
# Next to no arithmetic: the time of this one is the way from Python into the library and back.
TINY = Problem((1, 16, 1, 1), (16, 16, 1, 1), Pair(1, 1), Pair(1, 1), Pair(0, 0), Pair(0, 0), 1, False)


class Cannot(Exception):
    """Says what the library cannot do, to be read behind the word cannot."""


@dataclass(frozen=True)
class Prepared:
    run: Callable  # one call, without arguments
    output: Callable  # the result of the last call, as a numpy array in the order of NCHW
    note: str
    keep: tuple = ()  # memory that the library reads and does not own


def time_calls(call, count):
    """Seconds of one call, a mean over count of them."""
    start = perf_counter()
    for _ in repeat(None, count):
        call()
    return (perf_counter() - start) / count


def calls_per_sample(call, seconds):
    count = 1
    while time_calls(call, count) * count < seconds:
        count *= 2
    return count


def sample(call, count, budget):
    """Some samples of the seconds that a call takes, within a budget; at least one."""
    call()
    samples, end = [], perf_counter() + budget
    while not samples or len(samples) < SAMPLES and perf_counter() < end:
        samples.append(time_calls(call, count))
    return samples


class Worker:
    """Answers convbench's commands for one library, with its settings: threads and isa."""

    def __init__(self, arguments):
        settings = dict(argument.partition("=")[::2] for argument in arguments)
        self.threads = int(settings.get("threads", 1))
        self.isa = settings.get("isa", "any")
        # What the libraries themselves print must not get among the answers.
        self.answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self.prepare = self.prepared = None
        self.count = 0
        self.overheads = {}

    def answer(self, *words):
        print(" ".join(" ".join(str(word).split()) for word in words), file=self.answers, flush=True)

    def missing(self, reason):
        self.answer("missing", reason)
        sys.exit(0)

    @contextmanager
    def needs(self):
        """What is imported or loaded within, and is not there, makes the peer missing."""
        try:
            yield
        except (ImportError, OSError) as error:
            self.missing(error)

    def refuse_isa(self, library):
        if self.isa != "any":
            self.missing(f"{library} chooses its instructions itself and cannot be held to {self.isa}")

    def overhead(self, mode):
        """The time of a call with next to no work, in words, or none if the library cannot do that."""
        if mode not in self.overheads:
            try:
                call = self.prepare(TINY, make_tensors(TINY), mode).run
                samples = sample(call, calls_per_sample(call, SHORTEST_SAMPLE), 0.005)
                self.overheads[mode] = f", {statistics.median(samples) * 1e6:.1f} us for a tiny call"
            except Cannot:
                self.overheads[mode] = ""
        return self.overheads[mode]

    def do_problem(self, rest):
        words = rest.split()
        mode = words[0].partition("=")[2]
        self.prepared, self.count = None, 0
        try:
            overhead = self.overhead(mode)
            problem = parse(words)
            prepared = self.prepare(problem, make_tensors(problem), mode)
            prepared.run()
        except Cannot as reason:
            return "cannot", reason
        self.prepared = prepared
        return "ready", prepared.note + overhead

    def do_run(self, rest):
        budget = float(rest)
        call = self.prepared.run
        self.count = self.count or calls_per_sample(call, max(SHORTEST_SAMPLE, budget / SAMPLES))
        return "times", self.count, *(f"{seconds:.9g}" for seconds in sample(call, self.count, budget))

    def do_output(self, path):
        values = self.prepared.output()
        values.astype("<f4").tofile(path)
        return "written", values.size

    def do_drop(self, _):
        self.prepared = None
        return ("dropped",)

    def do(self, command, rest):
        action = getattr(self, "do_" + command, None)
        if action is None:
            return "cannot", f"understand {command}"
        if command in ("run", "output") and self.prepared is None:
            return "cannot", "before a problem is ready"
        try:
            return action(rest)
        except Exception as error:  # each library has its own; one that fails here may do the next problem
            return "cannot", f"do this: {type(error).__name__}: {error}"

    def serve(self, modes, description, prepare):
        self.prepare = prepare
        self.answer("peer", ",".join(modes), description)
        gc.disable()
        for line in sys.stdin:
            command, _, rest = line.rstrip("\n").partition(" ")
            if command == "quit":
                break
            self.answer(*self.do(command, rest))
            gc.collect()


def start():
    return Worker(sys.argv[1:])
