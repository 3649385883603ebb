#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants defects in a copy of the sources, one at a time, builds it, and looks whether the tests notice.

usage: mutate.py SOURCE_DIR [--scratch DIRECTORY] [--only TEXT] [--list]
The defects are in table.py and table_d.py.  Each names the tests that should see it; if they do not, all others are
tried.  Exit code 1 if any defect was missed.  It takes an hour or two; ccache shortens it to what a defect touches."""
import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from table import MUTANTS as OTHERS  # noqa: E402
from table_d import FAMILY_D  # noqa: E402

MUTANTS = OTHERS + FAMILY_D

ALL_TESTS = ['api', 'plan', 'variants', 'bounds', 'random', 'contract', 'properties', 'pool', 'pool_order',
             'workspace', 'modes', 'large', 'tune', 'records', 'select', 'chain', 'chain_api', 'activations', 'kernels',
             'pixels', 'groups']
BUILD_SECONDS, TEST_SECONDS = 3000, 300


def copy_if_changed(source, target):
    """A file that is the same keeps its time, so that nothing is built again for it."""
    if not os.path.exists(target) or not filecmp.cmp(source, target, shallow=False):
        shutil.copy(source, target)
    return target


class Tree:
    """A copy of the sources with a build directory."""

    def __init__(self, source, scratch):
        self.source, self.root, self.build = source, scratch / 'source', scratch / 'source' / 'build'
        is_new = not self.build.exists()
        if is_new:
            shutil.rmtree(self.root, ignore_errors=True)
        # Also into an older copy: its tests may not know what the sources do now.
        shutil.copytree(source, self.root, ignore=shutil.ignore_patterns('.git', 'build*', '__pycache__'),
                        dirs_exist_ok=True, copy_function=copy_if_changed)
        if is_new:
            self.run(['meson', 'setup', str(self.build), str(self.root), '-Dpeers=disabled'], BUILD_SECONDS)

    def run(self, command, seconds):
        """(whether it succeeded, what it said last); running out of time is a failure."""
        environment = dict(os.environ, MALLOC_PERTURB_='85')
        with subprocess.Popen(command, cwd=self.root, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors='replace', start_new_session=True) as process:
            try:
                said = process.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)  # Criterion runs each test in a process of its own
                process.communicate()
                return False, f'no end after {seconds} s'
        return process.returncode == 0, said

    def restore(self, name):
        """The file as it is in the original."""
        shutil.copy(self.source / name, self.root / name)

    def plant(self, name, before, after):
        text = (self.source / name).read_text()
        if text.count(before) != 1:
            raise SystemExit(f'the table is out of date: {name} has {text.count(before)} times\n{before}')
        (self.root / name).write_text(text.replace(before, after))

    def ask(self, tests):
        """The first test that fails, or None."""
        good, said = self.run(['ninja', '-C', str(self.build)] + [f'tests/library/test_{test}' for test in tests],
                              BUILD_SECONDS)
        if not good:
            errors = [line for line in said.splitlines() if 'error' in line]
            raise SystemExit('it does not build:\n' + '\n'.join(errors[:5] or said.splitlines()[-5:]))
        for test in tests:
            if not self.run([str(self.build / 'tests' / 'library' / f'test_{test}'), '--jobs', '1'], TEST_SECONDS)[0]:
                return test
        return None


def examine(tree, mutant):
    name, file, before, after, tests = mutant
    tests = tests.split()
    tree.plant(file, before, after)
    try:
        return tree.ask(tests) or tree.ask([test for test in ALL_TESTS if test not in tests])
    finally:
        tree.restore(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('source', type=Path)
    parser.add_argument('--scratch', type=Path, help='where to build (default: build-mutants in the sources)')
    parser.add_argument('--only', default='', help='defects whose name or file has this text')
    parser.add_argument('--list', action='store_true', help='print the table; fails if it does not fit the sources')
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in mutant[0] or options.only in mutant[1]]
    source = options.source.resolve()
    if options.list:
        stale = [name for name, file, before, *_ in chosen if (source / file).read_text().count(before) != 1]
        for name, file, *_ in chosen:
            print(f'{file}: {name}{" IS OUT OF DATE" if name in stale else ""}')
        return 1 if stale else 0
    tree = Tree(source, (options.scratch or source / 'build-mutants').resolve())
    seen_by = tree.ask(ALL_TESTS[:5])
    if seen_by:
        raise SystemExit(f'test_{seen_by} fails without any defect')
    missed = 0
    for mutant in chosen:
        start = time.monotonic()
        test = examine(tree, mutant)
        missed += test is None
        print(f'{"caught by " + test if test else "MISSED":22} {time.monotonic() - start:5.0f} s  '
              f'{mutant[1]}: {mutant[0]}', flush=True)
    print(f'{len(chosen)} defects, {missed} missed')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
