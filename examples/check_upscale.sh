#!/bin/sh
# SPDX-License-Identifier: MIT
# Doubles the author's picture and compares with the author's result: a few bytes round the other way.
# usage: check_upscale.sh UPSCALE PACKAGES
set -eu
picture=$(mktemp)
trap 'rm -f "$picture"' EXIT
# A picture of 40000 x 40000 pixels, whose bytes libpng counts modulo 2^32.
{
    printf '\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\234\100\000\000\234\100'
    printf '\010\002\000\000\000\336\156\231\122\000\000\000\000\111\104\101\124\065\257\006\036'
} > "$picture"
if said=$("$1" weights "$picture" out.png 2>&1); then exit 1; fi
case $said in *'more than 2^27 pixels'*) ;; *) echo "a picture too large: $said"; exit 1 ;; esac
model=$2/upscalerjs/esrgan-slim
[ -d "$model" ] || { echo "skipped: no @upscalerjs/esrgan-slim; integrations/setup.sh BUILD_DIR gets it"; exit 77; }
said=$("$1" "$model/models/x2/group1-shard1of1.bin" "$model/assets/fixture.png" "$picture" \
    "$model/assets/samples/2x/result.png")
echo "$said"
echo "$said" | awk '$3 == 196608 && $1 >= 196600 && $NF <= 1 { found = 1 } END { exit !found }'
