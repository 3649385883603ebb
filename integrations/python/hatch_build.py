# SPDX-License-Identifier: MIT
"""Builds the C library for the wheel, with meson; or takes the one that CONV2D_LIBRARY names."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

HERE = Path(__file__).resolve().parent


def c_sources():
    """In the archive of the sources they are below, in a checkout above."""
    below = HERE / "libconv2d"
    return below if below.exists() else HERE.parent.parent


def library_version():
    header = (c_sources() / "include" / "conv2d.h").read_text()
    return re.search(r'^#define CONV2D_VERSION "(.*)"$', header, re.MULTILINE).group(1)


def build_library(target):
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(["meson", "setup", build, c_sources(), "--buildtype=release", "-Dtests=false",
                        "-Dbenchmarks=false", "-Dintegrations=false"], check=True)
        subprocess.run(["meson", "compile", "-C", build, "conv2d:shared_library"], check=True)
        built = Path(build) / "src" / f"libconv2d.so.{library_version()}"
        subprocess.run(["strip", "--strip-unneeded", "-o", target, built], check=True)


class BuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if self.target_name != "wheel":
            return
        self.scratch = Path(tempfile.mkdtemp())
        library = self.scratch / "libconv2d.so"
        given = os.environ.get("CONV2D_LIBRARY")
        if given:
            shutil.copy(given, library)
        else:
            build_library(library)
        build_data["force_include"][str(library)] = "conv2d/libconv2d.so"
        # No Python is compiled.  The library needs libc and libm alone, no newer than this machine's.
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + next(tag for tag in platform_tags() if tag.startswith("manylinux_"))

    def finalize(self, version, build_data, artifact_path):
        if self.target_name == "wheel":
            shutil.rmtree(self.scratch)
