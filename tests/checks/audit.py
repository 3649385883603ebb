#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the machine code of the generated tiles, for several compilers and options, and fails on what makes them slow.

A hot loop is an innermost loop with fused multiply-adds.  In it: no call, no vector register saved to or reloaded from
the stack, full-width multiply-adds only, and as many of them as the tile's name promises.  In all loops of tiles that
wait for multiply-adds: no address moved to or from a vector register.  In a whole tile: no call.  In every function
of a file: no instruction that the file's instruction set lacks.  Needs no particular CPU."""
import argparse
import itertools
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.dont_write_bytecode = True
from disassembly import memory_operand, read_functions  # noqa: E402

FLAGS = ['-std=c11', '-fPIC', '-ffp-contract=off', '-fno-math-errno']
SKIPPED = 77
TILE = re.compile(r'^conv2d_f32_(\w+?)_kw(\d+|any)_.*__(avx2|avx512)_([a-z])(\d+)x(\d+)(_\w+)?$')
ISA = re.compile(r'avx512|avx2')
WIDTH = {'avx2': 'ymm', 'avx512': 'zmm'}
REGISTERS = {'ymm': 16, 'zmm': 32}
COLUMNS = ['kernel', 'vector registers', 'bytes', 'multiply-adds', 'vector loads', 'broadcasts', 'embedded broadcasts',
           'other', 'scalar spills', 'mask spills', 'vector spills around']
VECTOR = re.compile(r'%[xyz]mm(\d+)')
MASK = re.compile(r'%k[0-7]')
GENERAL = re.compile(r'%([re][a-ds][ixp]|r\d+)')
FMA_BOUND = 'kwg'
# Extensions that no dispatch level asks for: BMI, LZCNT, POPCNT, F16C.  (tzcnt is what compilers write for bsf.)
FOREIGN = re.compile(r'^(andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|s[ah][lr]x|lzcnt|popcnt|vcvtp[hs]2p[hs]$)')


def is_fma(instruction):
    return instruction.opcode.startswith('vfm') or instruction.opcode.startswith('vfnm')


class Tile:
    """A function and its hot loops, as lists of instructions."""

    def __init__(self, function):
        self.function = function
        self.promise = TILE.match(function.name)
        half = function.name.endswith('_half')
        self.width = 'ymm' if half else self.promise and WIDTH[self.promise.group(3)]
        self.on_stack = function.stack_references()
        loops = [loop for loop in function.loops() if any(map(is_fma, self.instructions(loop.body)))]
        inner = [loop for loop in loops if not any(other.header in loop.body for other in loops if other != loop)]
        self.hot = [self.instructions(loop.body) for loop in inner]
        self.around = self.instructions(set().union(*(loop.body for loop in loops)) -
                                        set().union(*(loop.body for loop in inner)))

    def instructions(self, blocks):
        return [instruction for index in sorted(blocks) for instruction in self.function.blocks[index]]

    def spills(self, instructions):
        """Stack references, counted by what is moved: 'vector', 'mask' or 'scalar'."""
        return Counter(kind_of(i) for i in instructions if i.address in self.on_stack)


def kind_of(instruction):
    return 'vector' if VECTOR.search(instruction.text) else 'mask' if MASK.search(instruction.text) else 'scalar'


def keeps_address(instruction):
    """A move of 64 bits between a general and a vector register, which takes a port of Intel's FMA units."""
    return instruction.opcode == 'vmovq' and bool(GENERAL.search(instruction.text)) and \
        memory_operand(instruction) is None


def callee(function, instruction):
    """What a call or a jump out of the function leads to, else None."""
    opcode, operands = instruction.opcode, instruction.operands
    where = re.sub(r'-0x\w+$', '', instruction.relocation or operands[0]) if operands else ''
    if opcode.startswith('call') or instruction.address in function.indirect_exits:
        return where
    if not opcode.startswith('j') or where.startswith('*') or function.target(instruction) is not None:
        return None
    return None if where.startswith('.text') or function.name + '.cold' in where else where


def twin(function):
    """gcc makes one of functions with equal code: the tile that this one only jumps to, else None."""
    code = [i for i in function.code if not i.opcode.startswith('endbr')]
    to = callee(function, code[0]) if len(code) == 1 else None
    return re.sub(r'.*<|>', '', to) if to and 'conv2d_' in to else None


def check_isa(function, isa):
    for i in function.code:
        if isa == 'avx2' and (i.evex or 'zmm' in i.text or MASK.search(i.text)):
            yield i, 'AVX-512 instruction in AVX2 code'
        elif FOREIGN.match(i.opcode):
            yield i, 'instruction of an extension that the dispatcher does not check'
        elif 'xmm' in i.text and not i.opcode.startswith('v'):
            yield i, 'SSE encoding among AVX code'


def check_tile(tile):
    function = tile.function
    hot = {instruction.address for loop in tile.hot for instruction in loop}
    for i in function.code:
        if callee(function, i):
            yield i, f'calls {callee(function, i)}' + (' in a hot loop' if i.address in hot else '')
    for loop in tile.hot:
        for i in loop:
            if i.address in tile.on_stack and kind_of(i) == 'vector':
                yield i, 'vector register spilled or reloaded in a hot loop'
            if is_fma(i) and tile.promise and tile.width not in i.text:
                yield i, 'multiply-add narrower than the instruction set'
        yield from check_promise(tile, loop)
    if tile.promise and tile.promise.group(4) in FMA_BOUND:
        for i in filter(keeps_address, itertools.chain(*tile.hot, tile.around)):
            yield i, 'general register kept in a vector register, in a loop'
    if tile.promise and not tile.hot:
        yield function.code[0], 'no hot loop found'


def check_promise(tile, loop):
    """A pass of the loop is all unrolled taps times the tile, or several such where compilers unroll further.  Not so
    in variants for edges: they leave taps out, or guard them, and compilers copy or merge the paths; nor in looped
    tiles along more than six columns, whose inner variant has paths for some of the columns too, but one for all of
    them; nor in tiles of K without a register to spare, whose taps are a loop inside (rolls_taps, gen/family_k.c)."""
    if tile.promise:
        fmas = sum(map(is_fma, loop))
        layout, taps, _, family, channels, columns, edge = tile.promise.groups()
        # Depthwise NHWC tiles have loops of their own for the input rows that serve one output row only.
        rows = 1 if layout == 'nhwc' and family in 'dg' else int(channels)
        full = family == 'k' and int(columns) > 1 and int(channels) * (int(columns) + 1) + 1 == REGISTERS[tile.width]
        step = (1 if taps == 'any' or full else int(taps)) * rows * int(columns)
        parts = layout == 'nhwc' and taps == 'any' and int(columns) > 6
        if not edge and (fmas < step if parts else fmas % step):
            yield next(filter(is_fma, loop)), f'hot loop has {fmas} multiply-adds, no multiple of {step}'


def statistics(tile, loop):
    """Counts for the table, in the order of its columns."""
    fmas = [i for i in loop if is_fma(i)]
    embedded = sum('{1to' in i.text for i in fmas)
    folded = sum(memory_operand(i) is not None for i in fmas) - embedded
    broadcasts = sum(i.opcode.startswith(('vbroadcast', 'vpbroadcast')) for i in loop)
    moves = sum(i.opcode.startswith('vmov') and '(' in i.text and bool(VECTOR.search(i.operands[-1])) for i in loop)
    spills = tile.spills(loop)
    return (len(fmas), moves + folded, broadcasts, embedded, len(loop) - len(fmas) - moves - broadcasts,
            spills['scalar'], spills['mask'])


def table_row(tile):
    """Where a function has several hot loops, a slash between their numbers."""
    code = tile.function.code
    registers = {number for i in code for number in VECTOR.findall(i.text)}
    numbers = zip(*(statistics(tile, loop) for loop in tile.hot))
    cells = [tile.function.name, len(registers), code[-1].address - code[0].address + 1]
    cells += ['/'.join(map(str, column)) for column in numbers] or [''] * 7
    return '| ' + ' | '.join(map(str, cells + [tile.spills(tile.around)['vector']])) + ' |'


def table(rows, title):
    lines = [f'Machine code of the tiles ({title}), per hot loop.  Written by tests/checks/audit.py.', '',
             '| ' + ' | '.join(COLUMNS) + ' |', '|---' + '|---:' * (len(COLUMNS) - 1) + '|'] + sorted(rows)
    return '\n'.join(lines) + '\n'


def describe(place, function, found):
    """One line per rule that a function breaks: the first instruction at fault, and how many there are."""
    for message in dict.fromkeys(message for _, message in found):
        at_fault = [i for i, other in found if other == message]
        more = f' ({len(at_fault)} of this kind)' if len(at_fault) > 1 else ''
        first = at_fault[0]
        yield f'{place}: {function.name}+{first.address - function.start:#x}: {first.text}: {message}{more}'


class Report:
    """What one compiler and option made of one source: plain numbers and text, because another process makes it."""

    def __init__(self, include, directory, job):
        self.compiler, self.option, source = job
        self.place = f'{self.compiler} {self.option}'
        self.functions, self.loops, self.rows, self.failures = 0, 0, [], []
        target = Path(directory) / (re.sub(r'\W', '_', self.place) + Path(source).name + '.o')
        command = shlex.split(self.compiler) + FLAGS + [self.option] + [f'-I{path}' for path in include]
        done = subprocess.run(command + ['-c', source, '-o', str(target)], stderr=subprocess.PIPE, text=True)
        if done.returncode:
            first_lines = '\n'.join(done.stderr.splitlines()[:10])
            self.failures.append(f'{self.place}: {source} does not compile:\n{first_lines}')
            return
        isa = ISA.search(Path(source).name)
        for function in read_functions(target):
            self.audit(function, ISA.search(function.name) or isa)

    def audit(self, function, isa):
        found = list(check_isa(function, isa.group())) if isa else []
        if function.is_global and function.name.startswith('conv2d_'):
            self.functions += 1
            if twin(function):
                self.rows.append(f'| {function.name} | as {twin(function)} |' + ' |' * (len(COLUMNS) - 2))
            else:
                tile = Tile(function)
                found += check_tile(tile)
                self.loops += len(tile.hot)
                self.rows.append(table_row(tile))
        self.failures += describe(self.place, function, found)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--table', metavar='FILE.md', help='write statistics for the first compiler and option')
    parser.add_argument('--compiler', action='append', required=True)
    parser.add_argument('--opt', action='append', required=True, help='for example -O2')
    parser.add_argument('--include', action='append', default=[], metavar='DIR')
    parser.add_argument('source', nargs='+')
    # argparse takes "-O2" for an option of its own unless it is joined to --opt.
    joined = re.sub(r'(^|\0)--opt\0', r'\1--opt=', '\0'.join(sys.argv[1:]))
    return parser.parse_args(joined.split('\0'))


def main():
    options = arguments()
    if not shutil.which('objdump'):
        print('objdump not found: the audit is skipped')
        return SKIPPED
    compilers = []
    for compiler in options.compiler:
        if shutil.which(shlex.split(compiler)[0]):
            compilers.append(compiler)
        else:
            print(f'{compiler} not found: its part of the audit is skipped')
    if not compilers:
        print('no compiler found: the audit is skipped')
        return SKIPPED
    sources = sorted(options.source, key=lambda source: -Path(source).stat().st_size)
    jobs = [(compiler, option, source) for compiler in compilers for option in options.opt for source in sources]
    with tempfile.TemporaryDirectory() as directory, ProcessPoolExecutor(2) as pool:
        reports = list(pool.map(partial(Report, options.include, directory), jobs))
    if options.table:
        first = reports[0].place
        rows = [row for report in reports if report.place == first for row in report.rows]
        Path(options.table).write_text(table(rows, first))
    return summarise(reports)


def summarise(reports):
    functions = sum(report.functions for report in reports)
    failures = [failure for report in reports for failure in report.failures]
    if not functions:
        failures.append('there is no function named conv2d_* to audit')
    print('\n'.join(failures + ['']), end='')
    print(f'{functions} functions audited, {sum(report.loops for report in reports)} loops, {len(failures)} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
