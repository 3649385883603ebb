# SPDX-License-Identifier: MIT
"""What audit.py needs to know of an object file: its functions, their flow of control and their loops."""
import re
import subprocess
from collections import namedtuple

Instruction = namedtuple('Instruction', 'address evex opcode operands text relocation')
Loop = namedtuple('Loop', 'header body')  # body: indices of blocks, the header among them

SYMBOL = re.compile(r'^[0-9a-f]+ (g|l|w|u|!)......? *(\S+)\t[0-9a-f]+ +(?:\.hidden |0x\w+ )?(\S+)$')
SECTION = re.compile(r'^Disassembly of section (\S+):$')
HEADER = re.compile(r'^[0-9a-f]+ <(.+)>:$')
LINE = re.compile(r'^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$')
RELOCATION = re.compile(r'^\s+[0-9a-f]+: R_X86_64_\S+\t(\S+)$')
PREFIXES = {'rep', 'repz', 'repnz', 'lock', 'notrack', 'bnd', 'data16', 'cs', 'ds', 'es', '{evex}', '{vex}'}
OPERAND = re.compile(r'(?:[^,(]|\([^)]*\))+')
TARGET = re.compile(r'^([0-9a-f]+) <')
ENDINGS = ('ret', 'ud2', 'hlt')

# Every name of a general-purpose register of at least 32 bits, with its 64-bit name.
WIDE = {'e' + name: 'r' + name for name in ('ax', 'bx', 'cx', 'dx', 'si', 'di', 'bp', 'sp')}
WIDE.update({f'r{n}d': f'r{n}' for n in range(8, 16)})
WIDE.update({name: name for name in list(WIDE.values())})


def parse_instruction(match):
    """An Instruction from one line of objdump."""
    code = bytes.fromhex(match.group(2))
    words = match.group(3).split('#')[0].split()
    text = ' '.join(words)
    while len(words) > 1 and words[0] in PREFIXES:
        words.pop(0)
    operands = [operand.strip() for operand in OPERAND.findall(' '.join(words[1:]))]
    # In 64-bit code an opcode that starts with 62 hex is an EVEX prefix: AVX-512 and nothing else.
    evex = code.lstrip(b'\x64\x65\x67')[:1] == b'\x62'
    return Instruction(int(match.group(1), 16), evex, words[0] if words else '', operands, text, None)


class Function:
    """A symbol's code as blocks: lists of instructions that only the last one leaves and only the first one enters."""

    def __init__(self, name, section):
        self.name, self.section, self.is_global = name, section, False
        self.code = []
        self.indirect_exits = set()  # addresses of indirect jumps that no jump table explains

    def finish(self):
        while len(self.code) > 1 and is_padding(self.code[-1:]):
            self.code.pop()
        self.start = self.code[0].address
        self.blocks = self._split()
        self.successors, self.predecessors = self._connect()

    def target(self, instruction):
        """The address a jump leads to if it is inside this function, else None."""
        match = TARGET.match(instruction.operands[0]) if instruction.operands and not instruction.relocation else None
        address = int(match.group(1), 16) if match else -1
        return address if self.start <= address <= self.code[-1].address else None

    def _split(self):
        starts = {self.start}
        for instruction, following in zip(self.code, self.code[1:] + [None]):
            if instruction.opcode.startswith('j'):
                starts.add(self.target(instruction))
            if following and instruction.opcode.startswith(('j',) + ENDINGS):
                starts.add(following.address)
        blocks = []
        for instruction in self.code:
            if instruction.address in starts:
                blocks.append([])
            blocks[-1].append(instruction)
        return blocks

    def _connect(self):
        at = {block[0].address: index for index, block in enumerate(self.blocks)}
        successors = [set() for _ in self.blocks]
        indirect = []
        for index, block in enumerate(self.blocks):
            last = block[-1]
            if last.opcode.startswith('j') and self.target(last) is not None:
                successors[index].add(at[self.target(last)])
            if last.opcode == 'jmp' and last.operands[0].startswith('*'):
                indirect.append(index)
            if not last.opcode.startswith(('jmp',) + ENDINGS) and index + 1 < len(self.blocks):
                successors[index].add(index + 1)
        self._connect_tables(successors, indirect)
        predecessors = [set() for _ in self.blocks]
        for index, following in enumerate(successors):
            for block in following:
                predecessors[block].add(index)
        return successors, predecessors

    def _connect_tables(self, successors, indirect):
        """What the jumps of `switch` lead to: the code behind them, and further blocks that nothing else enters, which
        compilers put before the next such jump."""
        tables = [index for index in indirect if reads_table(self.blocks[index])]
        orphans = set(range(1, len(self.blocks))).difference(*successors)
        for index in tables:
            if index + 1 < len(self.blocks):
                successors[index].add(index + 1)
        for block in orphans:
            if tables and not is_padding(self.blocks[block]):
                successors[max((index for index in tables if index < block), default=tables[0])].add(block)
        self.indirect_exits.update(self.blocks[index][-1].address for index in indirect if index not in tables)

    def loops(self):
        """The natural loops, one per header.  Compilers make reducible code, where a back edge is any edge to a block
        that a depth-first walk is still inside of."""
        latches = {}
        inside, done, stack = {0}, set(), [(0, iter(self.successors[0]))]
        while stack:
            block, remaining = stack[-1]
            following = next(remaining, None)
            if following is None:
                stack.pop()
                inside.discard(block)
                done.add(block)
            elif following in inside:
                latches.setdefault(following, set()).add(block)
            elif following not in done:
                inside.add(following)
                stack.append((following, iter(self.successors[following])))
        return [Loop(header, self._body(header, tails)) for header, tails in sorted(latches.items())]

    def _body(self, header, latches):
        body, pending = {header}, list(latches)
        while pending:
            block = pending.pop()
            if block not in body:
                body.add(block)
                pending.extend(self.predecessors[block])
        return body

    def stack_references(self):
        """The addresses of the instructions with an operand in memory whose base or index may be a stack address.
        Compilers do not only use rsp: gcc realigns the stack with any register, and rbp is as often a plain pointer."""
        entry = [set() for _ in self.blocks]
        entry[0] = {'rsp'}
        found, pending = set(), [0]
        visited = set()
        while pending:
            index = pending.pop()
            visited.add(index)
            registers = set(entry[index])
            for instruction in self.blocks[index]:
                if points_to(instruction, registers):
                    found.add(instruction.address)
                follow_stack(instruction, registers)
            for following in self.successors[index]:
                if not registers <= entry[following] or following not in visited:
                    entry[following] |= registers
                    pending.append(following)
        return found


def is_padding(block):
    return all(instruction.opcode.startswith(('nop', 'xchg', 'int3')) for instruction in block)


def reads_table(block):
    """Whether a block ends in a jump to what it read of a table of distances."""
    return any(instruction.opcode == 'movslq' and ',4)' in instruction.operands[0] for instruction in block)


def memory_operand(instruction):
    """The operand in memory, or None.  An address that is only computed (lea) is none."""
    if instruction.opcode.startswith(('lea', 'nop')):
        return None
    return next((operand for operand in instruction.operands if '(' in operand), None)


def points_to(instruction, registers):
    operand = memory_operand(instruction)
    return bool(operand) and any(name in registers for name in re.findall(r'%(\w+)[,)]', operand))


def follow_stack(instruction, registers):
    """Updates the set of registers that hold stack addresses."""
    opcode, operands = instruction.opcode, instruction.operands
    written = WIDE.get(operands[-1].lstrip('%')) if operands else None
    if not written or written == 'rsp' or opcode.startswith(('cmp', 'test', 'push', 'j', 'bt')):
        return
    sources = set(re.findall(r'%(r\w+)', operands[0]))
    if opcode.startswith('lea') or opcode == 'mov' and '(' not in operands[0]:
        if sources & registers:
            registers.add(written)
        else:
            registers.discard(written)
    elif not opcode.startswith(('add', 'sub', 'and', 'cmov', 'inc', 'dec')):
        registers.discard(written)


def read_functions(path):
    """Every function in an object file, in its order."""
    listing = subprocess.run(['objdump', '-t', '-d', '-r', '--insn-width=15', str(path)], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    functions, symbols, section = [], set(), ''
    for line in listing.splitlines():
        if match := LINE.match(line):
            if match.group(3):
                functions[-1].code.append(parse_instruction(match))
        elif match := RELOCATION.match(line):
            functions[-1].code[-1] = functions[-1].code[-1]._replace(relocation=match.group(1))
        elif match := HEADER.match(line):
            functions.append(Function(match.group(1), section))
        elif match := SECTION.match(line):
            section = match.group(1)
        elif (match := SYMBOL.match(line)) and match.group(1) != 'l':
            symbols.add(match.group(3))
    functions = [function for function in functions if function.code]
    for function in functions:
        function.is_global = function.name in symbols
        function.finish()
    return functions
