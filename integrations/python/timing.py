# SPDX-License-Identifier: MIT
"""Times networks of torchvision with PyTorch's convolutions and with ours, in turns, and what they do besides.

usage: timing.py [--threads N] [--rounds N] [NETWORK...]"""

import argparse
import statistics
from time import perf_counter

import conv2d.torch
import torch
import torchvision

NETWORKS = ("resnet18", "resnet50", "resnext50_32x4d", "mobilenet_v2", "vgg16")


def seconds(call):
    start = perf_counter()
    call()
    return perf_counter() - start


def time_network(name, threads, rounds):
    """Medians: all of the network with their convolutions, with ours; the convolutions of each alone."""
    torch.manual_seed(1)
    model, x = getattr(torchvision.models, name)().eval(), torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        return take_turns(model, x, threads, rounds)


def take_turns(model, x, threads, rounds):
    layers = []  # with what each of them gets
    hooks = [module.register_forward_hook(lambda layer, inputs, _: layers.append((layer, inputs[0].clone())))
             for module in model.modules() if isinstance(module, torch.nn.Conv2d)]
    model(x)
    for hook in hooks:
        hook.remove()

    def run_layers():
        for layer, given in layers:
            layer(given)

    whole, parts = ([], []), ([], [])
    for turn in range(2 * rounds + 2):
        ours = turn % 2
        if ours:
            conv2d.torch.enable(threads)
        run_layers()
        for times, call in (whole, lambda: model(x)), (parts, run_layers):
            call()
            times[ours].append(seconds(call))
        conv2d.torch.disable()
    return [statistics.median(times[1:]) for times in (*whole, *parts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("network", nargs="*", default=NETWORKS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}, {arguments.threads} threads; ms, medians of {arguments.rounds}")
    print(f"{'network':18}{'theirs':>9}{'ours':>9}{'times':>7}{'their conv':>12}{'our conv':>10}{'times':>7}")
    for name in arguments.network:
        theirs, ours, their_part, our_part = time_network(name, arguments.threads, arguments.rounds)
        print(f"{name:18}{theirs * 1e3:9.1f}{ours * 1e3:9.1f}{theirs / ours:7.2f}{their_part * 1e3:12.1f}"
              f"{our_part * 1e3:10.1f}{their_part / our_part:7.2f}", flush=True)


if __name__ == "__main__":
    main()
