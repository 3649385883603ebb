#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what programs are compiled and linked against with the record in tests/abi: the version and the prototype
of each exported function, and sizes, offsets and values of everything public.  With --update, records it anew.
usage: check_abi.py LIB.so INCLUDE_DIR RECORD_DIR [--update]"""
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def declarations(include):
    """The public headers as one text, without comments and the preprocessor's lines."""
    text = '\n'.join(header.read_text() for header in sorted(include.glob('*.h')))
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    return re.sub(r'^[ \t]*#(.*\\\n)*.*$', '', text, flags=re.M)


def prototypes(text):
    """Each function's declaration on one line, by its name."""
    found = (' '.join(match.split()) for match in re.findall(r'\bCONV2D_API\b([^;]*);', text))
    return {re.search(r'(\w+)\(', prototype)[1]: prototype for prototype in found}


def exported(library):
    """The names that the dynamic linker sees, each with its version."""
    listing = subprocess.run(['readelf', '--dyn-syms', '--wide', library], capture_output=True, text=True, check=True)
    fields = (line.split() for line in listing.stdout.splitlines() if re.match(r' *\d+:', line))
    symbols = (f[7] for f in fields if len(f) > 7 and f[6] not in ('UND', 'ABS'))
    return {name.partition('@')[0]: name for name in symbols}


def function_lines(text, library):
    """What stands in the headers and in the library; a name that only one of them has shows as such."""
    declared, symbols = prototypes(text), exported(library)
    return [f"{symbols.get(name, name + ' (not exported)')}: {declared.get(name, '(not declared)')}"
            for name in sorted({*declared, *symbols})]


def members(body):
    """The names that the declarations of a struct's body introduce."""
    for declaration in filter(str.strip, body.split(';')):
        pointer = re.search(r'\(\s*\*\s*(\w+)\s*\)', declaration)
        if pointer:
            yield pointer[1]
            continue
        for declarator in declaration.split(','):
            yield re.search(r'(\w+)\s*(\[[^\]]*\]\s*)*$', declarator)[1]


def layout_program(text, include):
    """A C program that prints a line for each size, offset and value."""
    lines = [f'#include "{header.name}"' for header in sorted(include.glob('*.h'))]
    lines += ['#include <stdio.h>', '#define SIZE(t) printf("sizeof %s = %zu\\n", #t, sizeof(t))',
              '#define AT(t, m) printf("%s.%s at %zu, of %zu\\n", #t, #m, offsetof(t, m), sizeof(((t *)0)->m))',
              '#define VALUE(e) printf("%s = %ld\\n", #e, (long)(e))', 'int main(void) {']
    structs = re.findall(r'typedef\s+struct\s+\w*\s*\{([^}]*)\}\s*(\w+)\s*;', text)
    enumerations = re.findall(r'\benum\s*\w*\s*\{([^}]*)\}\s*(\w*)\s*;', text)
    if len(structs) + len(enumerations) != len(re.findall(r'\b(?:struct|union|enum)\s*\w*\s*\{', text)):
        sys.exit('a type of the headers is written in a way that this script does not read')
    for body, name in structs:
        lines += [f'SIZE({name});', *(f'AT({name}, {member});' for member in members(body))]
    for body, name in enumerations:
        lines += [f'SIZE({name});'] if name else []
        lines += [f'VALUE({enumerator.split("=")[0].strip()});' for enumerator in body.split(',') if enumerator.strip()]
    return '\n'.join([*lines, '}', ''])


def layout_lines(text, include):
    """None where pointers have another size than in the record."""
    compiler = shlex.split(os.environ.get('CC', 'cc'))
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work) / 'layout.c', Path(work) / 'layout'
        source.write_text(layout_program(text, include))
        subprocess.run([*compiler, '-std=c11', '-I', include, source, '-o', program], check=True)
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return lines if any(line.startswith('conv2d_args.packed at 8,') for line in lines) else None


def differences(record, lines, update):
    """The number of lines that differ from the file, which are shown; those that vanished break callers."""
    if update:
        record.write_text('\n'.join(lines) + '\n')
    recorded = record.read_text().splitlines()
    changes = list(difflib.unified_diff(recorded, lines, f'{record.name}, recorded', f'{record.name}, today',
                                        lineterm='', n=0))
    print('\n'.join(changes))
    print(f'{record.name}: {len(recorded)} lines recorded, {len(lines)} today')
    gone = [change for change in changes[2:] if change.startswith('-')]
    if gone:
        print('Programs built against the record would break: undo it; or, before the first release or with a new '
              'soname, say so in NEWS and record it.')
    elif changes:
        print('Only additions: a new function of a released library needs a node of its own in src/conv2d.map.')
    return len(changes)


def main():
    library, include, records = map(Path, sys.argv[1:4])
    update = sys.argv[4:] == ['--update']
    if b'libasan' in library.read_bytes() or b'__ubsan_' in library.read_bytes():
        print('built with sanitizers, which export names of their own: not checked')
        return SKIPPED
    text = declarations(include)
    changed = differences(records / 'functions.txt', function_lines(text, library), update)
    lines = layout_lines(text, include)
    if lines is None:
        print('pointers are not of 8 bytes: the layout is not compared')
    else:
        changed += differences(records / 'layout.txt', lines, update)
    if changed:
        print(f'To record today\'s: {sys.argv[0]} {library} {include} {records} --update')
    return 1 if changed else 0


if __name__ == '__main__':
    sys.exit(main())
