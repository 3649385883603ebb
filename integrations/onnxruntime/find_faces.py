# SPDX-License-Identifier: MIT
"""Finds faces in a photo with the tiny face detector of @vladmandic/face-api, its convolutions done by the provider:
prints where they are, and writes the photo with a frame around each.
usage: find_faces.py LIBRARY PACKAGES PHOTO [RESULT]
The package's weights, bytes with a scale, are made an ONNX model first."""

import json
import os
import sys

from provider import NAME, claimed, constant, helper, make_model, numpy, register, session, value

try:
    from PIL import Image, ImageDraw
except ImportError:
    print("skipped: pillow is not installed; integrations/setup.sh BUILD_DIR gets it")
    sys.exit(77)

SIDE = 416
MEAN = numpy.float32([117.001, 114.697, 97.404])
ANCHORS = numpy.array([(1.603231, 2.094468), (6.041143, 7.080126), (2.882459, 3.518061), (4.266906, 5.178857),
                       (9.041765, 10.66308)])
LAYERS = 6 # each before a pooling; all but the first are a depthwise and a pointwise convolution
CONVOLUTIONS = 12


def package(packages):
    folder = os.path.join(packages, "vladmandic", "face-api")
    if not os.path.isdir(folder):
        print("skipped: no @vladmandic/face-api; integrations/setup.sh BUILD_DIR gets it")
        sys.exit(77)
    return folder


def read_weights(packages):
    """Tensors by name: a byte b means b * scale + min."""
    folder = os.path.join(package(packages), "model")
    with open(os.path.join(folder, "tiny_face_detector_model-weights_manifest.json"), encoding="utf-8") as file:
        entries = json.load(file)[0]["weights"]
    data = numpy.fromfile(os.path.join(folder, "tiny_face_detector_model.bin"), numpy.uint8)
    tensors, offset = {}, 0
    for entry in entries:
        count = int(numpy.prod(entry["shape"]))
        scale = entry["quantization"]
        values = data[offset:offset + count] * numpy.float32(scale["scale"]) + numpy.float32(scale["min"])
        tensors[entry["name"]] = values.astype(numpy.float32).reshape(entry["shape"])
        offset += count
    return tensors


def detector(packages):
    """The network: rows, columns, in channels, out channels of the weights become ONNX's order."""
    tensors, nodes, constants = read_weights(packages), [], []

    def conv(source, weights, bias, **attributes):
        name = f"conv{len(nodes)}"
        constants.append(constant(f"{name} w", weights))
        sources = [source, f"{name} w"]
        if bias is not None:
            constants.append(constant(f"{name} b", bias))
            sources.append(f"{name} b")
        nodes.append(helper.make_node("Conv", sources, [name], kernel_shape=weights.shape[2:], **attributes))
        return name

    x = "x"
    for layer in range(LAYERS):
        bias, depthwise = tensors[f"conv{layer}/bias"], tensors.get(f"conv{layer}/depthwise_filter")
        if depthwise is None:
            x = conv(x, tensors[f"conv{layer}/filters"].transpose(3, 2, 0, 1), bias, pads=[1, 1, 1, 1])
        else:
            x = conv(x, depthwise.transpose(2, 3, 0, 1), None, group=depthwise.shape[2], pads=[1, 1, 1, 1])
            x = conv(x, tensors[f"conv{layer}/pointwise_filter"].transpose(3, 2, 0, 1), bias)
        nodes.append(helper.make_node("LeakyRelu", [x], [f"leaky{layer}"], alpha=0.1))
        stride = [2, 2] if layer + 1 < LAYERS else [1, 1]
        nodes.append(helper.make_node("MaxPool", [f"leaky{layer}"], [f"pool{layer}"], kernel_shape=[2, 2],
                                      strides=stride, auto_pad="SAME_UPPER"))
        x = f"pool{layer}"
    x = conv(x, tensors["conv8/filters"].transpose(3, 2, 0, 1), tensors["conv8/bias"])
    return make_model(nodes, [value("x", [1, 3, SIDE, SIDE])], [value(x, None)], constants)


def as_input(photo):
    """The photo in the upper left of a black square."""
    scale = SIDE / max(photo.size)
    square = numpy.zeros((SIDE, SIDE, 3), numpy.float32)
    small = numpy.asarray(photo.resize([round(side * scale) for side in photo.size]), numpy.float32)
    square[:small.shape[0], :small.shape[1]] = small
    return numpy.ascontiguousarray(((square - MEAN) / 255).transpose(2, 0, 1)[None]), scale


def overlap(a, b):
    """Of two frames: the common area, as a share of the area of both."""
    width, height = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in range(2))
    common = max(width, 0) * max(height, 0)
    both = sum((f[2] - f[0]) * (f[3] - f[1]) for f in (a, b)) - common
    return common / both


def frames_of(result, scale):
    """Each cell has a frame for each anchor: center, size and score.  Of frames that overlap the best stays."""
    cells = result.shape[2]
    boxes = result[0].reshape(len(ANCHORS), 5, cells, cells)
    x, y, score = (1 / (1 + numpy.exp(-boxes[:, i].astype(numpy.float64))) for i in (0, 1, 4))
    found = []
    for anchor, row, column in zip(*numpy.nonzero(score > 0.5)):
        center = numpy.array([column + x[anchor, row, column], row + y[anchor, row, column]])
        half = numpy.exp(boxes[anchor, 2:4, row, column]) * ANCHORS[anchor] / 2
        corners = numpy.concatenate([center - half, center + half]) * (SIDE / cells / scale)
        found.append((float(score[anchor, row, column]), corners))
    kept = []
    for score_here, frame in sorted(found, key=lambda entry: -entry[0]):
        if all(overlap(frame, other) < 0.4 for _, other in kept):
            kept.append((score_here, frame))
    return kept


def find_faces(of, photo):
    tensor, scale = as_input(photo)
    return frames_of(of.run(None, {"x": tensor})[0], scale)


def main(library, packages, path, result="faces.png"):
    photo = Image.open(path).convert("RGB")
    of = session(detector(packages), register(library), threads=2)
    faces = find_faces(of, photo)
    for score, frame in faces:
        print(f"a face, {score:.2f}: {', '.join(str(round(edge)) for edge in frame)}")
        ImageDraw.Draw(photo).rectangle([float(edge) for edge in frame], outline=(220, 40, 40), width=3)
    photo.save(result)
    count = claimed(of)["Conv"]
    print(f"{len(faces)} faces; {NAME} ran {count} of {CONVOLUTIONS} convolutions; written: {result}")
    return 0 if count == CONVOLUTIONS else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
