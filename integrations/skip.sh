#!/bin/sh
# SPDX-License-Identifier: MIT
# Stands for a test that cannot run, and says why.
# usage: skip.sh REASON
echo "skipped: $1"
exit 77
