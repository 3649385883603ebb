#!/bin/sh
# SPDX-License-Identifier: MIT
# All 26 Conv cases with one or two dimensions of ONNX's conformance data, through a program.
# usage: check_conformance.sh FOLDER PACKAGE PROGRAM [ARGUMENT...]
# FOLDER has folders of cases, and comes from PACKAGE.
data=$1
[ -d "$data" ] || { echo "skipped: no $data, which $2 has"; exit 77; }
shift 2
said=$("$@" "$data"/*/test_*) || { status=$?; echo "$said"; exit "$status"; }
echo "$said"
echo "$said" | grep -q '^26 cases good, 0 failed'
