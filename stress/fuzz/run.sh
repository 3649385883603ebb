#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes a target; what is new goes to FOUND, crashes to FOUND-crash-...
# usage: run.sh TARGET FOUND CORPUS [OPTION of libFuzzer]...
set -eu
target=$1 found=$2 corpus=$3
shift 3
mkdir -p "$found"
exec "$target" "$found" "$corpus" -artifact_prefix="$found-" "$@"
