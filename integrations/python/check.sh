#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the archive of the sources, a wheel from that alone, installs the wheel where nothing else of the project is,
# and runs the tests with it.  Wants Debian's python3-venv, python3-numpy, and for all of the tests python3-torch,
# python3-torchvision and mypy; what is missing is said.
# usage: check.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

/usr/bin/python3 -m venv --system-site-packages "$root/venv"
python=$root/venv/bin/python
"$python" -m pip install --quiet --require-hashes -r "$here/requirements.txt"
# meson and ninja of the environment.
PATH=$root/venv/bin:$PATH
unset CONV2D_LIBRARY PYTHONPATH
"$python" -m build --no-isolation --outdir "$root/wheel" "$here" > "$root/log" 2>&1 || {
    tail -n 50 "$root/log"
    exit 1
}
"$python" -m pip install --quiet --no-deps "$root"/wheel/*.whl

cd "$root"
"$python" -c 'import conv2d; print(conv2d.__version__, conv2d._library.library._name)' | tee loaded
grep -q "$root/venv" loaded || { echo "not the library of the wheel"; exit 1; }
"$python" -m unittest discover --start-directory "$here/tests" --verbose
if "$python" -c 'import mypy' 2> /dev/null; then
    (cd "$here" && "$python" -m mypy --cache-dir "$root/mypy")
else
    echo "mypy not found: the types are not checked"
fi
