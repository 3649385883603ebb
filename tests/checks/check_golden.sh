#!/bin/sh
# SPDX-License-Identifier: MIT
# The generator writes the same bytes every time, and the tiles kept in tests/golden are what it writes today: a change
# of the emitters shows there to whoever reviews it.  With --update, writes them anew.
# usage: check_golden.sh CONVGEN GOLDEN_DIR [--update]
set -eu
case $1 in /*) convgen=$1 ;; *) convgen=$PWD/$1 ;; esac
golden=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/first" "$work/second"
"$convgen" "$work/first"
# Another directory, time zone and locale must not show.
(cd "$work/second" && TZ=Asia/Tokyo LC_ALL=C "$convgen" .)
diff -rq "$work/first" "$work/second" || { echo "two runs of convgen differ"; exit 1; }

compared=0
failed=0
for file in "$golden"/*.c; do
    [ -e "$file" ] || { echo "no golden files in $golden"; exit 1; }
    "$convgen" --kernel "$(basename "$file" .c)" > "$work/kernel.c"
    if [ "${3-}" = --update ]; then
        cp "$work/kernel.c" "$file"
    fi
    compared=$((compared + 1))
    diff -u "$file" "$work/kernel.c" || { echo "$file: convgen writes something else"; failed=$((failed + 1)); }
done
echo "$(find "$work/first" -type f | wc -l) files written twice, $compared golden files compared, $failed differ"
[ "$failed" -eq 0 ]
