#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks convbench diff on results made here: planted changes are found, chance is not, runs in turns are paired, rows
find each other, and what is no such file is refused with its place.
usage: check_diff.py CONVBENCH"""
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TRIALS = 20
FEWEST_GOOD = 19
PROBLEMS = [f'{16 * i}x28x28 {16 * i}x3x3 p1' for i in range(1, 9)]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def diff(convbench, *arguments):
    done = subprocess.run([convbench, 'diff', *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def parts_of(seconds, draw, count=5, began=1e9):
    """A machine with 0.4 % between parts, 0.2 % between processes, and a neighbour in a tenth of the parts."""
    process = seconds * math.exp(draw.gauss(0, 0.002))
    values = [process * math.exp(draw.gauss(0, 0.004)) * (1 + 0.2 * draw.random() * (draw.random() < 0.1))
              for _ in range(count)]
    return [{'began': began + i, 'runs': 50, 'min': v, 'p10': v, 'p25': v, 'median': v, 'peak_gflops': 118}
            for i, v in enumerate(values)]


def result(problem, parts, **others):
    return {'problem': problem, 'allowed_isa': 'any', 'kernel': 'kernel_a', 'threads': 1, 'network': None,
            'bitwise_equal': True, 'parts': parts, **others}


def document(results, cpu='a CPU'):
    return {'schema': 'convbench', 'version': 2, 'date': '2026-11-21T20:00:00Z', 'machine': {'cpu': cpu},
            'results': results}


def run_of(draw, factor=1, began=1e9, count=5):
    return document([result(problem, parts_of(1e-4 * (i + 1) * factor, draw, count, began))
                     for i, problem in enumerate(PROBLEMS)])


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def check_trials(convbench, folder):
    """Seeds, not the clock, decide: the same trials in every run."""
    codes = {1: [], 1.03: [], 1 / 1.03: []}
    for factor, found in codes.items():
        for seed in range(TRIALS):
            draw = random.Random(seed)
            old = write(folder / 'old.json', run_of(draw))
            found.append(diff(convbench, old, write(folder / 'new.json', run_of(draw, factor)))[0])
    expect(codes[1].count(0) >= FEWEST_GOOD, f'the same program: {codes[1]}')
    expect(codes[1.03].count(1) >= FEWEST_GOOD, f'3 % slower: {codes[1.03]}')
    expect(codes[1 / 1.03].count(0) == TRIALS, f'3 % faster: {codes[1 / 1.03]}')


def check_busy(convbench, folder):
    """What the files say of others who had the CPU is said; what they say wrongly does no harm."""
    draw = random.Random(1)
    for disturbed, is_said in (({'ran_share': 0.9, 'switches': 40}, True), ({'ran_share': 0.99, 'switches': 1}, False),
                               ({'ran_share': 0.5, 'switches': 0}, False), ({'ran_share': None, 'switches': 3}, False),
                               ({'ran_share': -1e300, 'switches': 3}, False), ({'ran_share': 7, 'switches': 3}, False),
                               ({}, False), (None, False), ('x', False)):
        made = run_of(draw)
        for row in made['results']:
            row['disturbed'] = disturbed
        path = write(folder / 'busy.json', made)
        code, text = diff(convbench, path, path)
        expect(code == 0 and ("others had the CPU for 10 %" in text) == is_said, f'{disturbed}: {text}')


def check_turns(convbench, folder):
    """Each pair runs on a machine of another speed: only pairs can tell, and only if they are noticed."""
    draw = random.Random(7)
    old, new = [], []
    for turn in range(6):
        speed = 1 + 0.3 * draw.random()
        began = 1e9 + 100 * turn
        old.append(write(folder / f'old{turn}.json', run_of(draw, speed, began)))
        new.append(write(folder / f'new{turn}.json', run_of(draw, 1.03 * speed, began + 50)))
    code, text = diff(convbench, *reversed(old), ':', *new)
    expect(code == 1 and 'took turns' in text, f'in turns: {code}\n{text}')
    found = [line.split() for line in text.splitlines() if line.startswith('geometric mean')][0]
    expect(abs(float(found[4]) - 1.03) < 0.005, f'in turns: {found}')
    for turn, path in enumerate(new):
        write(path, run_of(draw, 1, 2e9 + 100 * turn))
    code, text = diff(convbench, *old, ':', *new)
    expect('took turns' not in text, f'one after the other: {text}')
    code, text = diff(convbench, old[0], ':', *new)
    expect(code in (0, 1) and 'took turns' not in text, f'one to six: {code} {text}')


def check_rows(convbench, folder):
    """By problem, instruction sets, network and threads; by kernel only where there are several."""
    draw = random.Random(3)

    def row(problem, kernel, seconds=1e-3, **others):
        return result(problem, parts_of(seconds, draw), kernel=kernel, **others)

    old = [row('1x1', 'a'), row('2x2', 'a'), row('2x2', 'b', 2e-3), row('3x3', 'a', threads=2), row('4x4', 'a'),
           row('5x5', 'a', network='net'), row('6x6', 'a'), result('7x7', [])]
    new = [row('2x2', 'b', 4e-3), row('2x2', 'a'), row('1x1', 'c'), row('3x3', 'a', threads=1),
           row('5x5', 'a', network='other'), row('6x6', 'a', bitwise_equal=False), row('7x7', 'a')]
    paths = write(folder / 'old.json', document(old)), write(folder / 'new.json', document(new, 'another CPU'))
    code, text = diff(convbench, '--json', folder / 'diff.json', *paths)
    found = json.loads((folder / 'diff.json').read_text())
    rows = [(r['problem'], r['new_kernel'], r['old_kernel'], r['verdict'], r['wrong']) for r in found['results']]
    expect(rows == [('2x2', 'b', 'b', 'slower', False), ('2x2', 'a', 'a', 'same', False),
                    ('1x1', 'c', 'a', 'same', False), ('6x6', 'a', 'a', 'same', True)], f'rows: {rows}')
    expect(code == 1 and '1 slower' in text and '1 wrong' in text, f'rows: {code}\n{text}')
    expect('c was a' in text and 'different CPUs' in text, f'rows: {text}')
    expect('3 rows that only the old side has timed, 3 that only the new' in text, f'rows: {text}')
    expect(abs(found['results'][0]['ratio'] - 2) < 0.05, f'ratio: {found["results"][0]}')


def check_clock(convbench, folder):
    """A clock that is 10 % slower for the kernel and the peak alike."""
    draw = random.Random(5)
    slow = run_of(draw, 1.1)
    for row in slow['results']:
        for part in row['parts']:
            part['peak_gflops'] /= 1.1
    paths = write(folder / 'old.json', run_of(draw)), write(folder / 'new.json', slow)
    code, text = diff(convbench, *paths)
    expect(code == 1 and '118.0 and then 107.3' in text, f'clock: {code}\n{text}')
    expect(diff(convbench, '--clock', *paths)[0] == 0, 'clock: --clock takes it out')
    expect(diff(convbench, '--threshold', '15', *paths)[0] == 0, 'threshold')


def check_refusals(convbench, folder):
    good = run_of(random.Random(1))

    def changed(change):
        copy = json.loads(json.dumps(good))
        change(copy)
        return json.dumps(copy, indent=1)

    refused = [
        ('', ':1:1: the text ends'),
        ('[1, 2', ':1:6: the text ends where a comma or ]'),
        ('[]', ':1:1: these are no results'),
        ('{}', 'the member "schema" is missing'),
        ('[' * 100000, ':1:65: deeper than 64'),
        ('{"schema": "convbench-1"}', 'an older convbench'),
        ('{"schema": "convbench-peers", "version": 2}', 'only times'),
        ('{"schema": "convbench", "version": 3}', 'version 3 of the format'),
        ('{"schema": "convbench", "version": 2,\n "results": {}}', ':2:13: "results" is an object'),
        (changed(lambda c: c['results'][1].pop('kernel')), 'the member "kernel" is missing'),
        (changed(lambda c: c['results'][0].update(threads=1.5)), 'no whole number'),
        (changed(lambda c: c['results'][0].update(threads=1e300)), 'no whole number'),
        (changed(lambda c: c['results'][0].update(parts=[1])), 'is missing here'),
        (changed(lambda c: c['results'][0]['parts'][2].update(p10=0)), 'above 0'),
        (changed(lambda c: c['results'][0]['parts'][2].update(p10=None)), '"p10" is null where a number'),
        (json.dumps(document([])), 'no problem was timed on both sides'),
    ]
    whole = write(folder / 'good.json', good)
    for text, message in refused:
        bad = write(folder / 'bad.json', text)
        for paths in [(bad, whole), (whole, bad)]:
            code, said = diff(convbench, *paths)
            expect(code == 2 and message in said and len(said) < 400, f'{text[:80]!r}: {code} {said[:400]}')
    for arguments, message in [([whole], 'takes two files'), ([whole, ':'], 'takes two files'),
                               ([folder / 'none', whole], 'No such file'),
                               (['--nothing', whole, whole], 'no such option'),
                               (['--threshold=x', whole, whole], 'number is missing'),
                               (['--threshold', '100', whole, whole], 'a percentage from 0'),
                               (['--clock=1', whole, whole], 'takes no value'),
                               ([whole, whole, '--noise'], 'value of this option'),
                               (['--json', '/none/x', whole, whole], 'cannot be written')]:
        code, said = diff(convbench, *arguments)
        expect(code == 2 and message in said, f'{arguments}: {code} {said}')
    expect(diff(convbench, '--help')[0] == 0, '--help')
    code, said = diff(convbench, whole, whole)
    expect(code == 0 and f'{len(PROBLEMS)} the same' in said, f'a file and itself: {code} {said}')


def check_real(convbench, folder):
    """What convbench writes is what it reads; how fast it was is nobody's business here."""
    for name in ('one', 'two'):
        subprocess.run([convbench, '--time', '0.01', '--rounds', '2', '--json', folder / name, '2x9x9 3x3 4x5x5 1x1'],
                       check=True, stdout=subprocess.DEVNULL)
    code, text = diff(convbench, folder / 'one', folder / 'two')
    expect(code in (0, 1) and 'geometric mean of 2' in text, f'real: {code}\n{text}')


def main():
    checks = [check_trials, check_busy, check_turns, check_rows, check_clock, check_refusals, check_real]
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], Path(folder))
    print('\n'.join(failures + [f'{len(checks)} checks, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
