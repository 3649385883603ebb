#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks convbench's command line: exit codes, where it points in what it does not understand, and that --help has
every option once, under a heading.
usage: check_command_line.py CONVBENCH"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SMALL = '2x5x5 3x3 p1'
HEADINGS = ['For example', 'What to run', 'How to measure', 'What to report', 'Closer looks', 'Other questions',
            'A problem is']

# Arguments, the exit code, and what standard output or standard error must hold.
CASES = [
    (['--version'], 0, 'libconv2d'),
    (['--list'], 0, 'conv2d_f32'),
    (['--verify', SMALL], 0, '50 of 50'),
    (['--verify', '--isa=scalar', *SMALL.split()], 0, '50 of 50'),
    (['--explain', SMALL], 0, 'success'),
    (['--explain', '--isa', 'scalar,any', SMALL], 0, 'isa at most any'),
    ([], 2, 'no problem is given'),
    (['--explain'], 2, 'no problem is given'),
    (['--nonsense', SMALL], 2, 'no such option'),
    (['--verif', SMALL], 2, 'no such option'),
    (['--verify=1', SMALL], 2, '    --verify=1\n            ^'),
    (['--time'], 2, 'the value of this option is missing'),
    (['--time', '0', SMALL], 2, 'above 0'),
    (['--time=1x', SMALL], 2, '    --time=1x\n            ^'),
    (['--isa', 'avx', SMALL], 2, '--isa takes a list'),
    (['--threads', '1,0', SMALL], 2, '    1,0\n      ^'),
    (['--layout', 'chwn', SMALL], 2, '--layout takes a list'),
    (['--kernel', 'fast', SMALL], 2, 'no kernel of this build'),
    (['--json', '', SMALL], 2, 'the name of a file is missing'),
    (['--sample', '0', SMALL], 2, 'at least 1'),
    (['--rounds', '101', SMALL], 2, 'at most 100'),
    (['--rounds', '2', '--verify', SMALL], 2, '--rounds spreads'),
    (['--rounds', '2', '--time', '0.01', SMALL], 0, '50 of 50'),
    (['--verify', '--no-verify', SMALL], 2, 'exclude each other'),
    (['--records', 'found.txt', SMALL], 2, '--tune finds'),
    (['--dump-asm'], 1, 'needs a problem'),
    (['--csv', 'calls.csv', SMALL], 2, '--calls records'),
    (['--calls', '1', SMALL], 2, 'at least 2'),
    (['--calls', '10'], 2, 'no problem is given'),
    (['--counters=list'], 0, 'context-switches'),
    (['--counters'], 2, 'no problem is given'),
    (['--counters=basic,no_such_event', '--time', '0.01', SMALL], 0, 'unknown event'),
    (['--topdown', '--time', '0.01', SMALL], 0, 'predicted from the tile'),
    (['--topdown', '--isa', 'scalar', '--time', '0.01', SMALL], 0, 'the reference kernel has no tiles'),
    (['--phases', '--time', '0.01', SMALL], 0, 'fresh out'),
    (['--repeatability', '--time', '0.001', SMALL], 0, 'can resolve'),
    (['--explain', '--json', 'x', SMALL], 2, 'writes what is measured'),
    (['--phases', '--json', '/none/x', SMALL], 2, 'cannot be written'),
    (['--overhead', '--json', '/none/x'], 2, 'cannot be written'),
    (['--chains', '8x9x9 3x3 + 16x1x1', '--json', '/none/x'], 2, 'cannot be written'),
    (['--file', 'no/such/file'], 2, 'no/such/file'),
    (['--verbose-log', 'no/such/file'], 2, 'no/such/file'),
    (['--onnx', 'no/such/file'], 2, 'no/such/file'),
    (['--cfg', 'no/such/file'], 2, 'no/such/file'),
    (['--input', '3x5', SMALL], 2, 'CxHxW'),
    (['--suite', 'no_such_suite'], 2, 'suite'),
    (['5x5'], 2, 'A problem is'),
]


def run(convbench, arguments):
    done = subprocess.run([convbench, *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def check_cases(convbench):
    for arguments, expected, text in CASES:
        code, said = run(convbench, arguments)
        if code != expected:
            yield f'{arguments}: exit code {code}, not {expected}\n{said}'
        if text not in said:
            yield f'{arguments}: {text!r} is not in\n{said}'


def check_prediction(convbench):
    """A problem without padding: 16 x 16 channels, 9 taps and 16 x 16 outputs are so many FMAs of 8 lanes."""
    code, said = run(convbench, ['--topdown', '--isa', 'avx2', '--time', '0.01', '16x18x18 16x3x3'])
    if 'allows scalar' in said:
        return
    tile = re.search(r'the tile \((\d+) FMAs and (\d+) loads a tap, 8 lanes\)', said)
    found = [float(value) for value in re.findall(r'^    (?:FMAs|loads|bytes|stores) +(\d+)', said, re.M)]
    if code != 0 or not tile or len(found) != 4:
        yield f'--topdown: exit code {code}\n{said}'
        return
    fmas = 16 * 16 * 9 * 16 * 16 / 8
    bytes_once = 4 * (16 * 18 * 18 + 16 * 16 * 9 + 16 * 16 * 16)
    expected = [fmas, round(fmas * int(tile[2]) / int(tile[1])), bytes_once, 16 * 16 * 16 / 8]
    if any(abs(is_value - value) > 1 for is_value, value in zip(found, expected)):
        yield f'--topdown predicts {found}, not {expected}\n{said}'


def check_isa_ab(convbench):
    """What it decides is kept in a file that plans then go by; without AVX-512 it says so."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / 'machine.txt'
        code, said = run(convbench, ['--isa-ab', '--time', '0.02', '--records', str(record), '16x20x20 16x3x3'])
        if 'allows avx2' in said or 'allows scalar' in said:
            if code != 2:
                yield f'--isa-ab: exit code {code} without AVX-512'
            return
        if code != 0 or 'decision: ' not in said or record.exists() == ('decision: none' in said):
            yield f'--isa-ab: exit code {code}\n{said}'
        if record.exists():
            chosen = re.search('decision: (\\w+)', said).group(1)
            text = run(convbench, ['--use', str(record), '--explain', SMALL])[1]
            if f'policy: a record of this machine prefers {chosen}' not in text:
                yield f'--isa-ab decided {chosen}, its record says\n{text}'


def check_explain(convbench):
    """It has a word for every kernel of the build, to the last."""
    kernels = [line.split()[0] for line in run(convbench, ['--list'])[1].splitlines()[1:]]
    said = run(convbench, ['--explain', SMALL])[1]
    lost = [kernel for kernel in kernels if kernel not in said]
    if len(kernels) < 20 or lost or not said.endswith('\n'):
        yield f'--explain says nothing of {lost}, of {len(kernels)} kernels\n{said}'


def check_help(convbench):
    code, text = run(convbench, ['--help'])
    if code != 0:
        yield f'--help: exit code {code}'
    places = [text.find('\n' + heading) for heading in HEADINGS]
    if -1 in places or places != sorted(places):
        yield f'--help: headings missing or in another order: {dict(zip(HEADINGS, places))}'
    names = re.findall(r'^  (--[a-z-]+)[ \[].*\S$', text, re.M)
    if len(names) < 20 or len(set(names)) != len(names):
        yield f'--help: {len(names)} options, {len(set(names))} names'
    long = [line for line in text.splitlines() if len(line) > 120]
    if long:
        yield f'--help: longer than 120 columns: {long}'
    for name in names:
        if f'no such option (--help prints them)\n    {name}=' in run(convbench, [name + '=', '--nonsense'])[1]:
            yield f'--help has {name}, which is not an option'


def check_dump(convbench):
    kernel = 'conv2d_f32_nchw_kw3_s1__avx2_k2x6'
    without = subprocess.run([convbench, '--dump-asm', '--kernel', kernel], capture_output=True, text=True, timeout=60,
                             env={'PATH': '/nonexistent'}, check=False)
    if without.returncode != 1 or 'needs objdump, which is not here' not in without.stderr:
        yield f'--dump-asm without objdump: {without}'
    if not shutil.which('objdump'):
        print('objdump not found: --dump-asm is not tried')
        return
    code, said = run(convbench, ['--dump-asm', '--kernel', kernel])
    counts = re.search(r'a turn: (\d+) FMAs of 256 bits; \d+ loads, \d+ bytes; \d+ stores', said)
    if code != 0 or not counts or int(counts.group(1)) % 12:
        yield f'--dump-asm: {code}, {said}'


def main():
    checks = [check_cases, check_explain, check_prediction, check_isa_ab, check_help, check_dump]
    failures = [failure for check in checks for failure in check(sys.argv[1])]
    print('\n'.join(failures + [f'{len(CASES)} command lines tried, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
