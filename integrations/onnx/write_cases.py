# SPDX-License-Identifier: MIT
"""Writes the cases of the package onnx that are a single Conv as folders, as Debian's libonnx-testdata has them:
model.onnx, test_data_set_0/input_K.pb and output_K.pb.  Those of single operators the package makes when it is asked
to, of the operator's latest version; the others it has as files.
usage: write_cases.py FOLDER"""

import shutil
import sys
from pathlib import Path

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


def is_conv(model):
    return [node.op_type for node in model.graph.node] == ["Conv"]


def write(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for kind, arrays in zip(("input", "output"), case.data_sets[0]):
        for number, array in enumerate(arrays):
            (data / f"{kind}_{number}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


wanted = Path(sys.argv[1])
for single in collect_testcases():
    if is_conv(single.model):
        write(single, wanted / "node" / single.name)
for model in DATA.glob("pytorch-*/test_*/model.onnx"):
    if is_conv(onnx.load(model)):
        shutil.copytree(model.parent, wanted / model.parent.relative_to(DATA))
