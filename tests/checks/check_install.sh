#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty directory, then builds and runs a program there as a user would, against the shared and against
# the static library: with a compiler alone, with pkg-config, with CMake.
# usage: check_install.sh BUILD_DIR SOURCE_DIR
set -eu
build=$1
source=$2
compiler=${CC:-cc}
consumer=$source/tests/consumer
for tool in meson pkg-config readelf; do
    command -v "$tool" >/dev/null || { echo "$tool not found: the installation is not checked"; exit 77; }
done
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() {
    echo "$1"
    exit 1
}

skip_if_sanitized() {
    nm "$@" | grep -qE ' U __(a|ub|t|m)san_' || return 0
    echo "built with sanitizers, which the consumer is not: skipped"
    exit 77
}

# run PROGRAM KIND: it must run, and must need the shared library only if that is what it was linked with.
run() {
    needs=conv2d_static
    ! readelf -d "$1" | grep -q 'NEEDED.*libconv2d' || needs=conv2d
    [ "$needs" = "$2" ] || fail "$1 was linked with $needs, not with $2"
    LD_LIBRARY_PATH=$libraries "$1" || fail "$1 fails"
    tried=$((tried + 1))
}

# shellcheck disable=SC2086
with_compiler() {
    $compiler -I"$headers" "$consumer/consumer.c" -o "$root/cc_$1" -L"$libraries" $2
    run "$root/cc_$1" "$1"
}

# shellcheck disable=SC2046,SC2086
with_pkg_config() {
    if [ "$1" = conv2d ]; then
        $compiler "$consumer/consumer.c" -o "$root/pc_$1" $(pkg-config --cflags --libs conv2d)
    else
        # The name of the file, or the linker would take the shared library.
        $compiler -DCONV2D_STATIC "$consumer/consumer.c" -o "$root/pc_$1" \
            $(pkg-config --static --cflags --libs conv2d | sed 's/-lconv2d/-l:libconv2d.a/')
    fi
    run "$root/pc_$1" "$1"
}

configure() {
    cmake -G Ninja -S "$consumer" -B "$root/cmake" -DCMAKE_C_COMPILER="${compiler##* }" "$@" \
        -DCMAKE_PREFIX_PATH="$root/moved" -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON \
        -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF > "$root/log" 2>&1
}

with_cmake() {
    if ! command -v cmake >/dev/null; then
        echo "cmake not found: the CMake package is not checked"
        return
    fi
    # The package must be good wherever it is put, the libraries at other depths than usual too.
    mv "$1" "$root/moved"
    libraries=$root/moved${libraries#"$1"}
    for wish in 99 0.99 "$version.1"; do
        ! configure -DWANTED="$wish" || fail "CMake takes $version for $wish"
    done
    if ! configure -DWANTED="$version" || ! cmake --build "$root/cmake" >> "$root/log" 2>&1; then
        cat "$root/log"
        fail "CMake does not find it, or cannot build with it"
    fi
    for kind in $kinds; do
        run "$root/cmake/with_$kind" "$kind"
    done
}

meson install -C "$build" --no-rebuild --destdir "$root" > "$root/log" 2>&1 || { cat "$root/log"; exit 1; }
description=$(find "$root" -name conv2d.pc)
[ -n "$description" ] || fail "conv2d.pc is not installed"
# Every path that pkg-config prints is put under the root.
PKG_CONFIG_LIBDIR=$(dirname "$description")
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR="$root"
under_root() {
    path=$(pkg-config --variable="$1" conv2d)
    case $path in "$root"*) ;; *) path=$root$path ;; esac
    echo "$path"
}
libraries=$(under_root libdir)
headers=$(under_root includedir)
version=$(sed -nE 's/^#define CONV2D_VERSION "(.*)"/\1/p' "$source/include/conv2d.h")
[ "$(pkg-config --modversion conv2d)" = "$version" ] || fail "conv2d.pc has another version than conv2d.h"

tried=0
kinds=
if [ -e "$libraries/libconv2d.so" ]; then
    skip_if_sanitized -D "$libraries/libconv2d.so"
    soname=$(readelf -d "$libraries/libconv2d.so" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')
    [ "$soname" = "libconv2d.so.${version%%.*}" ] || fail "the soname is '$soname'"
    [ -e "$libraries/$soname" ] || fail "$soname is not installed"
    with_compiler conv2d -lconv2d
    with_pkg_config conv2d
    kinds=conv2d
fi
if [ -e "$libraries/libconv2d.a" ]; then
    skip_if_sanitized "$libraries/libconv2d.a"
    with_compiler conv2d_static "-l:libconv2d.a -pthread -lm"
    with_pkg_config conv2d_static
    kinds="$kinds conv2d_static"
fi
[ -n "$kinds" ] || fail "no library is installed"
with_cmake "$(under_root prefix)"
echo "$tried programs built with the installed version $version, and run"
