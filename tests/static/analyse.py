#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What clang-tidy (the checks in .clang-tidy), cppcheck and gcc -fanalyzer find in the C files of a build directory.

usage: analyse.py BUILD_DIR [--all]
Fails if there is something that is not in accepted.py, with a reason; says what of that is not found any more.  Tools
that are missing, or of another version than those findings are of, are skipped aloud.  --all prints what is accepted,
too."""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
from accepted import ACCEPTED, VERSIONS  # noqa: E402

FOLDERS = ('src', 'gen', 'benchmarks', 'trace', 'stress', 'integrations', 'examples')
SKIPPED, SECONDS, FILES_AT_ONCE = 77, 300, 8
FINDING = re.compile(r'^(?P<file>[^:\s]+):(?P<line>\d+):\d+: (?:warning|error|style|performance|portability): '
                     r'(?P<message>.*?)(?: \[CWE-\d+\])? \[(?:-W)?(?P<check>[\w,.-]+)\]$')


class Build:
    """The C files that a build directory compiles, and how."""

    def __init__(self, folder):
        self.folder, self.flags = folder, {}
        meson = json.loads((folder / 'meson-info' / 'intro-buildsystem_files.json').read_text())
        self.root = Path(os.path.commonpath(path for path in meson if path.endswith('meson.build')))
        for entry in json.loads((folder / 'compile_commands.json').read_text()):
            path = Path(os.path.normpath(Path(entry['directory']) / entry['file']))
            if path.suffix == '.c' and path.is_relative_to(self.root) and self.name(path).split('/')[0] in FOLDERS:
                words = shlex.split(entry['command'])
                self.flags[path] = [word for word in words if re.match(r'-(I|D|isystem|std=)', word)]

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def run(self, command):
        environment = dict(os.environ, LC_ALL='C')
        done = subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors='replace', timeout=SECONDS, check=False)
        return done.stdout


def tidy(build):
    files = sorted(build.flags)
    groups = [files[i:i + FILES_AT_ONCE] for i in range(0, len(files), FILES_AT_ONCE)]
    return [['clang-tidy', '--quiet', '-p', '.', *group] for group in groups]


def cppcheck(build):
    includes = sorted({flag for flags in build.flags.values() for flag in flags
                       if flag.startswith('-I') and 'lib' not in flag})
    template = '{file}:{line}:{column}: warning: {message} [{id}]'
    return [['cppcheck', '-q', '--std=c11', '--enable=warning,performance,portability', f'--template={template}',
             *includes, *sorted(build.flags)]]


def gcc(build):
    return [['gcc', *flags, '-O2', '-fanalyzer', '-fdiagnostics-plain-output', '-c', path, '-o', os.devnull]
            for path, flags in sorted(build.flags.items())]


TOOLS = {'clang-tidy': tidy, 'cppcheck': cppcheck, 'gcc': gcc}


def is_known(tool):
    """Whether it is there, in the version that accepted.py is about."""
    if not shutil.which(tool):
        print(f'{tool} not found: skipped')
        return False
    said = subprocess.run([tool, '--version'], stdout=subprocess.PIPE, text=True, check=True).stdout
    version = re.search(r'(\d+)\.\d+', said).group(0)
    if version != VERSIONS[tool] and version.split('.', maxsplit=1)[0] != VERSIONS[tool]:
        print(f'{tool} is {version}, and what is accepted is of {VERSIONS[tool]}: skipped')
        return False
    return True


def find(build, tools):
    """(tool, file, check, source line, where, message) of each finding; only gcc's analyzer counts, not its -Wall."""
    work = [(tool, command) for tool in tools for command in TOOLS[tool](build)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(lambda item: build.run(item[1]), work))
    found = {}
    for (tool, _), text in zip(work, texts):
        for match in filter(None, map(FINDING.match, text.splitlines())):
            path = Path(os.path.normpath(build.folder / match['file']))
            if not path.is_relative_to(build.root) or (tool == 'gcc' and 'analyzer' not in match['check']):
                continue
            name, number = build.name(path), int(match['line'])
            source = path.read_text().splitlines()[number - 1].strip() if number else ''
            key = (tool, name, match['check'].split(',')[0], source)
            found[key] = (f'{name}:{number}', match['message'])
    return found


def fits(accepted, key):
    tool, file, check, fragment, _ = accepted
    return (tool, file, check) == key[:3] and fragment in key[3]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build', type=Path)
    parser.add_argument('--all', action='store_true', help='print what is accepted, too')
    options = parser.parse_args()
    build = Build(options.build.resolve())
    tools = [tool for tool in TOOLS if is_known(tool)]
    if not tools:
        return SKIPPED
    found = find(build, tools)
    compiled = {build.name(path) for path in build.flags}
    bad = 0
    for key, (where, message) in sorted(found.items()):
        reasons = [accepted[4] for accepted in ACCEPTED if fits(accepted, key)]
        if not reasons or options.all:
            print(f'{where}: {message} [{key[0]}: {key[2]}]\n    {key[3]}\n    {"; ".join(reasons) or "NOT ACCEPTED"}')
        bad += not reasons
    for accepted in ACCEPTED:
        known = accepted[0] in tools and (accepted[1] in compiled or accepted[1].endswith('.h'))
        if known and not any(fits(accepted, key) for key in found):
            print(f'accepted.py has what is not found any more: {accepted[:4]}')
    print(f'{len(build.flags)} files, {", ".join(tools)}: {len(found)} findings, '
          f'{sum(any(fits(a, key) for a in ACCEPTED) for key in found)} accepted; {bad} complaints')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
