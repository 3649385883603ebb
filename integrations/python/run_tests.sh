#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of the Python package, or another script that uses it, on a library that is not installed.
# usage: run_tests.sh LIB.so PACKAGES [SCRIPT ARGUMENT...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export CONV2D_LIBRARY="$1" CONV2D_ONNX_CASES="$2/onnx_cases" PYTHONPATH="$here/src" PYTHONDONTWRITEBYTECODE=1
if nm -D "$1" | grep -qE ' U __(a|ub|t|m)san_'; then
    echo "built with sanitizers, which Python is not: skipped"
    exit 77
fi
shift 2
[ $# -gt 0 ] || set -- -m unittest discover -s "$here/tests" -v
# With PyTorch if that can be had.
for module in torch numpy; do
    for python in python3 /usr/bin/python3; do
        ! "$python" -c "import numpy, $module" 2> /dev/null || exec "$python" "$@"
    done
done
echo "no python3 with NumPy (Debian's python3-numpy): conv2d for Python is not tested"
exit 77
