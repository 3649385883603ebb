# SPDX-License-Identifier: MIT
"""Tests of what the peers in Python share.  usage: check_python_peers.py DIRECTORY_OF_PEERS"""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

PEERS = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, PEERS)
sys.dont_write_bytecode = True

import problem  # noqa: E402
import worker  # noqa: E402

TEXT = ("mode=nchw n=2 c=6 h=9 w=11 k=8 r=3 s=5 sh=1 sw=2 dh=2 dw=1 pt=0 pb=1 pl=2 pr=3 g=2 bias=1 act=clamp "
        "a=-0.5 b=6")
# A peer without a library: it doubles a number in each call, and refuses groups.
DOUBLING = textwrap.dedent("""
    import sys
    sys.dont_write_bytecode = True
    sys.path.insert(0, {peers!r})
    import worker
    peer = worker.start()
    worker.make_tensors = lambda problem: None
    class Value:
        size = 1
        def astype(self, kind):
            return self
        def tofile(self, path):
            open(path, "w").write(str(calls))
    calls = 0
    def call():
        global calls
        calls += 1
    def prepare(problem, tensors, mode):
        if problem.groups > 1:
            raise worker.Cannot("do groups")
        if problem.activation != "none":
            raise RuntimeError("no such\\nthing")
        return worker.Prepared(call, Value, mode)
    with peer.needs():
        import {module}
    print("noise from a library")
    peer.serve(["own", "nchw"], "a test", prepare)
""")


def words_of(**changes):
    words = dict(word.split("=") for word in TEXT.split())
    words.update(changes)
    return [f"{key}={value}" for key, value in words.items()]


class Parse(unittest.TestCase):
    def test_every_key_has_its_place(self):
        found = problem.parse(TEXT.split())
        self.assertEqual(found, problem.Problem((2, 6, 9, 11), (8, 3, 3, 5), (1, 2), (2, 1), (0, 2), (1, 3), 2, True,
                                                "clamp", -0.5, 6.0))
        self.assertEqual(found.kernel.columns, 5)

    def test_order_does_not_matter(self):
        self.assertEqual(problem.parse(reversed(TEXT.split())), problem.parse(TEXT.split()))

    def test_a_missing_key_is_named(self):
        words = [word for word in TEXT.split() if not word.startswith("sw=")]
        with self.assertRaisesRegex(ValueError, "sw"):
            problem.parse(words)

    def test_output_shape(self):
        self.assertEqual(problem.parse(TEXT.split()).out_shape, (2, 8, 6, 6))
        first_layer = words_of(n=1, c=3, h=224, w=224, k=64, r=7, s=7, sh=2, sw=2, dh=1, pt=3, pb=3, pl=3, g=1)
        self.assertEqual(problem.parse(first_layer).out_shape, (1, 64, 112, 112))

    def test_depthwise(self):
        self.assertTrue(problem.parse(words_of(g=6, k=12)).depthwise)
        self.assertFalse(problem.parse(words_of(g=2)).depthwise)
        self.assertFalse(problem.parse(words_of(c=1, g=1)).depthwise)


class Values(unittest.TestCase):
    def test_those_of_the_protocol(self):
        first = [round(problem.values_at(index, 1), 8) for index in range(3)]
        self.assertEqual(first, [-0.15901601, 0.5419147, 0.51047969])

    def test_within_bounds_and_not_the_same_for_another_seed(self):
        values = [problem.values_at(index, seed) for index in range(2000) for seed in (1, 2, 3)]
        self.assertTrue(all(-1 <= value < 1 for value in values))
        self.assertGreater(len(set(values)), 5990)

    def test_arrays_hold_the_same(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed: arrays of values are not tested")
        shape = (3, problem.CHUNK // 2 + 5)
        array = problem.filled(shape, 2)
        self.assertEqual((array.shape, array.dtype, array.ctypes.data % 64), (shape, numpy.float32, 0))
        for index in (0, 1, problem.CHUNK - 1, problem.CHUNK, array.size - 1):
            self.assertEqual(array.reshape(-1)[index], problem.values_at(index, 2))


class Clock(unittest.TestCase):
    def test_a_sample_takes_the_time_asked_for(self):
        self.assertGreaterEqual(worker.calls_per_sample(lambda: None, 50e-6), 2)

    def test_at_least_one_sample_and_one_call_before(self):
        calls = []
        self.assertEqual(len(worker.sample(lambda: calls.append(0), 3, 0.0)), 1)
        self.assertEqual(len(calls), 4)

    def test_no_more_samples_than_the_protocol_allows(self):
        self.assertEqual(len(worker.sample(lambda: None, 1, 60.0)), 64)


class Protocol(unittest.TestCase):
    def talk(self, *lines, module="os", arguments=("threads=2", "isa=any")):
        """The answers to the lines, the first being the one at the start."""
        script = DOUBLING.format(peers=PEERS, module=module)
        done = subprocess.run([sys.executable, "-c", script, *arguments], input="\n".join(lines), text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_a_whole_conversation(self):
        plain = " ".join(words_of(g=1, act="none"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out put")
            answers = self.talk("problem " + plain, "run 0.001", "output " + path, "drop", "run 1", "quit", "drop")
            with open(path, encoding="ascii") as file:
                self.assertGreater(int(file.read()), 0)
        self.assertEqual(answers[0], "peer own,nchw a test")
        self.assertRegex(answers[1], r"^ready nchw, [0-9.]+ us for a tiny call$")
        self.assertRegex(answers[2], r"^times [0-9]+( [0-9.e-]+)+$")
        self.assertEqual(answers[3:], ["written 1", "dropped", "cannot before a problem is ready"])

    def test_what_cannot_be_done_is_said_in_a_line(self):
        answers = self.talk("problem " + " ".join(words_of(act="none")), "problem " + " ".join(words_of(g=1)),
                            "problem mode=own n=1", "dance")
        self.assertEqual(answers[1:], ["cannot do groups", "cannot do this: RuntimeError: no such thing",
                                       "cannot do this: ValueError: a problem without 'c'",
                                       "cannot understand dance"])

    def test_a_missing_module(self):
        self.assertEqual(self.talk(module="no_such_module"), ["missing No module named 'no_such_module'"])


if __name__ == "__main__":
    unittest.main()
