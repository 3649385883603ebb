#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs a program in a meson project that has this one as a subproject.
# usage: check_subproject.sh SOURCE_DIR
set -eu
source=$1
command -v meson >/dev/null || { echo "meson not found: the subproject is not checked"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cp "$source"/tests/consumer/consumer.c "$source"/tests/consumer/meson.build "$root"
mkdir "$root/subprojects"
ln -s "$source" "$root/subprojects/libconv2d"
# Unoptimised: what is asked here is whether it builds and links.
step() {
    "$@" > "$root/log" 2>&1 || { cat "$root/log"; exit 1; }
}
step meson setup "$root/build" "$root" --force-fallback-for=conv2d -Doptimization=0
step meson test -C "$root/build"
grep -E '^(Ok|Fail):' "$root/log"
grep -q 'Ok: *1' "$root/log"
[ ! -e "$root/build/subprojects/libconv2d/tests" ] || { echo "a subproject builds its tests too"; exit 1; }
