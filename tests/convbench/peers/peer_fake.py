#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker for check_peers.py that behaves in a different way in each mode: nchw is good, the others fail somehow.
Logs each command into $FAKE_LOG: the mode, the command's first word, when it came and left, how often it was woken."""
import array
import os
import signal
import sys
import time

MODES = ['nchw', 'wrong', 'short', 'nan', 'own', 'refuses', 'babbles', 'zero', 'nhwc', 'own-winograd']
wakes = 0
state = {'mode': '', 'runs': 0, 'problem': {}}


def count_wake(number, frame):
    global wakes
    wakes += 1


def value(i, seed):
    h = (i * 2654435761 + seed * 2246822519) & 0xffffffff
    h = (h ^ (h >> 16)) * 3266489917 & 0xffffffff
    h ^= h >> 13
    return (h >> 8) * 2.0 ** -23 - 1


def tap(p, n, ic, y, x):
    """A value of the input, 0 on the padding."""
    inside = 0 <= y < p['h'] and 0 <= x < p['w']
    return value(((n * p['c'] + ic) * p['h'] + y) * p['w'] + x, 1) if inside else 0


def convolve(p):
    out_h = (p['h'] + p['pt'] + p['pb'] - (p['r'] - 1) * p['dh'] - 1) // p['sh'] + 1
    out_w = (p['w'] + p['pl'] + p['pr'] - (p['s'] - 1) * p['dw'] - 1) // p['sw'] + 1
    ics, ocs = p['c'] // p['g'], p['k'] // p['g']
    for n in range(p['n']):
        for k in range(p['k']):
            for y in range(out_h):
                for x in range(out_w):
                    yield p['bias'] * value(k, 3) + sum(
                        tap(p, n, k // ocs * ics + c, y * p['sh'] - p['pt'] + i * p['dh'],
                            x * p['sw'] - p['pl'] + j * p['dw']) *
                        value(((k * ics + c) * p['r'] + i) * p['s'] + j, 2)
                        for c in range(ics) for i in range(p['r']) for j in range(p['s']))


def do_problem(words):
    pairs = dict(word.split('=') for word in words)
    state.update(mode=pairs.pop('mode'), runs=0)
    if pairs.pop('act') != 'none':
        return 'cannot do activations'
    state['problem'] = {key: int(float(text)) for key, text in pairs.items()}
    return 'cannot because it will not' if state['mode'] == 'refuses' else 'ready ' + state['mode'] + ' was made'


def do_run(words):
    state['runs'] += 1
    if state['mode'] == 'own':
        os.kill(os.getpid(), signal.SIGKILL)
    if state['mode'] == 'babbles':
        return 'well, about a second'
    if state['mode'] == 'zero':
        return 'times 1 0'
    return 'times 7 %d %d.5 1000' % (state['runs'], state['runs'])


def do_output(words):
    out = array.array('f', convolve(state['problem']))
    if state['mode'] == 'wrong':
        out[3] += 1e-4
    if state['mode'] == 'nan':
        out[0] = float('nan')
    if state['mode'] == 'short':
        out.pop()
    with open(' '.join(words), 'wb') as file:
        out.tofile(file)
    return 'written %d' % len(out)


def do_drop(words):
    return 'dropped'


def main():
    signal.signal(signal.SIGCONT, count_wake)
    print('peer', ','.join(MODES), 'a fake,', *sys.argv[1:], flush=True)
    commands = {'problem': do_problem, 'run': do_run, 'output': do_output, 'drop': do_drop}
    with open(os.environ['FAKE_LOG'], 'a') as log:
        while (line := sys.stdin.readline()) and line != 'quit\n':
            came = time.monotonic()
            word, *rest = line.split()
            print(word, wakes, came, state['mode'] if word != 'problem' else rest[0][5:], file=log, flush=True)
            print(commands[word](rest), flush=True)


main()
