#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the build makes of convbench's table of options: that the page of the manual has every option of --help
and is good roff, and that bash completes names, words, lists, kernels and files.
usage: check_manual.py CONVBENCH"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

failures = []

# Words of the command line, the last one to be completed, and what must and what must not be offered.
COMPLETIONS = [
    (['--lay'], {'--layout'}, {'--list'}),
    (['--isa', 'av'], {'avx2', 'avx512'}, {'any'}),
    (['--isa', 'any,av'], {'any,avx2', 'any,avx512'}, {'avx2'}),
    (['--isa', '=', 's'], {'scalar'}, {'avx2'}),
    (['--isa', '='], {'scalar', 'any', 'avx2', 'avx512'}, {'--isa'}),
    (['--layout', 'nhwc'], {'nhwc', 'nhwc-nchw'}, {'nchw'}),
    (['--kernel', 'conv2d_f32_ref'], {'conv2d_f32_reference__scalar'}, {'--kernel'}),
    (['--json', './fi'], {'./file one.json'}, {'./other.json'}),
    (['--threads', ''], set(), {'--isa'}),
    (['di'], {'diff'}, set()),
    (['--verify', 'di'], set(), {'diff'}),
    (['diff', '--thr'], {'--threshold'}, {'--threads'}),
    (['diff', './fi'], {'./file one.json'}, {'./other.json'}),
    (['diff', '--run', 'old', './fi'], {'./file one.json'}, {'--run'}),
    (['diff', '--run', 'old', 'new', '--', '--lay'], {'--layout'}, {'--limit'}),
    (['diff', '--run', 'old', 'new', '--', '--isa', 'av'], {'avx2', 'avx512'}, {'any'}),
    (['--verify', '--fr'], {'--fresh'}, {'--file'}),
]


def expect(good, what):
    if not good:
        failures.append(what)


def said(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


def check_page(convbench):
    page = said(convbench, '--man').stdout
    options = re.findall(r'^  (--[a-z-]+)', said(convbench, '--help').stdout, re.M)
    expect(len(options) > 20, f'{len(options)} options')
    for option in options:
        escaped = option.replace('-', '\\-')
        expect(len(re.findall(rf'^\.B {re.escape(escaped)}\\fR|^\.B {re.escape(escaped)} \\fI', page, re.M)) == 1,
               f'{option} is not once in the page')
    if not shutil.which('nroff'):
        print('nroff not found: the page is not formatted')
        return
    done = said('nroff', '-man', '-ww', input=page)
    expect(done.returncode == 0 and done.stderr == '' and len(done.stdout) > len(page) // 2, f'nroff: {done.stderr}')


def complete(script, words, directory):
    bash = f'''. {script}; compopt() {{ :; }}
        COMP_WORDS=(convbench "$@"); COMP_CWORD=$#; _convbench; printf '%s\\n' "${{COMPREPLY[@]}}"'''
    return said('bash', '-c', bash, 'bash', *words, cwd=directory)


def check_completion(convbench):
    if not shutil.which('bash'):
        print('bash not found: the completion is not tried')
        return
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / 'completion'
        script.write_text(said(convbench, '--completion').stdout)
        for file in ('file one.json', 'other.json'):
            (Path(name) / file).touch()
        for words, wanted, unwanted in COMPLETIONS:
            done = complete(script, words, name)
            offered = set(done.stdout.splitlines())
            expect(done.stderr == '', f'{words}: {done.stderr}')
            expect(wanted <= offered and not unwanted & offered, f'{words}: {offered}')


def main():
    check_page(sys.argv[1])
    check_completion(sys.argv[1])
    print('\n'.join(failures + [f'{len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
