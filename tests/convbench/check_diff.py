#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks convbench diff on results made here: planted changes are found, chance is not, runs in turns are paired, rows
find each other, and what is no such file is refused with its place; programs run in turns until it is known.
usage: check_diff.py CONVBENCH"""
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRIALS = 20
FEWEST_GOOD = 19
PROBLEMS = [f'{16 * i}x28x28 {16 * i}x3x3 p1' for i in range(1, 9)]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def diff(convbench, *arguments):
    done = subprocess.run([convbench, 'diff', *map(str, arguments)], capture_output=True, text=True, timeout=200,
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


class Fake:
    """Two programs in the place of convbench: each writes results made here, one after the other, and who was called
    how."""

    def __init__(self, convbench, folder, **sides):
        self.convbench, self.folder = convbench, folder
        for name, runs in sides.items():
            for turn, content in enumerate(runs, 1):
                write(folder / f'{name}.{turn}', content)
            (folder / f'count.{name}').write_text('0')
            self.program(name, f"""echo {name} "$@" >> log
                turn=$(($(cat count.{name}) + 1)); echo $turn > count.{name}; cat {name}.$turn""")

    def program(self, name, script):
        path = self.folder / name
        path.write_text(f'#!/bin/sh\ncd {self.folder} || exit 9\n{script}\n')
        path.chmod(0o755)
        return path

    def diff(self, *options, programs=('old', 'new'), words=('--isa', 'any', '1x1', '2 x')):
        """The exit code, what was said, and the calls."""
        (self.folder / 'log').write_text('')
        code, text = diff(self.convbench, '--run', '--json', self.folder / 'diff.json', *options,
                          *(p if ' ' in str(p) else self.folder / p for p in programs), '--', *words)
        return code, text, (self.folder / 'log').read_text().splitlines()

    def found(self):
        return json.loads((self.folder / 'diff.json').read_text())


def runs_of(seed, factor, speeds, noise=0.0):
    """Of a program on a machine that is as slow as `speeds` say at the time."""
    draw = random.Random(seed)
    return [run_of(draw, factor * speed * math.exp(draw.gauss(0, noise))) for speed in speeds]


def check_run(convbench, folder):
    """Two programs in turns: ABBA, verified at first, no longer than needed, and what is found is right."""
    speeds = [1 + 0.3 * random.Random(seed).random() for seed in range(60)]
    for name, factor, code, verdict in (('same', 1, 0, 'same'), ('slower', 1.03, 1, 'slower'),
                                        ('faster', 1 / 1.03, 0, 'faster')):
        fake = Fake(convbench, folder, old=runs_of(1, 1, speeds), new=runs_of(2, factor, speeds))
        done, text, calls = fake.diff()
        found = fake.found()
        pairs = found['run']['pairs']
        expect((done, found['geometric_mean']['verdict']) == (code, verdict), f'{name}: {done}\n{text}')
        expect(11 <= pairs <= 26 and len(calls) == 2 * pairs, f'{name}: {pairs} pairs, {len(calls)} calls')
        expect([c.split()[0] for c in calls[:6]] == ['old', 'new', 'new', 'old', 'old', 'new'], f'{name}: {calls[:6]}')
        expect(all(c.endswith(' --isa any 1x1 2 x --json -') and '--time 0.1 --rounds 3' in c for c in calls),
               f'{name}: {calls[:2]}')
        expect([('--no-verify' in c) for c in calls] == [False, False] + [True] * (len(calls) - 2), 'verified once')
        expect(abs(found['geometric_mean']['ratio'] / factor - 1) < 0.005, f'{name}: {found["geometric_mean"]}')
        expect(all(len(row['pair_ratios']) == pairs for row in found['results']), f'{name}: ratios of the pairs')
        expect(f'{pairs} pairs of runs in' in text and 'took turns' in text, f'{name}: {text}')


def check_undecided(convbench, folder):
    """A machine on which 3 % cannot be told: it says so, with a code of its own, and it ends."""
    fake = Fake(convbench, folder, old=runs_of(1, 1, [1] * 40, 0.1), new=runs_of(2, 1, [1] * 40, 0.1))
    code, text, calls = fake.diff('--pairs', '20')
    found = fake.found()
    expect(code == 3 and len(calls) == 40 and 'Undecided:' in text and '8 undecided' in text, f'{code}\n{text}')
    expect(found['geometric_mean']['verdict'] == 'undecided' and found['run']['most_pairs'] == 20, f'{found["run"]}')
    fake = Fake(convbench, folder, old=runs_of(1, 1, [1] * 40, 0.1), new=runs_of(2, 1, [1] * 40, 0.1))
    expect(fake.diff('--pairs', '20', '--detect', '40')[0] == 0, 'a change by 40 % can be excluded')
    fake = Fake(convbench, folder, old=runs_of(1, 1, [1]), new=runs_of(2, 1, [1]))
    code, text, calls = fake.diff('--limit', '1e-6')
    expect(code == 3 and len(calls) == 2 and 'It takes at least 11 pairs' in text, f'limit: {code}\n{text}')
    expect(fake.found()['geometric_mean']['low'] is None and 'unknown' in text, 'no interval of a single pair')
    fake = Fake(convbench, folder, old=runs_of(1, 1, [1]), new=runs_of(2, 1, [1]))
    code, text, calls = fake.diff('--pairs', '8')
    expect(code == 2 and len(calls) == 2 and '8 pairs cannot tell anything of 8 problems' in text, f'{code} {text}')
    # Files: any change may be there, unless it is said which one must not.
    old, new = (write(folder / f'{name}.json', runs_of(seed, 1, [1])[0]) for name, seed in (('old', 1), ('new', 2)))
    expect(diff(convbench, old, new)[0] == 0, 'files')
    code, text = diff(convbench, '--detect', '0.5', old, new)
    expect(code == 3 and 'Undecided:' in text, f'files: {code}\n{text}')


def check_programs(convbench, folder):
    """What a program can do wrong is said, and ends it all."""
    good = runs_of(1, 1, [1] * 15)
    wrong = run_of(random.Random(1))
    wrong['results'][2].update(bitwise_equal=False, parts=[])
    fake = Fake(convbench, folder, old=good, new=[wrong])
    code, text, calls = fake.diff()
    expect(code == 1 and len(calls) == 2 and '48x28x28 48x3x3 p1: WRONG, so it was not timed' in text,
           f'wrong: {code} {len(calls)}\n{text}')
    for script, message in (('echo no such option >&2; exit 2', 'new: exit code 2 and no results; it said:\nno such'),
                            ('kill -9 $$', 'new: it was ended by signal 9 (Killed)'), ('exit 0', 'no results on its'),
                            ('echo hello', "new:1:1: 'h' where a value"), ('exec /none', 'new: it could not be run'),
                            ('cat new.1; exit 1', 'new: exit code 1'),
                            ('[ -f second ] && exit 4; touch second; cat new.1', 'new: exit code 4 and no results')):
        fake = Fake(convbench, folder, old=good, new=good[:1])
        fake.program('new', script)
        code, text, calls = fake.diff()
        expect(code == (0 if 'cat new.1; exit 1' in script else 2) and message in text, f'{script}: {code}\n{text}')
    for programs, message in ((('none', 'old'), 'none: it could not be run\nit cannot be started: No such file'),
                              (('old',), 'takes two programs')):
        code, text, _ = Fake(convbench, folder, old=good, new=good).diff(programs=programs)
        expect(code == 2 and message in text, f'{programs}: {code}\n{text}')
    expect(Fake(convbench, folder, old=good, new=good).diff(words=())[0] == 2, 'nothing to measure')
    # Words for the shell; a file whose name has a blank is a file.
    fake = Fake(convbench, folder, old=good, new=runs_of(2, 1, [1] * 15))
    fake.program('a new', '[ "$FACTOR" ] && exit 5; exec ./new "$@"')
    code, text, calls = fake.diff(programs=(folder / 'old', folder / 'a new'))
    expect(code == 0 and calls[1].startswith('new --time'), f'a blank in a name: {code}\n{text}')
    code, text, _ = fake.diff(programs=(f'FACTOR=1 "{folder}/a new"', folder / 'old'))
    expect(code == 2 and 'exit code 5' in text, f'words for the shell: {code}\n{text}')


def ends(process, seconds=60):
    """A process that a signal has reached may take its time to go."""
    state = Path('/proc', process, 'stat')
    for _ in range(100 * seconds):
        try:
            if state.read_text().split()[2] in 'ZX':
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def check_interrupted(convbench, folder):
    """What asks diff to end asks the program and all below it first; no file stays behind."""
    fake = Fake(convbench, folder)
    (folder / 'temporary').mkdir()
    fake.program('old', 'sleep 300 & echo $! > sleeper; wait')
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # In the background of a shell, or below nohup, some are ignored, and would go on being so.
        signal.signal(number, signal.SIG_DFL)
        (folder / 'sleeper').unlink(missing_ok=True)
        with subprocess.Popen([convbench, 'diff', '--run', folder / 'old', folder / 'old', '--', '1x1'],
                              env={**os.environ, 'TMPDIR': str(folder / 'temporary')}) as process:
            while not (folder / 'sleeper').exists() or not (folder / 'sleeper').read_text().strip():
                time.sleep(0.01)
            process.send_signal(number)
            expect(process.wait(60) == -number, f'{number}: {process.returncode}')
        expect(ends((folder / 'sleeper').read_text().strip()), f'{number}: what it started still runs')
    expect(not list((folder / 'temporary').iterdir()), 'a file stays behind')


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
    for turn in range(1, 6, 2):
        write(new[turn], run_of(draw, 1.03, 1e9 + 100 * turn - 40))
    expect('took turns' in diff(convbench, *old, ':', *new)[1], 'old, new, new, old are turns too')
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
    for results, code in (([row('1x1', 'a'), result('2x2', [], bitwise_equal=False)], 1), ([row('1x1', 'a')], 0),
                          ([result('2x2', [], bitwise_equal=False)], 1)):
        done, text = diff(convbench, '--threshold', '50', paths[0], write(folder / 'wrong.json', document(results)))
        expect(done == code and ('2x2: WRONG, so it was not timed' in text) == (code == 1), f'wrong: {done}\n{text}')


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
                               (['--json', '/none/x', whole, whole], 'cannot be written'),
                               (['--pairs', '20', whole, whole], 'belong to diff --run'),
                               ([whole, whole, '--', '1x1'], 'belong to diff --run'),
                               (['--run', '--pairs', '1000', 'a', 'b', '--', '1x1'], 'at most 400 pairs'),
                               (['--run', '--pairs', '1', 'a', 'b', '--', '1x1'], 'at least 2'),
                               (['--run', '--limit', '0', 'a', 'b', '--', '1x1'], 'a number above 0')]:
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
    code, text = diff(convbench, '--run', '--pairs', '7', convbench, f'CONV2D_ISA=scalar {convbench}', '--', '--time',
                      '0.001', '2x9x9 3x3')
    expect(code in (0, 1, 3) and '7 pairs of runs' in text, f'real, in turns: {code}\n{text}')


def main():
    checks = [check_trials, check_busy, check_run, check_undecided, check_programs, check_interrupted, check_turns,
              check_rows, check_clock, check_refusals, check_real]
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            check(sys.argv[1], Path(folder))
    print('\n'.join(failures + [f'{len(checks)} checks, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
