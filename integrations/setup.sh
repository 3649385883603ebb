#!/bin/sh
# SPDX-License-Identifier: MIT
# Gets what the tests and examples of the integrations use, by pip and npm, in the versions and with the checksums that
# are written beside this script: a Python environment BUILD_DIR/packages/python, the conformance cases of its onnx in
# BUILD_DIR/packages/onnx_cases, and BUILD_DIR/packages/NAME for each package of npm.  What cannot be had is named and
# left out; its tests then say that they are skipped.
# usage: setup.sh BUILD_DIR
set -eu
lists=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/packages"
cd "$1/packages"
missing=0

complain() {
    echo "setup: $*"
    missing=$((missing + 1))
}

get_python() {
    ! cmp -s "$lists/requirements.txt" python/requirements.txt || return 0
    python3 -m venv python &&
        python/bin/pip install --quiet --require-hashes --only-binary :all: -r "$lists/requirements.txt" &&
        rm -rf onnx_cases && cp "$lists/requirements.txt" python/
}

get_cases() {
    [ ! -d onnx_cases ] || return 0
    rm -rf onnx_cases.part
    python/bin/python -W ignore "$lists/onnx/write_cases.py" onnx_cases.part && mv onnx_cases.part onnx_cases
}

# get_npm NAME VERSION SHA256
get_npm() {
    folder=${1#@}
    [ "$(cat "$folder/sha256" 2>/dev/null)" != "$3" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    archive=$(cd "$folder" && npm pack --silent --ignore-scripts "$1@$2" | tail -n 1) || return 1
    echo "$3  $folder/$archive" | sha256sum --check --status || {
        rm -rf "$folder"
        echo "setup: the checksum of $1 $2 is not the one expected"
        return 1
    }
    tar -xzf "$folder/$archive" -C "$folder" --strip-components 1
    rm "$folder/$archive"
    echo "$3" >"$folder/sha256"
}

get_python || complain "no Python environment with the packages of requirements.txt"
get_cases || complain "no conformance cases of the package onnx"
while read -r name version checksum; do
    case $name in '#'* | '') continue ;; esac
    if ! command -v npm >/dev/null; then
        complain "no npm, so no $name"
    else
        get_npm "$name" "$version" "$checksum" || complain "cannot get $name $version"
    fi
done <"$lists/npm.txt"
[ "$missing" -gt 0 ] || echo "setup: all packages are in $(pwd)"
