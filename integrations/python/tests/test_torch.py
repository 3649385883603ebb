# SPDX-License-Identifier: MIT
"""conv2d.torch: real networks run through the library, and what is not claimed is PyTorch's as before."""

import unittest

try:
    import conv2d.torch
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    if error.name != "torch":
        raise
    torch = None
try:
    import torchvision
except ImportError:
    torchvision = None

NETWORKS = ("resnet18", "resnet50", "resnext50_32x4d", "mobilenet_v2", "squeezenet1_1")


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, (3, 5), (2, 1), 2, (1, 2), 4),
                         nn.Conv2d(32, 32, 3, groups=32, bias=False), nn.Conv2d(32, 8, 1))


def images(*shape):
    return torch.randn(shape or (2, 3, 33, 31), generator=torch.Generator().manual_seed(2))


@unittest.skipIf(torch is None, "PyTorch is not there (python3-torch): its routing is not tested")
class Routing(unittest.TestCase):
    def setUp(self):
        conv2d.torch.enable()
        conv2d.torch.reset()
        self.addCleanup(conv2d.torch.disable)

    def expect(self, claimed, **left):
        self.assertEqual(conv2d.torch.report(), {"claimed": claimed, "left": left})

    def near(self, y, call):
        """What PyTorch itself makes of it; differential tests have the sharp bound."""
        conv2d.torch.disable()
        expected = call()
        self.assertEqual(y.shape, expected.shape)
        self.assertEqual(y.stride(), expected.stride())
        self.assertLess(float((y - expected).abs().max()), 1e-5 * float(expected.abs().max()))

    def test_network(self):
        model, x = network(), images()
        for context in (torch.no_grad, torch.inference_mode):
            conv2d.torch.enable()
            with context():
                y = model(x)
                self.near(y, lambda: model(x))
        self.expect(8)

    def test_channels_last(self):
        model, x = network(), images().contiguous(memory_format=torch.channels_last)
        with torch.no_grad():
            self.near(model(x), lambda: model(x))
        self.expect(4)

    def test_one_dimension(self):
        layer, x = nn.Conv1d(6, 8, 5, 2, 3, 2, 2), images(2, 6, 40)
        with torch.no_grad():
            layer(x)
            self.near(layer(x), lambda: layer(x))
        self.expect(2)
        self.assertEqual(len(conv2d.torch._packed), 0)

    def test_views(self):
        layer, x = network()[0], images(2, 6, 40, 40)[:, ::2, 3:-3].transpose(2, 3)
        with torch.no_grad():
            self.near(layer(x), lambda: layer(x))
        self.expect(1)

    def test_training(self):
        model, x = network(), images()
        model(x).square().mean().backward()
        found = [parameter.grad for parameter in model.parameters()]
        self.expect(0, gradient=4)
        conv2d.torch.disable()
        model.zero_grad()
        model(x).square().mean().backward()
        for ours, parameter in zip(found, model.parameters()):
            self.assertTrue(torch.equal(ours, parameter.grad))

    def test_input_gradient(self):
        model, x = network().requires_grad_(False), images().requires_grad_()
        model(x).sum().backward()
        self.assertGreater(float(x.grad.abs().sum()), 0)
        self.expect(0, gradient=4)

    def test_left(self):
        x = images()
        with torch.no_grad():
            functional.conv_transpose2d(x, torch.ones(3, 4, 3, 3))
            functional.conv2d(x.double(), torch.ones(4, 3, 3, 3, dtype=torch.double))
            functional.conv3d(x[None], torch.ones(4, 2, 1, 1, 1))
            functional.conv2d(x[:0], torch.ones(4, 3, 3, 3))
            with self.assertRaisesRegex(RuntimeError, "channels"):
                functional.conv2d(x, torch.ones(4, 5, 3, 3))
            with self.assertRaisesRegex(RuntimeError, "[Kk]ernel size"):
                functional.conv2d(x, torch.ones(4, 3, 99, 3))
        report = conv2d.torch.report()
        self.assertEqual(report["claimed"], 0)
        self.assertEqual(sum(report["left"].values()), 6)
        self.assertEqual({key: count for key, count in report["left"].items() if not key.startswith("refused")},
                         {"transposed": 1, "float64": 1, "3-d": 1, "empty": 1})

    def test_changed_weights(self):
        model, x = network(), images()
        with torch.no_grad():
            before = model(x)
            model[0].weight.mul_(2)
            model[4].bias.add_(1)
            model[2].load_state_dict(nn.Conv2d(16, 32, (3, 5), groups=4).state_dict())
            y = model(x)
            self.assertFalse(torch.equal(before, y))
            self.near(y, lambda: model(x))

    def test_weights_behind_the_back(self):
        layer, x = network()[0], images()
        with torch.no_grad():
            layer(x)
            layer.weight.data.mul_(3)
            conv2d.torch.forget()
            self.near(layer(x), lambda: layer(x))

    def test_weights_made_in_inference_mode(self):
        """Their changes are not counted: packed anew in every call."""
        with torch.inference_mode():
            layer, x = network()[0], images()
            layer(x)
            layer.weight.mul_(2)
            self.near(layer(x), lambda: layer(x))

    def test_memory_of_dead_weights(self):
        with torch.no_grad():
            model = network()
            model(images())
            self.assertEqual(len(conv2d.torch._packed), 4)
            del model
            self.assertEqual(len(conv2d.torch._packed), 0)

    def test_threads(self):
        model, x = network(), images(1, 3, 200, 200)
        with torch.no_grad():
            one = model(x)
            conv2d.torch.enable(threads=3)
            self.assertTrue(torch.equal(model(x), one))
        self.expect(8)

    def test_disable(self):
        conv2d.torch.disable()
        with torch.no_grad():
            network()(images())
        self.expect(0)
        conv2d.torch.disable()

    @unittest.skipIf(torchvision is None, "torchvision is not there (python3-torchvision): its networks are not run")
    def test_real_networks(self):
        """All convolutions of each are claimed, and the result is PyTorch's as near as the bound of its layers allows:
        the sharp one is in test_differential.py, here 1e-4 of the largest output."""
        x = images(1, 3, 224, 224)
        for name in NETWORKS:
            with self.subTest(name), torch.inference_mode():
                torch.manual_seed(3)
                model = getattr(torchvision.models, name)().eval()
                conv2d.torch.enable()
                conv2d.torch.reset()
                y = model(x)
                self.expect(sum(isinstance(module, nn.Conv2d) for module in model.modules()))
                conv2d.torch.disable()
                expected = model(x)
                self.assertLess(float((y - expected).abs().max()), 1e-4 * float(expected.abs().max()))


if __name__ == "__main__":
    unittest.main()
