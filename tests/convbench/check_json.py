#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what convbench writes as JSON against docs/convbench.schema.json, and that a file is whole or not there.
usage: check_json.py CONVBENCH SCHEMA PEER_ORACLE"""
import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FAST = ['--time', '0.01']
PROBLEMS = ['2x9x9 3x3 p1', '4x5x5 1x1 b relu nhwc']
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def written(convbench, *arguments):
    """What standard output holds with --json -."""
    done = subprocess.run([*map(str, convbench), *map(str, arguments), '--json', '-'], capture_output=True, text=True,
                          timeout=60, check=False)
    expect(done.returncode in (0, 1), f'{arguments}: exit code {done.returncode}: {done.stderr}')
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        failures.append(f'{arguments}: {error}')
        return {}


def gather(convbench, oracle, folder):
    """Every kind of file that there is, by name."""
    convbench = [convbench]
    files = {'times': written(convbench, *FAST, '--rounds', '2', '--threads', '1,2', *PROBLEMS),
             'summary': written(convbench, '--time', '0.001', '--suite', 'edge', '--sample', '7', '--no-verify'),
             'verified': written(convbench, '--verify', *PROBLEMS),
             'peers': written(convbench, *FAST, f'--peers={oracle}:all,absent', *PROBLEMS),
             'calls': written(convbench, '--calls', '50', *PROBLEMS),
             'overheads': written(convbench, *FAST, '--overhead', '--threads', '2', PROBLEMS[0]),
             'counters': written(convbench, *FAST, '--counters=basic,software,no_such_event', *PROBLEMS),
             'topdown': written(convbench, *FAST, '--topdown', '--isa', 'any,scalar', *PROBLEMS),
             'phases': written(convbench, *FAST, '--phases', '--threads', '1,2', *PROBLEMS),
             'repeatability': written(convbench, '--time', '0.001', '--repeatability', *PROBLEMS),
             'chains': written(convbench, *FAST, '--chains', '8x9x9 3x3 p1 + 16x1x1', '--isa', 'any,scalar')}
    if files['times']['machine']['isa'] == 'avx512':
        files['isa_ab'] = written(convbench, *FAST, '--isa-ab', '16x20x20 16x3x3', PROBLEMS[1], '1x1x1 1x1')
    else:
        print('no AVX-512 here: --isa-ab writes nothing')
    path = Path(folder) / 'times.json'
    path.write_text(json.dumps(files['times']))
    files['diff'] = written([*convbench, 'diff'], path, path)
    path = Path(folder) / 'turns.json'
    code = subprocess.run([*convbench, 'diff', '--run', '--limit', '0.001', '--json', path, *convbench, *convbench,
                           '--', *FAST, *PROBLEMS], stdout=subprocess.DEVNULL, timeout=60, check=False).returncode
    expect(code == 3, f'diff --run: exit code {code}')
    files['diff_run'] = json.loads(path.read_text())
    return files


def check_schema(files, schema):
    try:
        import jsonschema
    except ImportError:
        print('python3-jsonschema not found: the files are not compared with the schema')
        return
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    for name, content in files.items():
        which = {'summary': 'times', 'verified': 'times', 'diff_run': 'diff'}.get(name, name)
        # By its own part of the schema: errors of a oneOf say little.
        part = kind({'$ref': f'#/$defs/{which}', '$defs': schema['$defs']})
        for error in part.iter_errors(content):
            failures.append(f'{name}: {"/".join(map(str, error.path))}: {error.message[:200]}')
        expect(kind(schema).is_valid(content), f'{name}: is of no kind, or of several')
    damaged = copy.deepcopy(files['times'])
    damaged['results'][0]['threads'] = 'one'
    expect(not kind(schema).is_valid(damaged), 'the schema accepts a number of threads that is none')


def check_contents(files):
    """What no schema can say."""
    for row in files['times']['results']:
        expect(row['rounds'] == len(row['parts']) == 2, f'parts: {row}')
        expect(sum(part['runs'] for part in row['parts']) == row['runs'], f'runs of parts: {row}')
        expect(min(part['min'] for part in row['parts']) == row['seconds']['min'], f'min of parts: {row}')
        for part in row['parts']:
            expect(part['min'] <= part['p10'] <= part['p25'] <= part['median'], f'order: {part}')
        expect(row['parts'][0]['began'] < row['parts'][1]['began'] <= time.time(), f'began: {row}')
    for row in files['verified']['results']:
        expect(row['parts'] == [] and row['seconds']['median'] is None and row['bitwise_equal'], f'verified: {row}')


def check_looks(files):
    """Closer looks have a row for each run, in which the numbers hang together."""
    for name, rows in {'counters': 2, 'topdown': 4, 'phases': 4, 'repeatability': 2, 'chains': 2}.items():
        expect(len(files[name]['results']) == rows, f'{name}: {len(files[name]["results"])} rows, not {rows}')
    for row in files['counters']['results']:
        names = [counter['name'] for counter in row['counters']]
        reasons = {counter['name']: counter['reason'] for counter in row['counters']}
        expect(len(set(names)) == len(names) and {'cycles', 'task-clock', 'no_such_event'} <= set(names), f'{names}')
        expect(row['allocations'] in (0, None), f'a call allocates: {row["allocations"]}')
        expect('unknown event' in reasons['no_such_event'], f'reasons: {reasons}')
    for row in files['topdown']['results']:
        expect((row['prediction'] is None) == (row['isa'] == 'scalar'), f'prediction: {row}')
        expect(abs(100 * row['fma_pipes_share_by_time'] - row['percent_of_peak']) < 1e-6, f'share by time: {row}')
    for row in files['repeatability']['results']:
        expect(len(row['ratios']) == 20 and row['ratios'] == sorted(row['ratios']), f'ratios: {row}')
        expect(row['typical_share'] <= row['resolved_share'] and row['claims'] <= 20, f'repeatability: {row}')
    for row in files['chains']['results']:
        expect(row['bitwise_equal'] is True and row['bands'] >= 1, f'chain: {row}')
    if 'isa_ab' in files: # which of them the library has different kernels for depends on the CPU
        expect(len(files['isa_ab']['results'] + files['isa_ab']['not_compared']) == 3, f'{files["isa_ab"]}')
    for row in files.get('isa_ab', {}).get('results', []):
        expect(row['low'] <= row['ratio'] <= row['high'], f'interval: {row}')
        expect('avx2' in row['avx2']['kernel'] and 'avx512' in row['avx512']['kernel'], f'kernels: {row}')


def check_whole(convbench, folder):
    """Killed while it measures, it leaves the file as it was, and nothing else."""
    path = Path(folder) / 'kept.json'
    path.write_text('old')
    with subprocess.Popen([convbench, '--time', '60', '--json', path, PROBLEMS[0]], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    expect(path.read_text() == 'old' and os.listdir(folder) == ['kept.json'], f'killed: {os.listdir(folder)}')
    link = Path(folder) / 'link'
    link.symlink_to('kept.json')
    subprocess.run([convbench, *FAST, '--json', link, PROBLEMS[0]], stdout=subprocess.DEVNULL, check=True)
    expect(link.is_symlink() and json.loads(path.read_text())['schema'] == 'convbench', 'a link is followed')
    expect(sorted(os.listdir(folder)) == ['kept.json', 'link'], f'written: {os.listdir(folder)}')
    done = subprocess.run([convbench, *FAST, '--json', '/dev/full', PROBLEMS[0]], capture_output=True, text=True,
                          check=False)
    expect(done.returncode == 1 and 'cannot be written' in done.stderr, f'a full disk: {done}')


def main():
    convbench, schema, oracle = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        files = gather(convbench, oracle, folder)
    check_schema(files, json.loads(Path(schema).read_text()))
    if not failures:
        check_contents(files)
        check_looks(files)
    with tempfile.TemporaryDirectory() as folder:
        check_whole(convbench, folder)
    print('\n'.join(failures + [f'{len(files)} files checked, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
