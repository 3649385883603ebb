#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the line of progress: on a terminal it counts, fits, and goes away; anywhere else there is none.
usage: check_progress.py CONVBENCH"""
import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

CLEAR = '\r\x1b[K'
PROBLEMS = ['2x9x9 3x3 p1', '4x5x5 1x1 b relu']
FAST = ['--time', '0.02']
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


class Terminal:
    """What a command writes to standard error, which is a terminal so many columns wide, and to standard output."""

    def __init__(self, command, columns=100, term='xterm', output_too=False):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.process = subprocess.Popen(command, stderr=slave, stdout=slave if output_too else subprocess.DEVNULL,
                                        env=dict(os.environ, TERM=term))
        os.close(slave)
        self.text = ''
        self.decoder = codecs.getincrementaldecoder('utf-8')()

    def read_until(self, mark):
        """Everything, if the mark does not come."""
        deadline = time.monotonic() + 60
        while mark not in self.text and time.monotonic() < deadline:
            try:
                data = os.read(self.master, 4096)
            except OSError: # the other side is closed
                break
            if not data:
                break
            self.text += self.decoder.decode(data)
        return self.text

    def finish(self):
        self.read_until('\0')
        code = self.process.wait(timeout=60)
        os.close(self.master)
        return code, self.text


def screen(text):
    """The lines that are left on a terminal."""
    lines = ['']
    for piece in re.split(r'(\n|\r\x1b\[K)', text):
        if piece == '\n':
            lines.append('')
        elif piece == CLEAR:
            lines[-1] = ''
        else:
            lines[-1] += piece
    return lines


def check_counts(convbench):
    code, text = Terminal([convbench, *FAST, '--rounds', '2', '--isa', 'any,scalar', *PROBLEMS]).finish()
    drawn = text.split(CLEAR)
    counts = [int(found[1]) for line in drawn if (found := re.match(r'(\d+) of 8 done', line))]
    expect(code == 0 and counts == sorted(counts) and set(counts) >= {0, 1, 3, 5, 7}, f'counts: {counts}\n{text!r}')
    expect(not re.search(r'left: ', drawn[1]) and re.search(r'done, 0:0\d left: 4x5x5', text), f'time left: {text!r}')
    expect(all(problem.split()[0] in text for problem in PROBLEMS), f'names: {text!r}')
    expect(screen(text) == [''], f'at the end: {screen(text)}')


def check_width(convbench):
    _, text = Terminal([convbench, *FAST, *PROBLEMS], columns=24).finish()
    lines = text.split(CLEAR)
    expect(max(map(len, lines)) == 23, f'24 columns: {lines}')


def check_rows(convbench):
    """Rows and the line share a terminal: no row is cut, none has a rest of the line in it."""
    _, text = Terminal([convbench, *FAST, *PROBLEMS], output_too=True, columns=60).finish()
    lines = screen(text)
    rows = [line for line in lines if re.match(r'\dx\dx\d \dx', line)]
    whole = r'of \d+ +(-|.*(\dx|stolen|GHz))$' # up to the last column
    expect(len(rows) == 2 and all(re.search(whole, row) for row in rows), f'rows: {lines}')
    expect(not any('done' in line for line in lines), f'rest: {lines}')


def check_interrupt(convbench):
    for command, mark in (([convbench, '--time', '30', PROBLEMS[0]], '0 of 1 done'),
                          (turns(convbench, '--', '--time', '30', PROBLEMS[0]), '0 of 120 done: pair 1, old')):
        terminal = Terminal(command)
        terminal.read_until(mark)
        terminal.process.send_signal(signal.SIGINT)
        code, text = terminal.finish()
        expect(code == -signal.SIGINT and screen(text) == [''], f'{command}, interrupted: {code} {text!r}')


def turns(convbench, *words):
    return [convbench, 'diff', '--run', convbench, convbench, *words]


def check_turns(convbench):
    """Of two programs that take turns; what they draw themselves is not to be seen."""
    code, text = Terminal(turns(convbench, '--limit', '0.001', '--', *FAST, PROBLEMS[0])).finish()
    lines = text.split(CLEAR)
    expect(code == 3 and lines[1] == '0 of 120 done: pair 1, old' and screen(text) == [''], f'turns: {code} {text!r}')
    expect(re.fullmatch(r'1 of 120 done, \d+:\d\d left: pair 1, new', lines[2]) and len(lines) == 4, f'turns: {lines}')


def check_silence(convbench):
    """Neither in a pipe nor on a terminal that cannot clear a line."""
    done = subprocess.run([convbench, *FAST, *PROBLEMS], capture_output=True, text=True, timeout=60, check=False)
    expect(done.stderr == '' and '\r' not in done.stdout and '\x1b' not in done.stdout, f'pipe: {done}')
    for term in ('dumb', ''):
        _, text = Terminal([convbench, *FAST, *PROBLEMS], term=term).finish()
        expect(text == '', f'TERM={term}: {text!r}')


def check_others(convbench):
    _, text = Terminal([convbench, '--tune', *FAST, *PROBLEMS]).finish()
    expect('1 of 2 done' in text and screen(text) == [''], f'--tune: {text!r}')
    _, text = Terminal([convbench, '--verify', *PROBLEMS]).finish()
    expect('1 of 2 done' in text and screen(text) == [''], f'--verify: {text!r}')


def check_looks(convbench):
    """Closer looks draw it too, and leave nothing of it."""
    looks = {'--counters': 2, '--topdown': 2, '--phases': 2, '--repeatability': 40, '--calls=50': 2, '--overhead': 5,
             '--hash': 2}
    if subprocess.run([convbench, '--isa-ab', '--time', '0.001', PROBLEMS[0]], capture_output=True,
                      check=False).returncode == 0:
        looks['--isa-ab'] = 2
    else:
        print('no AVX-512 here: --isa-ab is not tried')
    for look, steps in looks.items():
        code, text = Terminal([convbench, look, '--time', '0.005', *PROBLEMS]).finish()
        expect(code == 0 and f'{steps // 2} of {steps} done' in text and screen(text) == [''], f'{look}: {text!r}')
        _, text = Terminal([convbench, look, '--time', '0.005', *PROBLEMS], output_too=True).finish()
        expect(not any('done' in line for line in screen(text)), f'{look}: a rest of the line: {screen(text)}')
    chain = '8x9x9 3x3 p1 + 16x1x1'
    _, text = Terminal([convbench, '--chains', chain, '--isa', 'any,scalar', *FAST]).finish()
    expect('1 of 2 done' in text and screen(text) == [''], f'--chains: {text!r}')


def main():
    checks = [check_counts, check_width, check_rows, check_interrupt, check_turns, check_silence, check_others,
              check_looks]
    for check in checks:
        check(sys.argv[1])
    print('\n'.join(failures + [f'{len(checks)} checks, {len(failures)} failures']))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
