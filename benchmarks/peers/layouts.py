# SPDX-License-Identifier: MIT
"""From NCHW arrays to channel blocks and NHWC, and back."""

import numpy

from problem import aligned, aligned_copy


def to_blocks(array, block):
    """N, channel blocks, H, W, channels of a block; zeros where the last block is not full."""
    batch, channels, height, width = array.shape
    count = -(-channels // block)
    padded = numpy.zeros((batch, count * block, height, width), numpy.float32)
    padded[:, :channels] = array
    blocks = aligned((batch, count, height, width, block))
    blocks[:] = padded.reshape(batch, count, block, height, width).transpose(0, 1, 3, 4, 2)
    return blocks


def from_blocks(blocks, channels):
    batch, count, height, width, block = blocks.shape
    return blocks.transpose(0, 1, 4, 2, 3).reshape(batch, count * block, height, width)[:, :channels]


def to_nhwc(array):
    return aligned_copy(array.transpose(0, 2, 3, 1))


def from_nhwc(array):
    return array.transpose(0, 3, 1, 2)
