#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks libconv2d-trace.so on a program that is linked with the shared library: what it counts, at the program's end
and on a signal, as text and as columns; and that programs without convolutions are left alone.
usage: check_trace.py TRACE_LIBRARY CLIENT"""
import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(library, command, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith('CONV2D_')}
    return subprocess.run(command, env=dict(kept, LD_PRELOAD=str(library), **environment), text=True, timeout=60,
                          capture_output=True, check=False)


def split_report(text):
    """(the headline's runs and plans, lines of plans, lines of kernels), each line as a list of words."""
    headline = re.match(r'conv2d-trace: process \d+, .*: (\d+) runs of (\d+) plans, [0-9.]+ s in all threads', text)
    expect(headline is not None, f'no headline in {text!r}')
    plans, kernels = [[line.split() for line in part.splitlines()[2:]] for part in re.split(r'\n\n', text.strip())[1:]]
    return [int(number) for number in headline.groups()], plans, kernels


def check_text(text):
    counts, plans, kernels = split_report(text)
    expect(counts == [630, 3], f'{counts} runs and plans')
    of_problem = {' '.join(line[11:]): line for line in plans}
    small = next(line for problem, line in of_problem.items() if 'per group 3 x 12 x 12 -> 3 x 10 x 10' in problem)
    pooled = next(line for problem, line in of_problem.items() if '64 x 38 x 38; kernel 3 x 3' in problem)
    expect(small[:2] == ['600', '600'], f'{small}: a plan made twice is one plan')
    expect(pooled[1] == '10' and int(pooled[0]) == 20, f'{pooled}: ten runs of two parts')
    for line in plans + kernels:
        mean, least, *quantiles, most = map(float, line[4:10])
        expect(0 < least <= mean <= most, f'{line}: mean')
        expect(least <= quantiles[0] <= quantiles[1] <= quantiles[2] <= most, f'{line}: quantiles')
        expect(abs(float(line[2]) * 1e3 - mean * int(line[0])) < 1e-3 * int(line[0]) + 1, f'{line}: total')
    expect([float(line[2]) for line in plans] == sorted((float(line[2]) for line in plans), reverse=True), 'order')
    expect(sum(int(line[0]) for line in kernels) == sum(int(line[0]) for line in plans), 'kernels do not add up')
    expect(len({line[10] for line in plans}) == len(kernels), 'a line for each kernel')


def check_columns(path):
    rows = list(csv.DictReader(path.open()))
    expect(len(rows) == 3 and sum(int(row['runs']) for row in rows) == 630, f'{rows}')
    expect(all(row['chain'] == '0' and row['kernel'].startswith('conv2d_f32') for row in rows), f'{rows}')
    expect(abs(sum(float(row['percent']) for row in rows) - 100) < 0.3, 'percents')


def main():
    library, client = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    symbols = subprocess.run(['nm', '-D', library], capture_output=True, text=True, check=False).stdout
    if re.search(r' U __(a|ub|t|m)san_', symbols):
        print('built with sanitizers, which a preloaded library cannot be: skipped')
        return 77
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        done = run(library, [client])
        expect(done.returncode == 0 and done.stdout == 'done\n', f'{done}')
        check_text(done.stderr)

        done = run(library, [client, '--signal'], CONV2D_TRACE_FILE=str(directory / 'on_%p_%p.txt'))
        written = list(directory.glob('on_*.txt'))
        expect(done.returncode == 0 and done.stderr == '' and len(written) == 1, f'{done}, {written}')
        expect(re.fullmatch(r'on_(\d+)_\1\.txt', written[0].name) is not None, written[0].name)
        parts = re.split(r'(?=^conv2d-trace)', written[0].read_text(), flags=re.M)[1:]
        expect(len(parts) == 2 and 'on a signal: 320 runs of 2 plans' in parts[0], parts)
        check_text(parts[-1])

        done = run(library, [client, '--signal'], CONV2D_TRACE_SIGNAL='none')
        expect(done.returncode == -10, f'the signal is not taken, so it ends the program: {done.returncode}')
        run(library, [client], CONV2D_TRACE_FILE=str(directory / 'columns.csv'))
        check_columns(directory / 'columns.csv')
        done = run(library, ['true'], CONV2D_TRACE_FILE=str(directory / 'nothing'))
        expect(done.returncode == 0 and done.stderr == '' and not (directory / 'nothing').exists(), f'{done}')
        for file in ['/no/such/folder/file', '/dev/full']:
            done = run(library, [client], CONV2D_TRACE_FILE=file)
            expect(done.returncode == 0 and done.stdout == 'done\n', f'a file that cannot be written: {done}')
            expect(done.stderr == 'conv2d-trace: the report cannot be written\n', f'{file}: {done.stderr}')
        log = directory / 'log'
        log.write_text('earlier\n')
        done = run(library, ['sh', '-c', 'ulimit -f 0; exec "$0"', client], CONV2D_TRACE_FILE=str(log))
        expect(done.returncode == 0 and 'cannot be written' in done.stderr, f'a limit of file sizes: {done}')
        expect(log.read_text() == 'earlier\n', f'half a report: {log.read_text()}')
        done = run(library, ['sh', '-c', 'exec 9>&1; { "$0" 2>&1 >&9; echo $? >&9; } | true', client],
                   CONV2D_TRACE_FILE='/dev/stderr')
        expect(done.stdout == 'done\n0\n', f'a pipe without a reader: {done}')
    print('\n'.join(map(str, failures + [f'{len(failures)} failures'])))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
