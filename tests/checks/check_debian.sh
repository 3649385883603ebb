#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages from what git would commit, has lintian look at them, installs and uses them, removes them.
# Wants root, debhelper, lintian, and what tests/checks/check_package.sh uses.
# usage: check_debian.sh SOURCE_DIR
set -eu
source=$1
root=$(mktemp -d)
trap 'dpkg --purge conv2d-tools libconv2d-dev libconv2d0 > /dev/null 2>&1; rm -rf "$root"' EXIT

mkdir "$root/libconv2d"
git -C "$source" ls-files -z --cached --others --exclude-standard | tar -C "$source" -c --null -T - |
    tar -C "$root/libconv2d" -x
(cd "$root/libconv2d" && DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" dpkg-buildpackage -us -uc) \
    > "$root/log" 2>&1 || { tail -n 50 "$root/log"; exit 1; }
lintian --allow-root --fail-on error,warning "$root"/*.changes
dpkg --install "$root"/*.deb
"$source/tests/checks/check_package.sh" "$source/tests/consumer"
echo "packages built, installed and used"
