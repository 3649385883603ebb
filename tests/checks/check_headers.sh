#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles each public header alone, pedantically, in every dialect that users write, with each compiler there is.
# usage: check_headers.sh INCLUDE_DIR
set -u
include=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
compiled=0
failed=0

# try_dialects SOURCE DIALECTS COMPILER...
try_dialects() {
    source=$1
    dialects=$2
    shift 2
    for compiler in "$@"; do
        if ! command -v "$compiler" >/dev/null; then
            echo "$compiler not found: not tried"
            continue
        fi
        for dialect in $dialects; do
            compiled=$((compiled + 1))
            "$compiler" -std="$dialect" -pedantic -Wall -Wextra -Werror -Wundef -I"$include" -c "$source" \
                -o "$work/alone.o" || { echo "$compiler -std=$dialect: failed"; failed=$((failed + 1)); }
        done
    done
}

for header in "$include"/*.h; do
    printf '#include "%s"\n' "$(basename "$header")" > "$work/alone.c"
    cp "$work/alone.c" "$work/alone.cc"
    try_dialects "$work/alone.c" 'c99 c11 c17 c2x' gcc clang
    try_dialects "$work/alone.cc" 'c++11 c++17 c++20' g++ clang++
done
[ "$compiled" -gt 0 ] || { echo "no compiler found"; exit 77; }
echo "$compiled dialects tried, $failed failed"
[ "$failed" -eq 0 ]
