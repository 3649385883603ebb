#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks what the built library asks of a system and shows to it: libc alone, the names of the headers alone, no more
# memory than it says, nothing executable that need not be.
# usage: check_libc.sh LIB.so LIB.a
set -u
here=$(dirname "$0")
shared=$1
static=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
max_size=3000000

for tool in nm readelf strip; do
    command -v "$tool" >/dev/null || { echo "$tool not found: the library is not checked"; exit 77; }
done
if nm "$static" 2>/dev/null | grep -qE ' U __(asan|ubsan|tsan|msan)_'; then
    echo "built with sanitizers, which need a run-time library: not checked"
    exit 77
fi

# Each line of standard input is a name, printed with a complaint.
complain() {
    sed "s|\$|: $1|"
}

# Names without versions, and fortified or C99/C23 variants as the plain function.
plain_names() {
    sed -E 's/@.*//; s/^__(.*)_chk$/\1/; s/^__isoc(99|23)_//' | sort -u
}

names_of() {
    nm "$@" 2>/dev/null | sed -nE 's/^[0-9a-f ]* [A-Za-z] ([^ ]+)$/\1/p'
}

check_dependencies() {
    readelf -d "$shared" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' |
        grep -vxE 'lib(c|m|pthread)\.so\.[0-9]+|ld-linux.*' | complain 'a library that is not libc'
    sed -E '/^(#|$)/d' "$here/libc_symbols.txt" | sort -u > "$work/allowed"
    names_of -g --defined-only "$static" | sort -u > "$work/defined"
    { names_of -D --undefined-only "$shared"; names_of -u "$static"; } | plain_names |
        comm -23 - "$work/defined" | comm -23 - "$work/allowed" | complain 'not in tests/checks/libc_symbols.txt'
}

# Memory comes from the caller, but for the one-call function, tuning and the pool.
check_allocations() {
    nm -u "$static" | awk '/^[^ ].*:$/ { member = $1 }
        / (malloc|calloc|realloc|free|aligned_alloc|posix_memalign|mmap)$/ { print member, $NF }' |
        grep -vE '(^|[_/(])(conv2d|pool|tune)\.c\.o' | complain 'allocates'
}

check_names() {
    sed -nE 's/^CONV2D_API .*[ *](conv2d_[a-z0-9_]+)\(.*/\1/p' "$here"/../../include/*.h | sort > "$work/declared"
    # The version of the symbols is a name as well.
    names_of -D --defined-only "$shared" | sed -E 's/@.*//' | grep -vE '^CONV2D_[0-9.]+$' | sort > "$work/exported"
    comm -23 "$work/exported" "$work/declared" | complain 'exported, but not declared in a header'
    comm -13 "$work/exported" "$work/declared" | complain 'declared, but not exported'
    [ -s "$work/declared" ] || echo "no declarations found"
    # Hidden names are still global to whoever links the static library.
    grep -vE '^conv2d_' "$work/defined" | complain 'a global name of the static library without conv2d_'
}

check_image() {
    strip -o "$work/stripped" "$shared"
    size=$(wc -c < "$work/stripped")
    [ "$size" -lt "$max_size" ] || echo "$shared: $size bytes when stripped, the limit is $max_size"
    readelf -lW "$shared" | grep GNU_STACK | grep -q 'RW ' || echo "$shared: the stack is executable"
    readelf -d "$shared" | grep -q TEXTREL && echo "$shared: text relocations"
    readelf -lW "$shared" | grep -q 'RWE' && echo "$shared: a segment is writable and executable"
    readelf -lW "$shared" | grep -q GNU_RELRO || echo "$shared: relocated data stays writable (no RELRO)"
    readelf -d "$shared" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || echo "$shared: addresses are bound late (no full RELRO)"
}

complaints=$(check_dependencies; check_allocations; check_names; check_image)
count=$(printf '%s\n' "$complaints" | grep -c .)
printf '%s\n' "$complaints" | grep .
echo "$(wc -l < "$work/exported") exported names checked, $(wc -c < "$work/stripped") bytes stripped, $count complaints"
[ "$count" -eq 0 ]
