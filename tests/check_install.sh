#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty directory, then builds and runs a program there as a user would: with pkg-config, against the
# shared and against the static library.
# usage: check_install.sh BUILD_DIR SOURCE_DIR
set -eu
build=$1
source=$2
compiler=${CC:-cc}
for tool in meson pkg-config readelf; do
    command -v "$tool" >/dev/null || { echo "$tool not found: the installation is not checked"; exit 77; }
done
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

meson install -C "$build" --no-rebuild --destdir "$root" > "$root/log" 2>&1 || { cat "$root/log"; exit 1; }
description=$(find "$root" -name conv2d.pc)
[ -n "$description" ] || { echo "conv2d.pc is not installed"; exit 1; }
# Every path that pkg-config prints is put under the root.
PKG_CONFIG_LIBDIR=$(dirname "$description")
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR="$root"
libraries=$(pkg-config --variable=libdir conv2d)
case $libraries in "$root"*) ;; *) libraries=$root$libraries ;; esac
version=$(sed -nE 's/^#define CONV2D_VERSION "(.*)"/\1/p' "$source/include/conv2d.h")

fail() {
    echo "$1"
    exit 1
}

skip_if_sanitized() {
    nm "$@" | grep -qE ' U __(a|ub|t|m)san_' || return 0
    echo "built with sanitizers, which the consumer is not: skipped"
    exit 77
}

cat > "$root/consumer.c" <<'END'
#include <conv2d.h>
#include <string.h>
int main(void)
{
    const float in[6] = {1, 2, 3, 4, 5, 6}, weights[2] = {10, 1};
    const conv2d_desc desc = {.in_channels = 1, .in_height = 2, .in_width = 3, .out_channels = 1,
                              .kernel_height = 1, .kernel_width = 2};
    float out[4];
    const int good = conv2d_f32(&desc, in, weights, out) == CONV2D_OK && out[0] == 12 && out[3] == 56;
    return good && strcmp(conv2d_version(), CONV2D_VERSION) == 0 ? 0 : 1;
}
END

[ "$(pkg-config --modversion conv2d)" = "$version" ] || fail "conv2d.pc has another version than conv2d.h"
tried=0
if [ -e "$libraries/libconv2d.so" ]; then
    skip_if_sanitized -D "$libraries/libconv2d.so"
    soname=$(readelf -d "$libraries/libconv2d.so" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')
    [ "$soname" = "libconv2d.so.${version%%.*}" ] || fail "the soname is '$soname'"
    [ -e "$libraries/$soname" ] || fail "$soname is not installed"
    # shellcheck disable=SC2046,SC2086
    $compiler "$root/consumer.c" -o "$root/shared" $(pkg-config --cflags --libs conv2d)
    LD_LIBRARY_PATH=$libraries "$root/shared" || fail "the program with the shared library fails"
    tried=$((tried + 1))
fi
if [ -e "$libraries/libconv2d.a" ]; then
    skip_if_sanitized "$libraries/libconv2d.a"
    # The name of the file, or the linker would take the shared library.
    # shellcheck disable=SC2046,SC2086
    $compiler -DCONV2D_STATIC "$root/consumer.c" -o "$root/static" \
        $(pkg-config --static --cflags --libs conv2d | sed 's/-lconv2d/-l:libconv2d.a/')
    readelf -d "$root/static" | grep -q libconv2d && fail "the static program needs the shared library"
    "$root/static" || fail "the program with the static library fails"
    tried=$((tried + 1))
fi
[ "$tried" -gt 0 ] || fail "no library is installed"
echo "$tried libraries installed and used, version $version"
