#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the library and convbench once more, elsewhere, by another user's locale, time zone and file order, and without
# a compiler cache: the same bytes must come out as in the build directory.
# usage: check_reproducible.sh BUILD_DIR SOURCE_DIR [OPTION of meson setup]...
set -eu
build=$1 source=$2
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
other=$work/a/directory/with/a/longer/name
mkdir -p "$other"
(cd "$source" && tar -cf - --sort=name --exclude='./build*' --exclude=./.git --exclude=__pycache__ .) |
    tar -xf - -C "$other"
export CCACHE_DISABLE=1 TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
umask 027
step() {
    "$@" > "$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
}
step meson setup "$other/another-build" "$other" -Dtests=false -Dpeers=disabled -Dintegrations=false "$@"
libraries=$(cd "$build" && find src -maxdepth 1 -type f -name 'libconv2d.*[a0-9]')
# Their names have no blanks.
# shellcheck disable=SC2086
step ninja -C "$other/another-build" $libraries benchmarks/convbench
failed=0
for file in $libraries benchmarks/convbench; do
    if cmp "$build/$file" "$other/another-build/$file"; then
        echo "$file: the same $(wc -c < "$build/$file") bytes"
    else
        failed=1
    fi
done
exit "$failed"
