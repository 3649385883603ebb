#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The programs of an x86-64 build on CPUs that QEMU emulates.  An instruction that such a CPU lacks ends a program with
# SIGILL; the outputs must have the bits of every other CPU.
# usage: check_cpus.sh PRELOAD CONVBENCH TORTURE HASH PROBLEMS TEST...
#   PRELOAD   the library that has what an emulated program starts emulated, too
#   HASH      of the outputs of PROBLEMS, a file for convbench
#   TEST      programs of Criterion
set -euo pipefail
preload=$1 convbench=$2 torture=$3 hash=$4 problems=$5
shift 5

# CPU for QEMU | the instruction set that the library must find | what that is
cpus='Nehalem|scalar|no AVX
SandyBridge|scalar|AVX only
Haswell,-fma|scalar|AVX2, but no FMA
Opteron_G5|scalar|FMA, but no AVX2
Haswell,-xsave|scalar|AVX2 and FMA, but the system has not switched XSAVE on
Haswell,-avx|scalar|AVX2 and FMA, but XCR0 has no AVX state
Haswell|avx2|AVX2 and FMA
EPYC-Rome|avx2|the same by another vendor'
# With all tests; the others differ in what is detected alone.
thorough=' Nehalem Haswell '

if ! EMULATOR=$(command -v qemu-x86_64); then
    echo 'SKIPPED: qemu-x86_64 (the package qemu-user) is not installed'
    exit 77
fi
export EMULATOR CONV2D_GUARD_PAGES=readable
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# emulated COMMAND...: on the CPU at hand; shows what it said only if it fails.
emulated() {
    LC_ALL=C "$EMULATOR" -cpu "$EMULATED_CPU" -E LD_PRELOAD="$preload" "$@" >"$log" 2>&1 && return
    local code=$?
    printf '%s: FAILED (exit code %d): %s\n' "$EMULATED_CPU" "$code" "$*"
    grep -v "warning: TCG doesn't support" "$log" | tail -n 40
    exit 1
}

while IFS='|' read -r EMULATED_CPU isa what; do
    export EMULATED_CPU
    emulated "$convbench" --verify 4x5x5 1x1
    if ! grep -q ", $isa; libconv2d" "$log"; then
        printf '%s (%s): the library should find %s\n' "$EMULATED_CPU" "$what" "$isa"
        cat "$log"
        exit 1
    fi
    emulated "$convbench" --hash="$hash" --file "$problems" --isa "any,$isa" --layout nchw,nhwc --threads 1,3
    emulated "$convbench" --time 0.001 4x5x5 1x1
    emulated "$torture" --count 500
    tests=0
    if [[ $thorough == *" $EMULATED_CPU "* ]]; then
        for program; do
            emulated "$program" --jobs 1
            passed=$(sed -n 's/.*Passing: *\([0-9]*\).*/\1/p' "$log")
            tests=$((tests + passed))
        done
    fi
    printf '%s (%s): %s; the hash is %s, 500 descriptors, %d tests\n' "$EMULATED_CPU" "$what" "$isa" "$hash" "$tests"
done <<<"$cpus"
