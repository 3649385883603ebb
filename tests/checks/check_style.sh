#!/bin/sh
# SPDX-License-Identifier: MIT
# Holds the line on format: licence lines, white space, lengths, clang-format, no paths of one machine, no // comments,
# no strays.
# usage: check_style.sh SOURCE_DIR
set -u
cd "$1" || exit 1

# The files of the project: what git would commit; without git (a release) all but build directories.
list_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard | while IFS= read -r file; do
            [ ! -f "$file" ] || printf '%s\n' "$file"
        done
    else
        find . \( -name 'build*' -o -name .git -o -name __pycache__ \) -type d -prune -o -type f -print | sed 's|^\./||'
    fi
}

# Lists are split at blanks on purpose from here on: no file of the project has one in its name.
# shellcheck disable=SC2086
split() {
    printf '%s\n' $1
}

files=$(list_files | sort)
case $files in *' '*) echo "a file name has a blank in it"; exit 1 ;; esac
c_files=$(split "$files" | grep -E '\.[ch]$')
sources=$(split "$files" | grep -E '\.(c|h|py|sh)$|(^|/)meson\.build$|(^|/)meson_options\.txt$|^\.ci/run$')
texts=$(split "$files" | grep -E '\.(c|h|py|sh|md|txt|wrap|yml)$|(^|/)meson\.build$|^\.ci/run$|^NEWS$|^LICENSE$')
[ -n "$c_files" ] || { echo "no C files under $1"; exit 1; }

check_licences() {
    for file in $sources; do
        case $file in tests/golden/*) continue ;; esac
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "$file: no SPDX line"
    done
}

# shellcheck disable=SC2086
check_space() {
    grep -nE "$(printf '\t')|[[:blank:]]+\$" $texts /dev/null | sed 's/$/: tab or trailing blank/'
    for file in $texts; do
        [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
    done
}

# In characters, whatever the locale: the bytes that continue a UTF-8 character do not count.
# shellcheck disable=SC2086
check_lengths() {
    LC_ALL=C awk '{ line = $0; gsub(/[\200-\277]/, "", line) }
        length(line) > 120 { print FILENAME ":" FNR ": " length(line) " characters" }
        FNR == 451 && FILENAME !~ /^tests\/golden\// { print FILENAME ": more than 450 lines" }' $sources
}

# Paths of the machine a file was written on mean nothing elsewhere.  "://" is an address, not a comment.
# shellcheck disable=SC2086
check_words() {
    grep -InE '(^|[^[:alnum:]_.})])/(work|tmp|home)(/|[^[:alnum:]_]|$)' $files /dev/null |
        sed 's/$/: path of one machine/'
    grep -nE '(^|[^:"])//' $c_files /dev/null | sed 's/$/: comment in C++ style/'
}

# What a shell left behind beside the project's own files (a list of measurements was committed once).
check_strays() {
    split "$files" | grep -v / |
        grep -vxE 'LICENSE|NEWS|README\.md|meson\.build|meson_options\.txt|\.clang-(format|tidy)|\.gitignore' |
        sed 's/$/: does not belong at the top level/'
}

# In one process: to start it takes ten times as long as to read a file.
# shellcheck disable=SC2046,SC2086
check_format() {
    clang-format --dry-run -Werror $(split "$c_files" | grep -v '^tests/golden/') 2>&1 |
        awk -F: '!/error: / { next }
            !/clang-formatted/ { print }
            /clang-formatted/ && !seen[$1]++ { print $1 ": not as clang-format would have it" }'
}

check_scripts() {
    for file in $(split "$files" | grep -E '\.sh$|^\.ci/run$'); do
        shellcheck "$file" >/dev/null || echo "$file: shellcheck complains"
    done
}

complaints=$(check_licences; check_space; check_lengths; check_words; check_strays)
if command -v clang-format >/dev/null; then
    complaints=$(printf '%s\n' "$complaints"; check_format)
else
    echo "clang-format not found: the formatting is not checked"
fi
if command -v shellcheck >/dev/null; then
    complaints=$(printf '%s\n' "$complaints"; check_scripts)
else
    echo "shellcheck not found: the scripts are not checked"
fi
count=$(printf '%s\n' "$complaints" | grep -c .)
printf '%s\n' "$complaints" | grep .
echo "$(split "$files" | grep -c .) files checked, $count complaints"
[ "$count" -eq 0 ]
