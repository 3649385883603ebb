#!/bin/sh
# SPDX-License-Identifier: MIT
# All 26 Conv cases with one or two dimensions of Debian's libonnx-testdata, through a program.
# usage: check_conformance.sh PROGRAM [ARGUMENT...]
data=${LIBONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
[ -d "$data" ] || { echo "skipped: no $data, which is in Debian's libonnx-testdata"; exit 77; }
said=$("$@" "$data"/*/test_*) || { status=$?; echo "$said"; exit "$status"; }
echo "$said"
echo "$said" | grep -q '^26 cases good, 0 failed'
