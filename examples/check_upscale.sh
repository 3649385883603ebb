#!/bin/sh
# SPDX-License-Identifier: MIT
# Doubles the author's picture and compares with the author's result: a few bytes round the other way.
# usage: check_upscale.sh UPSCALE PACKAGES
set -eu
model=$2/upscalerjs/esrgan-slim
[ -d "$model" ] || { echo "skipped: no @upscalerjs/esrgan-slim; integrations/setup.sh BUILD_DIR gets it"; exit 77; }
picture=$(mktemp)
trap 'rm -f "$picture"' EXIT
said=$("$1" "$model/models/x2/group1-shard1of1.bin" "$model/assets/fixture.png" "$picture" \
    "$model/assets/samples/2x/result.png")
echo "$said"
echo "$said" | awk '$3 == 196608 && $1 >= 196600 && $NF <= 1 { found = 1 } END { exit !found }'
