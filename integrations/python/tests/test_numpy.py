# SPDX-License-Identifier: MIT
"""conv2d for NumPy arrays.  Data are small whole numbers, so that every sum is exact and results must be equal."""

import itertools
import unittest
from concurrent.futures import ThreadPoolExecutor

import conv2d
import numpy as np

RANDOM = np.random.default_rng(5)


def whole(*shape):
    return RANDOM.integers(-8, 9, shape).astype(np.float32)


def reference(x, weights, bias=None, stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    """Tap by tap, in double precision."""
    top, bottom, left, right = padding
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    out_channels, in_group, rows, columns = weights.shape
    height = (x.shape[2] - (rows - 1) * dilation[0] - 1) // stride[0] + 1
    width = (x.shape[3] - (columns - 1) * dilation[1] - 1) // stride[1] + 1
    y = np.zeros((len(x), out_channels, height, width)) + (0 if bias is None else bias[:, None, None])
    for out, (row, column) in itertools.product(range(out_channels), np.ndindex(rows, columns)):
        first = out // (out_channels // groups) * in_group
        taps = x[:, first:first + in_group, row * dilation[0]:, column * dilation[1]:]
        taps = taps[:, :, :(height - 1) * stride[0] + 1:stride[0], :(width - 1) * stride[1] + 1:stride[1]]
        y[:, out] += np.einsum("nchw,c->nhw", taps, weights[out, :, row, column])
    return y


class Results(unittest.TestCase):
    def test_attributes(self):
        paddings = (0, 0, 0, 0), (2, 1, 0, 3)
        for groups, stride, padding, dilation, has_bias in itertools.product(
                (1, 2), ((1, 1), (2, 3)), paddings, ((1, 1), (1, 2)), (False, True)):
            x, weights = whole(2, 6, 9, 11), whole(4, 6 // groups, 3, 2)
            bias = whole(4) if has_bias else None
            attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
            with self.subTest(bias=has_bias, **attributes):
                expected = reference(x, weights, bias, **attributes)
                np.testing.assert_array_equal(conv2d.convolve(x, weights, bias, **attributes), expected)

    def test_short_forms(self):
        x, weights = whole(1, 2, 9, 9), whole(3, 2, 3, 3)
        long = conv2d.convolve(x, weights, stride=(2, 2), padding=(1, 1, 1, 1), dilation=(2, 2))
        np.testing.assert_array_equal(conv2d.convolve(x, weights, stride=2, padding=1, dilation=2), long)
        np.testing.assert_array_equal(conv2d.convolve(x, weights, padding=(2, 0)),
                                      conv2d.convolve(x, weights, padding=(2, 2, 0, 0)))

    def test_layouts(self):
        x, weights = whole(2, 5, 7, 8), whole(4, 5, 3, 3)
        expected = reference(x, weights)
        arranged = {"oihw": (0, 1, 2, 3), "ohwi": (0, 2, 3, 1), "hwio": (2, 3, 1, 0)}
        for layout, out_layout, weights_layout in itertools.product(("nchw", "nhwc"), ("nchw", "nhwc"), arranged):
            source = x if layout == "nchw" else np.ascontiguousarray(x.transpose(0, 2, 3, 1))
            y = conv2d.convolve(source, weights.transpose(arranged[weights_layout]), layout=layout,
                                out_layout=out_layout, weights_layout=weights_layout)
            np.testing.assert_array_equal(y if out_layout == "nchw" else y.transpose(0, 3, 1, 2), expected)

    def test_activations(self):
        x, weights = whole(1, 2, 6, 6), whole(3, 2, 3, 3)
        sums = reference(x, weights)
        exact = {"relu": np.maximum(sums, 0), ("clamp", -3, 20): np.clip(sums, -3, 20),
                 ("leaky_relu", 0.5): np.where(sums < 0, sums / 2, sums)}
        for activation, expected in exact.items():
            np.testing.assert_array_equal(conv2d.convolve(x, weights, activation=activation), expected)
        near = {"sigmoid": 1 / (1 + np.exp(-sums)), "silu": sums / (1 + np.exp(-sums)), "tanh": np.tanh(sums),
                "hard_sigmoid": np.clip(sums + 3, 0, 6) / 6, "hard_swish": sums * (np.clip(sums + 3, 0, 6) / 6)}
        for activation, expected in near.items():
            y = conv2d.convolve(x, weights, activation=activation)
            np.testing.assert_allclose(y, expected, 4 * 2.0 ** -23, 2.0 ** -149)

    def test_residual(self):
        x, weights = whole(2, 3, 8, 8), whole(4, 3, 1, 1)
        residual = whole(2, 4, 8, 8)
        expected = np.maximum(reference(x, weights) + residual, 0)
        relu = conv2d.Convolution(weights, activation="relu")
        np.testing.assert_array_equal(relu(x, residual), expected)
        self.assertIs(relu(x, residual, out=residual), residual)
        np.testing.assert_array_equal(residual, expected)

    def test_weights_are_kept(self):
        x, weights, bias = whole(1, 3, 8, 8), whole(4, 3, 3, 3), whole(4)
        expected = reference(x, weights, bias)
        convolution = conv2d.Convolution(weights, bias)
        weights[:] = bias[:] = 99
        np.testing.assert_array_equal(convolution(x), expected)

    def test_no_output_channels(self):
        self.assertEqual(conv2d.convolve(whole(2, 3, 5, 5), whole(0, 3, 3, 3)).shape, (2, 0, 3, 3))


class Views(unittest.TestCase):
    def test_crop_and_channels(self):
        big, weights = whole(3, 9, 12, 14), whole(4, 3, 3, 3)
        view = big[::2, 2:8:2, 1:10, 3:12]
        np.testing.assert_array_equal(conv2d.convolve(view, weights), reference(view, weights))

    def test_out_is_a_view(self):
        x, weights = whole(2, 3, 8, 8), whole(4, 3, 3, 3)
        big = np.full((2, 10, 9, 9), np.inf, np.float32)
        view = big[:, 3:7, 2:8, 1:7]
        conv2d.convolve(x, weights, out=view)
        np.testing.assert_array_equal(view, reference(x, weights))
        self.assertEqual(np.count_nonzero(np.isinf(big)), big.size - view.size)

    def test_channels_of_one_buffer(self):
        """As in a dense net: channels of a tensor are read, others of the same tensor are written."""
        buffer = whole(2, 8, 6, 6)
        weights = whole(3, 5, 3, 3)
        expected = reference(buffer[:, :5], weights, padding=(1, 1, 1, 1))
        conv2d.convolve(buffer[:, :5], weights, padding=1, out=buffer[:, 5:])
        np.testing.assert_array_equal(buffer[:, 5:], expected)

    def test_axes_of_one_element(self):
        """Their strides mean nothing."""
        weights = whole(2, 1, 1, 1)
        x = np.lib.stride_tricks.as_strided(whole(6), (1, 1, 1, 6), (-400, 12, 0, 4))
        np.testing.assert_array_equal(conv2d.convolve(x, weights), reference(x, weights))

    def test_refused(self):
        x, convolution = whole(2, 3, 8, 8), conv2d.Convolution(whole(4, 3, 3, 3))
        views = {"backwards": x[:, :, ::-1], "columns": x[:, :, :, ::-1], "transposed": x.transpose(0, 1, 3, 2),
                 "repeated": np.broadcast_to(x[:1], x.shape), "steps": whole(2, 3, 8, 16)[:, :, :, ::2]}
        for name, view in views.items():
            with self.subTest(name), self.assertRaisesRegex(ValueError, "strides of x"):
                convolution(view)


class Errors(unittest.TestCase):
    def expect(self, kind, text, call, *arguments, **named):
        with self.assertRaisesRegex(kind, text):
            call(*arguments, **named)

    def test_arrays(self):
        x, weights = whole(2, 3, 8, 8), whole(4, 3, 3, 3)
        convolution = conv2d.Convolution(weights)
        self.expect(TypeError, "float64, not float32", convolution, x.astype(np.float64))
        self.expect(TypeError, "list", convolution, x.tolist())
        self.expect(ValueError, "3 axes", convolution, x[0])
        self.expect(ValueError, "no image", convolution, x[:0])
        self.expect(ValueError, "5 channels", convolution, whole(1, 5, 8, 8))
        self.expect(ValueError, "out has the shape", convolution, x, out=whole(2, 4, 8, 8))
        self.expect(ValueError, "overlaps", conv2d.Convolution(whole(3, 3, 1, 1)), x, out=x)
        self.expect(ValueError, "residual has the shape", convolution, x, whole(2, 4, 8, 8))
        self.expect(ValueError, "residual has the strides", convolution, x, whole(2, 4, 6, 12)[:, :, :, :6])
        self.expect(ValueError, "2 values for 4", conv2d.Convolution, weights, whole(2))
        odd = np.frombuffer(bytearray(4 * 192 + 1), np.float32, 192, 1).reshape(1, 3, 8, 8)
        self.expect(ValueError, "aligned", convolution, odd)
        frozen = whole(2, 4, 6, 6)
        frozen.flags.writeable = False
        self.expect(ValueError, "read-only", convolution, x, out=frozen)

    def test_attributes(self):
        weights = whole(4, 3, 3, 3)
        wrong = {"stride": 0, "padding": (1, 2, 3), "dilation": (1, 2, 3), "groups": 0, "activation": "sine",
                 "layout": "chwn", "weights_layout": "iohw", "isa": "avx9", "out_layout": "x"}
        for name, value in wrong.items():
            with self.subTest(name):
                self.expect(ValueError, name, conv2d.convolve, whole(1, 3, 8, 8), weights, **{name: value})
        self.expect(ValueError, "2 parameters, not 1", conv2d.Convolution, weights, activation=("clamp", 1))

    def test_library(self):
        weights, x = whole(4, 3, 3, 3), whole(1, 3, 2, 2)
        cases = {"INVALID": (conv2d.Convolution, (weights,), {"groups": 3}),
                 "EMPTY_OUTPUT": (conv2d.convolve, (x, weights), {}),
                 "OVERFLOW": (conv2d.convolve, (x, weights), {"padding": 2 ** 31}),
                 "UNKNOWN_KERNEL": (conv2d.convolve, (x, weights), {"padding": 1, "kernel": "none"}),
                 "KERNEL_MISMATCH": (conv2d.convolve, (x, weights),
                                     {"padding": 1, "isa": "scalar", "kernel": conv2d.kernels()[-1].name})}
        for status, (call, arguments, named) in cases.items():
            with self.subTest(status):
                with self.assertRaises(conv2d.Error) as caught:
                    call(*arguments, **named)
                self.assertEqual(caught.exception.status, status)
                self.assertGreater(len(str(caught.exception)), 10)


class Threads(unittest.TestCase):
    def test_pool(self):
        x, convolution = whole(1, 16, 64, 64), conv2d.Convolution(whole(32, 16, 3, 3), padding=1)
        expected = convolution(x)
        with conv2d.Pool(3) as pool:
            self.assertEqual(pool.threads, 3)
            np.testing.assert_array_equal(convolution(x, pool=pool), expected)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            convolution(x, pool=pool)

    def test_callers(self):
        """Callers with a pool and without share one convolution: a workspace must not get into two runs."""
        inputs = [RANDOM.standard_normal((1, 64, size, 14), np.float32) for size in (14, 15, 16)]
        convolution = conv2d.Convolution(RANDOM.standard_normal((64, 64, 3, 3), np.float32), padding=1, stride=2)
        expected = [convolution(x) for x in inputs]
        with conv2d.Pool(2) as two, conv2d.Pool(3) as three, ThreadPoolExecutor(8) as callers:
            pools = (None, two, None, three)

            def call(number):
                y = convolution(inputs[number % 3], pool=pools[number % 4])
                return np.array_equal(y, expected[number % 3])
            self.assertTrue(all(callers.map(call, range(600))))

    def test_many_shapes(self):
        """More shapes than plans are kept."""
        convolution = conv2d.Convolution(whole(2, 1, 1, 1))
        for width in (*range(1, 200), *range(1, 5)):
            self.assertEqual(convolution(whole(1, 1, 1, width)).shape, (1, 2, 1, width))


class Facts(unittest.TestCase):
    def test_plan(self):
        plan = conv2d.Convolution(whole(16, 16, 3, 3), padding=1).plan((2, 16, 32, 32))
        self.assertEqual(plan.out_shape, (2, 16, 32, 32))
        self.assertIn(plan.kernel, plan.explain())
        self.assertIn(plan.kernel, [kernel.name for kernel in conv2d.kernels()])
        self.assertTrue(0 < plan.predicted_efficiency <= 1)

    def test_every_kernel(self):
        """Forced: the same bits, or a refusal."""
        x, weights = (RANDOM.standard_normal(shape, np.float32) for shape in ((1, 16, 9, 9), (16, 16, 3, 3)))
        expected, ran = conv2d.convolve(x, weights, isa="scalar"), 0
        for kernel in conv2d.kernels():
            try:
                y = conv2d.convolve(x, weights, kernel=kernel.name)
            except conv2d.Error as error:
                self.assertEqual(error.status, "KERNEL_MISMATCH")
            else:
                np.testing.assert_array_equal(y, expected)
                ran += 1
        self.assertGreater(ran, 0)


if __name__ == "__main__":
    unittest.main()
