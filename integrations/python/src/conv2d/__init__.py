# SPDX-License-Identifier: MIT
"""Direct f32 2-D convolution for x86: libconv2d for NumPy arrays, and for PyTorch (conv2d.torch)."""

from ._library import Error, library_version
from ._numpy import Convolution, Kernel, convolve, cpu_isa, kernels
from ._plan import Plan, Pool

__version__ = library_version()
__all__ = ["Convolution", "Error", "Kernel", "Plan", "Pool", "convolve", "cpu_isa", "kernels"]
