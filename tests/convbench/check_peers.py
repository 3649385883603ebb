#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks convbench --peers with workers that need no library: that turns alternate and a worker sleeps when it is not
its turn, what becomes of the ones that fail, and the arithmetic of the report.
usage: check_peers.py CONVBENCH PEER_ORACLE"""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FAKES = Path(__file__).resolve().parent / 'peers'
ROUNDS = 5
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def compare(convbench, directory, *arguments):
    """Exit code, standard error, standard output, and what was written as JSON, or None."""
    path = Path(directory) / 'results.json'
    path.unlink(missing_ok=True)
    environment = dict(os.environ, CONVBENCH_PEERS=str(FAKES), CONVBENCH_PYTHON=sys.executable,
                       FAKE_LOG=str(Path(directory) / 'log'))
    done = subprocess.run([convbench, '--time', '0.01', '--json', path, *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr, done.stdout, json.loads(path.read_text()) if path.exists() else None


def read_log(directory):
    """(command, wakes, when, mode) for each command that the fake got; the file is emptied."""
    path = Path(directory) / 'log'
    lines = [line.split() for line in path.read_text().splitlines()]
    path.unlink()
    return [(word, int(wakes), float(came), mode) for word, wakes, came, mode in lines]


def check_turns(row, log):
    """The log of one mode: a clock that both processes see proves whose turn it was."""
    runs = [came for word, _, came, _ in log if word == 'run']
    expect([word for word, *_ in log] == ['problem'] + ['run'] * ROUNDS + ['output', 'drop'], f'commands: {log}')
    expect(all(a[1] < b[1] for a, b in zip(log, log[1:])), f'woken for each command: {log}')
    ours, theirs = row['ours']['began'], row['theirs']['began']
    order = [moment for turn in zip(ours, theirs, runs) for moment in turn]
    expect(len(order) == 3 * ROUNDS and order == sorted(order), f'turns: {order}')


def check_times(row):
    """Of the samples N, N.5 and 1000 in round N, and of the ratio."""
    expect(row['theirs']['medians'] == [1.5, 2.5, 3.5, 4.5, 5.5], f'medians: {row["theirs"]}')
    # Sorted: 1 1.5 2 2.5 3 3.5 4 4.5 5 5.5 and 1000 five times.
    expect(row['theirs']['median'] == 4.5 and row['theirs']['max'] == 1000, f'quantiles: {row["theirs"]}')
    expect(math.isclose(row['ratio'], 4.5 / row['ours']['median'], rel_tol=1e-9), f'ratio: {row["ratio"]}')


def check_fake(convbench, directory):
    problems = ['2x2x5x4 4x3x2 s2x1 p1,0,2,1 g2 b', '3x4x4 2x1x1 d2']
    code, errors, text, all_results = compare(convbench, directory, '--peers=fake:all,absent', *problems)
    expect(code == 0, f'exit code {code}: {errors}')
    expect('missing: the library of this worker' in text, 'the missing library is named')
    expect(all_results['peers']['fake'] == 'a fake, threads=1 isa=any', f'description: {all_results["peers"]}')
    log = read_log(directory)
    for problem in problems:
        rows = {row['peer']: row for row in all_results['results'] if row['problem'].startswith(problem[:3])}
        expect(len(rows) == 10, f'rows: {list(rows)}')
        for name, right, ran in [('nchw', True, True), ('nhwc', True, True), ('own-winograd', True, True),
                                 ('wrong', False, True), ('short', False, True), ('nan', False, True),
                                 ('own', None, False), ('refuses', None, False), ('babbles', None, False),
                                 ('zero', None, False)]:
            row = rows['fake:' + name]
            expect((row['right'], row['ran']) == (right, ran), f'{name}: {row}')
        check_times(rows['fake:nchw'])
        check_times(rows['fake:wrong'])
        expect(rows['fake:nchw']['error'] <= 1 < rows['fake:wrong']['error'], 'errors are shares of the tolerance')
        for name, note in [('nchw', 'nchw was made'), ('own', 'the worker died: Killed'),
                           ('refuses', 'because it will not'), ('zero', 'it gave no times'),
                           ('babbles', "'well, about a second' is no answer of the protocol")]:
            expect(rows['fake:' + name]['note'] == note, f'note of {name}: {rows["fake:" + name]["note"]}')
        mine = [entry for entry in log if entry[3] == 'nchw']
        half = len(mine) // 2
        check_turns(rows['fake:nchw'], mine[:half] if problem is problems[0] else mine[half:])
    check_means(all_results, {'fake:nchw': ['fake:nchw'], 'best nchw': ['fake:nchw'], 'best nhwc/own': ['fake:nhwc']})


def check_means(all_results, members):
    """Geometric means over the problems; a wrong result takes no part in them."""
    means = {mean['peer']: mean for mean in all_results['means']}
    for title, peers in members.items():
        ratios = [row['ratio'] for row in all_results['results'] if row['peer'] in peers]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        expect(means[title]['problems'] == len(ratios) == 2, f'{title}: {means[title]}')
        expect(math.isclose(means[title]['geometric_mean'], mean, rel_tol=1e-9), f'{title}: {mean} {means[title]}')
        expect([means[title][key] for key in ('smallest', 'largest')] == [min(ratios), max(ratios)], f'{title}')
    expect('fake:wrong' not in means, f'means: {list(means)}')


def check_default(convbench, directory):
    """Without a mode all but the -winograd ones are run; without a name all workers."""
    _, _, _, all_results = compare(convbench, directory, '--peers', '1x2x2 1x1')
    peers = [row['peer'] for row in all_results['results'] if row['peer'].startswith('fake:')]
    expect(len(peers) == 9 and 'fake:own-winograd' not in peers, f'modes: {peers}')
    read_log(directory)


def check_oracle(convbench, directory, oracle):
    """The C side of the protocol: all layouts and activations, and what the library prints on the way."""
    problems = ['2x6x9x7 4x3x2 s2x3 p2,1,0,2 d1x2 g2 b clamp:-0.25:0.5', '4x6x6 3x3 p1 b leaky:-1.5',
                '5x3x4 2x1x1 relu']
    code, errors, _, all_results = compare(convbench, directory, '--peers=' + oracle + ':all', '--threads', '1,2',
                                           '--isa', 'any,scalar', *problems)
    expect(code == 0, f'oracle: exit code {code}: {errors}')
    rows = all_results['results'] if all_results else []
    expect(len(rows) == 2 * 3 * 3, f'oracle: {len(rows)} rows')
    for row in rows:
        expect(row['right'] and row['error'] == 0, f'oracle: {row}')
        expect(row['note'] == 'loops' + (', not Winograd' if 'winograd' in row['peer'] else ''), f'oracle: {row}')


def check_refusals(convbench, directory):
    for arguments in [['--peers=nobody'], ['--peers=' + str(FAKES / 'peer_nobody')], ['--peers', '--verify']]:
        code, errors, _, all_results = compare(convbench, directory, *arguments, '1x2x2 1x1')
        expect(code != 0 and errors and all_results is None, f'{arguments}: {code}, {errors}')


def main():
    convbench, oracle = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        check_fake(convbench, directory)
        check_default(convbench, directory)
        check_oracle(convbench, directory, oracle)
        check_refusals(convbench, directory)
    print('\n'.join(failures + [f'{len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
