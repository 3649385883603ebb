# SPDX-License-Identifier: MIT
"""ONNX's own backend tests whose models have a Conv, with the provider as the backend: its runner, data and tolerances.
Single operators, models exported from PyTorch, convolutions among other operators, and nine whole networks with made-up
weights.  The provider must have every Conv that the runtime's optimizations leave.
usage: check_backend.py LIBRARY"""

import os
import sys
import tempfile
import unittest
import warnings

warnings.simplefilter("ignore") # about how the data of cases that are not run is made
# The runtime knows operators of opset 27, but refuses models of an opset that it has not declared finished.
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
from provider import NAME, Counter, onnx, register, session

import onnx.backend.test
from onnx.backend.base import Backend, BackendRep

SINGLE, AMONG_OTHERS, NETWORKS = 26, 11, 9
CASES = (r"test_(basic_conv|conv|operator_conv|Conv[12]d)(_\w+)?_cpu",
         r"test_causal_conv_with_state_(?!.*fp16)\w+_expanded_cpu",
         r"test_(bvlc_alexnet|densenet121|inception_v[12]|resnet50|shufflenet|squeezenet|vgg19|zfnet512)_cpu")
DEVICE = register(sys.argv[1])
claimed_in = []  # each model


class Prepared(BackendRep):
    def __init__(self, of):
        self.of = of

    def run(self, inputs, **_):
        return self.of.run(None, dict(zip([entry.name for entry in self.of.get_inputs()], inputs)))


class Provider(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **_):
        of = session(model, DEVICE, threads=2)
        convolutions = Counter(part.ep_name for part in of.get_provider_graph_assignment_info()
                               for node in part.get_nodes() if node.op_type == "Conv")
        if convolutions.keys() != {NAME}:
            raise AssertionError(f"who has the convolutions: {dict(convolutions)}")
        claimed_in.append(convolutions[NAME])
        return Prepared(of)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


with tempfile.TemporaryDirectory() as home:
    os.environ["ONNX_HOME"] = home # where the runner puts the networks' inputs
    suite = onnx.backend.test.BackendTest(Provider, __name__)
    for pattern in CASES:
        suite.include(f"^{pattern}$")
    result = unittest.TestResult()
    suite.test_suite.run(result)
for test, trace in result.errors + result.failures:
    print(f"FAILED: {test}\n{trace}")
print(f"{len(claimed_in)} models, {sum(claimed_in)} convolutions, all claimed")
sys.exit(not result.wasSuccessful() or len(claimed_in) != SINGLE + AMONG_OTHERS + NETWORKS)
