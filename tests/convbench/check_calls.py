#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what convbench --calls writes: that the text, the CSV and the JSON tell of the same calls, and that columns
and tables hang together as docs/calls.md says.
usage: check_calls.py CONVBENCH"""
import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = 400
COUNTS = ['involuntary', 'voluntary', 'migrations']
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-8, abs_tol=1e-8)


def check_table(name, column, calls):
    buckets = column['buckets']
    expect(sum(b['calls'] for b in buckets) == calls, f'{name}: its buckets do not hold all calls')
    for b in buckets:
        shares = b['duration_given_this']
        if b['calls'] == 0:
            expect(all(s is None for s in shares) and b['low'] is None, f'{name}: an empty bucket says something')
        else:
            expect(near(sum(shares), 1), f'{name}: a column of its table sums to {sum(shares)}')
            inside = sum(b['low'] <= v <= b['high'] for v in column['values'])
            expect(inside == b['calls'], f'{name}: {inside} values within a bucket of {b["calls"]}')


def check_series(series):
    columns = {column['name']: column for column in series['columns']}
    values = {name: column['values'] for name, column in columns.items()}
    title = f'{series["problem"]}, {series["threads"]} threads'
    expect(all(len(v) == series['calls'] == CALLS for v in values.values()), f'{title}: numbers of values')
    expect(min(values['duration']) > 0 and min(values['gap']) >= 0, f'{title}: a duration or gap is negative')
    expect(values['previous'][1:] == values['duration'][:-1], f'{title}: previous is not the duration before')
    expect(values['elapsed'][0] == 0 and sorted(values['elapsed']) == values['elapsed'], f'{title}: elapsed')
    disturbed = [i for i in range(CALLS) if any(values[name][i] for name in COUNTS)]
    expect(disturbed == series['disturbed'], f'{title}: other calls are marked than those that were disturbed')
    for number, (name, column) in enumerate(columns.items()):
        expect(column['constant'] == (len(set(column['values'])) == 1), f'{title}: {name} constant?')
        check_table(f'{title}: {name}', column, CALLS)
        for kind in ('pearson', 'spearman'):
            own = column[kind][number]
            expect(own is None if column['constant'] else near(own, 1), f'{title}: {kind} of {name} with itself: {own}')
            for other, r in zip(series['columns'], column[kind]):
                expect(r == other[kind][number], f'{title}: {kind} of {name} and {other["name"]} is not symmetric')
                expect(r is None or -1 <= r <= 1, f'{title}: {kind} is {r}')
    own = [b['duration_given_this'] for b in columns['duration']['buckets']]
    expect(all(row[i] in (1, None) for i, row in enumerate(own)), f'{title}: the duration does not decide itself')


def check_csv(path, all_series):
    rows = list(csv.DictReader(path.open()))
    expect(len(rows) == CALLS * len(all_series), f'{len(rows)} lines in the CSV')
    for i, row in enumerate(rows):
        series = all_series[i // CALLS]
        call = i % CALLS
        expect(int(row['call']) == call and row['problem'] == series['problem'], f'CSV line {i}: another call')
        expect(int(row['disturbed']) == (call in series['disturbed']), f'CSV line {i}: disturbed')
        for column in series['columns']:
            found = float(row[f'{column["name"]} ({column["unit"]})'])
            expect(near(found, column['values'][call]), f'CSV line {i}: {column["name"]} is {found}')


def main():
    with tempfile.TemporaryDirectory() as directory:
        written = Path(directory) / 'calls.json', Path(directory) / 'calls.csv'
        done = subprocess.run([sys.argv[1], '--calls', str(CALLS), '--threads', '1,2', '--json', written[0], '--csv',
                               written[1], '16x20x20 3x3 p1'], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and done.stderr == '', f'exit code {done.returncode}: {done.stderr}')
        document = json.loads(written[0].read_text())
        expect(document['schema'] == 'convbench-calls' and document['bucket_count'] == 10, 'the schema')
        expect([s['threads'] for s in document['series']] == [1, 2], 'not one series for each number of threads')
        for series in document['series']:
            check_series(series)
            expect(f'{CALLS} calls, {len(series["disturbed"])} disturbed' in done.stdout, 'the text has another number')
        expect('\u2591\u2591' in done.stdout and 'Spearman' in done.stdout, 'no tables are drawn')
        check_csv(written[1], document['series'])
    print('\n'.join(failures[:20] + [f'{len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
