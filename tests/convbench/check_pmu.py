#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what convbench makes of a PMU, with one that is made up: counts, top-down shares, the page, single calls.
usage: check_pmu.py CONVBENCH FAKE_PMU"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROBLEM = '4x9x9 3x3 p1'
FAST = ['--time', '0.02']
# Of the made-up readings of Zen 4 (fake_pmu.c), the same as in test_topdown.c.
SHARES = {'retiring': 0.5, 'light operations': 0.495, 'heavy operations, microcode': 0.005, 'bad speculation': 0.03,
          'branch mispredicts': 0.027, 'machine clears, restarts': 0.003, 'frontend bound': 0.1, 'fetch latency': 0.06,
          'fetch bandwidth': 0.04, 'backend bound': 0.35, 'memory': 0.07,
          'core: FMA pipes, other ports, latency': 0.28, "the core's other thread": 0.02}
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(convbench, fake, *arguments):
    done = subprocess.run([convbench, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, LD_PRELOAD=fake))
    expect(done.returncode == 0, f'{arguments}: exit code {done.returncode}: {done.stderr}')
    return done.stdout


def read(convbench, fake, *arguments):
    text = run(convbench, fake, *arguments, '--json', '-')
    return json.loads(text) if text else {}


def check_counters(convbench, fake):
    found = read(convbench, fake, *FAST, '--counters=basic,software', PROBLEM)
    row = found['results'][0]
    counters = {counter['name']: counter for counter in row['counters']}
    expect(found['pmu'] and found['perf_event_paranoid'] == 2, f'host: {found}')
    expect(all(counter['reason'] is None and counter['counted_share'] == 1 for counter in counters.values()),
           f'all are counted: {counters}')
    expect(row['cycles_counted'] and math.isclose(row['cycles'], counters['cycles']['value']), f'cycles: {row}')
    expect(math.isclose(row['cycles'] * row['counted_calls'], 1e6), f'cycles of a call: {row}')
    expect(math.isclose(row['instructions_per_cycle'], 1.5), f'instructions a cycle: {row}')
    text = run(convbench, fake, *FAST, '--counters=basic', PROBLEM)
    expect('instructions a cycle' in text and 'not counted' not in text, text)


def check_topdown(convbench, fake):
    """True if this CPU is the one whose readings are made up."""
    found = read(convbench, fake, *FAST, '--topdown', PROBLEM)
    if found['events_of'] != 'AMD Zen 4':
        print(f'the made-up readings are those of Zen 4, and this CPU is {found["events_of"]}: no top-down analysis')
        return False
    row = found['results'][0]
    for node in row['topdown']:
        expect(math.isclose(node['share'], SHARES[node['name']], rel_tol=1e-9), f'{node}')
    expect(len(row['topdown']) == len(SHARES) and row['estimated'], f'estimated: {row}')
    expect(math.isclose(row['fma_pipes_share'], 0.95), f'FMA pipes: {row["fma_pipes_share"]}')
    text = run(convbench, fake, *FAST, '--topdown', PROBLEM)
    expect(re.search(r'FMA pipes busy, counted +95\.0 %', text) and re.search(r'backend bound +35\.0 %', text), text)
    expect('estimated: the events shared' in text and 'no top-down analysis' not in text, text)
    return True


def check_page(convbench, fake, is_known):
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / 'page.html'
        run(convbench, fake, *FAST, '--html', page, PROBLEM)
        text = page.read_text()
    table = re.search(r'What a call counts</caption>(.*?)</table>', text, re.S).group(1)
    titles = re.findall(r'<th[^>]*>(.*?)</th>', table)
    cells = dict(zip(titles, re.findall(r'<td[^>]*>(.*?)</td>', table)))
    expect(cells.get('instructions a cycle') == '1.50' and cells.get('allocations') in ('0', None), f'page: {cells}')
    if is_known:
        expect('Not counted:' not in text, 'page: something is not counted')
        expect(cells['% FMA pipes busy'] == '95.0' and cells['% retiring'] == '50.0', f'page: {cells}')
        expect(cells['% memory'] == '7.0' and cells['ex_ret_ucode_ops'][0] == '~', f'page: {cells}')


def check_calls(convbench, fake):
    columns = {column['name']: column for column in
               read(convbench, fake, '--calls', '30', PROBLEM)['series'][0]['columns']}
    expect({'cycles', 'instructions', 'branch-misses'} <= set(columns), f'columns: {set(columns)}')
    expect(all(value == 1e6 for value in columns['cycles']['values']), f'cycles: {columns["cycles"]["values"][:5]}')


def main():
    convbench, fake = map(os.path.abspath, sys.argv[1:])
    if b'__asan_init' in Path(convbench).read_bytes():
        print('built with sanitizers, before which nothing can be preloaded: skipped')
        return 77
    check_counters(convbench, fake)
    check_page(convbench, fake, check_topdown(convbench, fake))
    check_calls(convbench, fake)
    print('\n'.join(failures + [f'4 checks, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
