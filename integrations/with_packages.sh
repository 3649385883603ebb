#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a Python script with what setup.sh got, or with the Python there is.
# usage: with_packages.sh PACKAGES SCRIPT [ARGUMENT...]
packages=$1
shift
python=$packages/python/bin/python
[ -x "$python" ] || python=python3
exec "$python" -B "$@"
