#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes point downwards only: every file may include what RULES says and nothing else of the project,
no header includes itself on a detour, and the public headers need nothing but <stddef.h>.
usage: check_includes.py SOURCE_DIR"""
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

# What of convbench the tests use.
TESTED = [
    'benchmarks/chain_problem.h',
    'benchmarks/darknet.h',
    'benchmarks/input.h',
    'benchmarks/json_value.h',
    'benchmarks/looks.h',
    'benchmarks/machine_code.h',
    'benchmarks/markup.h',
    'benchmarks/onnx.h',
    'benchmarks/oracle.h',
    'benchmarks/plot.h',
    'benchmarks/problem.h',
    'benchmarks/ratio.h',
    'benchmarks/sample.h',
    'benchmarks/shapes.h',
    'benchmarks/signed_rank.h',
    'benchmarks/statistics.h',
    'benchmarks/summary.h',
    'benchmarks/verbose_log.h',
]

# Who may include what; the first line that fits a file decides.  From the bottom layer to the top one.
RULES = [
    ('include/conv2d.h', []),
    ('include/*', ['include/conv2d.h']),
    ('src/kernel.h', ['include/*']),
    ('src/cpu.h', ['include/*']),
    ('src/*', ['include/*', 'src/*']),
    ('gen/*', ['gen/*']),
    ('benchmarks/*', ['include/*', 'benchmarks/*']),
    ('stress/fuzz/*', ['include/*', 'stress/*', *TESTED]),
    ('stress/*', ['include/*', 'stress/*', 'benchmarks/machine.h', 'benchmarks/oracle.h', 'benchmarks/problem.h']),
    ('examples/*', ['include/*']),
    ('trace/*', ['include/*', 'trace/*']),
    ('integrations/*', ['include/*', 'integrations/*', 'benchmarks/sample.h', 'benchmarks/values.h',
                        'tests/faults/fail_allocation.h']),
    ('tests/golden/*', ['src/*']),
    ('tests/convbench/peers/*', ['include/*', 'benchmarks/*']),
    ('tests/convbench/test_counter*.c', ['tests/*', 'benchmarks/counter*.h']),
    ('tests/convbench/test_interference.c', ['tests/*', 'benchmarks/interference.h']),
    ('tests/convbench/test_topdown.c', ['tests/*', 'benchmarks/topdown.h']),
    ('tests/*', ['include/*', 'stress/*', 'tests/*', *TESTED]),
]
# Tests of what the public header does not show: file of tests/, and the header of src/ that it needs.
INTERNAL = [('tests/library/test_chain.c', 'src/chain.h'), ('tests/library/test_cpu_units.c', 'src/cpu_units.h'),
            ('tests/library/test_cpu.c', 'src/cpu_detect.h'), ('tests/library/test_pool_order.c', 'src/pool.h'),
            ('tests/library/test_spans.c', 'src/run_d.h'),
            ('tests/library/other_cpu.h', 'src/cpu.h'), ('tests/library/counted.h', 'src/plan.h')]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_includes(path):
    """('<' or '"', name) for each include of a file."""
    return [match.groups() for line in path.read_text().splitlines() if (match := INCLUDE.match(line))]


def project_files(root):
    found = [path.relative_to(root) for path in sorted(root.rglob('*.[ch]'))]
    return [path for path in found if not re.match(r'build|subprojects|\.', path.parts[0])]


def resolve(file, name, files):
    """The file of the project that an include means: beside the includer, else anywhere."""
    if file.parent / name in files:
        return file.parent / name
    return next((other for other in files if other.parts[1:] == Path(name).parts), None)


def allowed(file, target):
    rule = next((targets for pattern, targets in RULES if fnmatch(str(file), pattern)), None)
    if rule is None:
        return False
    return any(fnmatch(str(target), pattern) for pattern in rule) or (str(file), str(target)) in INTERNAL


def find_cycle(graph, file, path=()):
    if file in path:
        return path[path.index(file):] + (file,)
    return next(filter(None, (find_cycle(graph, other, path + (file,)) for other in graph.get(file, []))), None)


def check(root):
    files = project_files(root)
    graph = {}
    for file in files:
        for mark, name in read_includes(root / file):
            target = resolve(file, name, files) if mark == '"' else None
            if file.parts[0] == 'include' and mark == '<' and name != 'stddef.h':
                yield f'{file}: includes {name}; only <stddef.h> is allowed'
            elif mark == '<' and name.startswith('criterion/') and file.parts[0] != 'tests':
                yield f'{file}: includes <{name}>, which is for tests'
            elif mark == '"' and target is None:
                yield f'{file}: includes "{name}", which is not in the project'
            elif mark == '"' and not allowed(file, target):
                yield f'{file}: may not include {target}'
            elif target:
                graph.setdefault(file, []).append(target)
    cycles = {frozenset(cycle): cycle for cycle in (find_cycle(graph, file) for file in files) if cycle}
    for cycle in cycles.values():
        yield 'cycle: ' + ' -> '.join(map(str, cycle))


def main():
    root = Path(sys.argv[1])
    failures = list(check(root))
    print('\n'.join(failures + ['']), end='')
    print(f'{len(project_files(root))} files checked, {len(failures)} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
