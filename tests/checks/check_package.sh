#!/bin/sh
# SPDX-License-Identifier: MIT
# Uses the packages that are installed on this system: convbench, and a program built with pkg-config, CMake and meson.
# usage: check_package.sh CONSUMER_DIR
set -eu
consumer=$1
scratch=${AUTOPKGTEST_TMP:-$(mktemp -d)}
[ -n "${AUTOPKGTEST_TMP:-}" ] || trap 'rm -rf "$scratch"' EXIT

convbench --time 0.05 --suite headline --sample 4 16x64x64 3x3
# shellcheck disable=SC2046
cc "$consumer/consumer.c" -o "$scratch/consumer" $(pkg-config --cflags --libs conv2d)
"$scratch/consumer"
cmake -G Ninja -S "$consumer" -B "$scratch/cmake"
cmake --build "$scratch/cmake"
"$scratch/cmake/with_conv2d"
"$scratch/cmake/with_conv2d_static"
meson setup "$scratch/meson" "$consumer"
meson test -C "$scratch/meson"
