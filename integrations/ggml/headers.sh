#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes ggml's headers from those of a package that has them with another prefix of its names.
# usage: headers.sh FOLDER_WITH_PREFIX OUTPUT_FOLDER
set -eu
mkdir -p "$2"
for file in ggml.h ggml-alloc.h ggml-backend.h; do
    sed 's/wsp_ggml/ggml/g; s/WSP_GGML/GGML/g' "$1/$file" > "$2/$file"
done
