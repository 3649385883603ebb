#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds for another kind of CPU, without a warning, and runs what needs no Criterion there: conv2d-torture, threads,
# the corpus of the fuzz targets, and convbench, whose hash of outputs must be that of every other CPU.
# usage: check_target.sh ROOT BUILD_FOLDER TRIPLET
set -euo pipefail
root=$1 build=$2 triplet=$3
cross=$root/cross/$triplet.ini

for tool in "$triplet-gcc" "$(sed -n "s/^exe_wrapper = \['\([^']*\)'.*/\1/p" "$cross")"; do
    if ! command -v "$tool" >/dev/null; then
        printf 'SKIPPED: %s is not installed\n' "$tool"
        exit 77
    fi
done
[ -e "$build/build.ninja" ] ||
    meson setup "$build" "$root" --cross-file "$cross" -Dtests=false -Dpeers=disabled -Dwerror=true
ninja -C "$build"
meson test -C "$build" --no-rebuild --suite stress --suite fuzz --timeout-multiplier 4 --print-errorlogs
