# SPDX-License-Identifier: MIT
"""Writes a network of torchvision as an ONNX model, with made-up weights, batch normalisation folded by PyTorch's
exporter.  Wants Debian's python3-torch and python3-torchvision.
usage: export_network.py NAME FILE, such as mobilenet_v2 mobilenet_v2.onnx"""

import sys

import torch
import torchvision

name, path = sys.argv[1:]
torch.manual_seed(1)
network = getattr(torchvision.models, name)().eval()
torch.onnx.export(network, torch.randn(1, 3, 224, 224), path, opset_version=13)
