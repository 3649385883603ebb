# SPDX-License-Identifier: MIT
"""The tiny face detector through the provider: all convolutions claimed, and the three faces of the package's first
photo found where the runtime's own provider finds them.
usage: check_faces.py LIBRARY PACKAGES"""

import os
import sys

from find_faces import CONVOLUTIONS, Image, detector, find_faces, package
from provider import claimed, numpy, register, session

# The middle of each face, in pixels, as one sees it.
FACES = ((490, 530), (930, 580), (1590, 350))

model = detector(sys.argv[2])
photo = Image.open(os.path.join(package(sys.argv[2]), "demo", "sample1.jpg")).convert("RGB")
ours = session(model, register(sys.argv[1]), threads=2)
count = claimed(ours)["Conv"]
frames = sorted((frame for _, frame in find_faces(ours, photo)), key=lambda frame: frame[0])
others = sorted((frame for _, frame in find_faces(session(model), photo)), key=lambda frame: frame[0])
good = count == CONVOLUTIONS and len(frames) == len(others) == len(FACES)
for frame, other, (x, y) in zip(frames, others, FACES):
    print(f"{numpy.round(frame).astype(int)} has the face at {x}, {y}")
    inside = frame[0] < x < frame[2] and frame[1] < y < frame[3]
    good = good and inside and numpy.abs(frame - other).max() < 0.5
print(f"{count} convolutions claimed, {len(frames)} faces")
sys.exit(0 if good else 1)
