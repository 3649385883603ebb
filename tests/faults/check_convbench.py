#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convbench without memory, disk or reader: each allocation of each command is refused in turn; every file that it
writes meets a full device, a full disk, a full file system quota and a closed pipe.
usage: check_convbench.py CONVBENCH PRELOAD [COUNT]
COUNT: so many allocations of each command, evenly spread, are refused (usually 4); 0 for all of them; FULL_DISK: none,
what it starts for itself where it may mount file systems."""
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIMED = ['--time', '0.001', '4x6x6', '3x3', 'p1']
LOG = 'onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_inference,src_f32 wei_f32 dst_f32,,' \
      'alg:convolution_direct,mb1_ic4oc4_ih6oh6kh3sh1dh0ph1_iw6ow6kw3sw1dw0pw1,0.1\n'
# In the place of a program whose results are compared; its memory is not refused.
OLD = 'unset LD_PRELOAD; exec cat {}/old.json #'
COMMANDS = {
    'table': ['--summary', '--threads', '1,2', *TIMED],
    'json': ['--json', '{}/out', *TIMED],
    'html': ['--html', '{}/out', *TIMED],
    'svg': ['--svg', '{}/out', *TIMED],
    'csv': ['--calls', '9', '--csv', '{}/out', '4x6x6', '3x3'],
    'calls': ['--calls', '9', '--json', '{}/out', '4x6x6', '3x3'],
    'records': ['--tune', '--records', '{}/out', *TIMED],
    'records in C': ['--tune', '--records', '{}/out.h', *TIMED],
    'explain': ['--explain', '4x6x6', '3x3'],
    'hash': ['--hash', '--threads', '1,3', '--layout', 'nchw,nhwc', '4x6x6', '3x3'],
    'chains': ['--chains', '4x6x6 3x3 + max2', '--time', '0.001'],
    'phases': ['--phases', *TIMED],
    'log': ['--verify', '--verbose-log', '{}/log'],
    'file': ['--verify', '--file', '{}/problems'],
    'diff': ['diff', '{}/old.json', '{}/old.json'],
    'diff in turns': ['diff', '--run', '--pairs', '9', OLD, OLD, '--', '1x1'],
    'manual': ['--man'],
}
WRITERS = ['json', 'html', 'svg', 'csv', 'calls', 'records']
FULL_DISK = 'full-disk'
USUAL_COUNT = 4
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)


class Command:
    """One command of convbench, in folders of its own."""

    def __init__(self, convbench, preload):
        self.convbench, self.preload = convbench, preload
        self.files = {'problems': '4x6x6 3x3\n# none\n2x5x5 1x1 relu\n', 'log': LOG}
        with tempfile.TemporaryDirectory() as folder:
            self.run('json', folder)
            self.files['old.json'] = Path(folder, 'out').read_text()

    def run(self, name, folder, number=None, target=None, limit=None, **streams):
        """The finished process, and the numbers of allocations and of what was held at the end, if it came to that."""
        for file, text in self.files.items():
            Path(folder, file).write_text(text)
        words = [word.replace('{}/out', target or '{}/out').replace('{}', folder) for word in COMMANDS[name]]
        report = Path(folder, 'report')
        environment = dict(os.environ, CONV2D_VERBOSE='')
        if number is not None:
            environment |= {'LD_PRELOAD': self.preload, 'FAULT_NUMBER': str(number), 'FAULT_REPORT': str(report)}
            environment.pop('MALLOC_PERTURB_', None)
        streams = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE} | streams

        def limit_files():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = subprocess.run([self.convbench, *words], env=environment, timeout=120, check=False,
                              preexec_fn=limit_files if limit is not None else None, **streams)
        numbers = [int(word) for word in report.read_text().split()] if report.exists() else None
        return done, numbers

    def left(self, folder):
        """What is in the folder that was not there before."""
        return sorted(path.name for path in Path(folder).iterdir() if path.name not in [*self.files, 'report'])


def check_refused(command, name, number):
    """A refused allocation is said, or did not matter; nothing half written stays."""
    with tempfile.TemporaryDirectory() as folder:
        done, numbers = command.run(name, folder, number)
        what = f'{name}, allocation {number}'
        expect(done.returncode in (0, 1, 2), f'{what}: exit code {done.returncode}: {done.stderr[-300:]}')
        expect(done.returncode == 0 or done.stderr.strip(), f'{what}: fails without a word')
        expect(numbers is not None, f'{what}: it did not end in order')
        left = command.left(folder)
        expect(not [file for file in left if file.endswith('.tmp')], f'{what}: {left} are left')
        if done.returncode == 0 and name in WRITERS:
            expect(left == ['out'], f'{what}: success without a report')
        return numbers[1] if numbers else 0


def check_allocations(command, pool, wanted):
    """The number of allocations refused."""
    total = 0
    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            done, numbers = command.run(name, folder, 0)
        expect(done.returncode == 0 and numbers, f'{name}: {done}')
        if not numbers:
            continue
        count, usual = numbers
        step = max(1, count // wanted) if wanted else 1
        tried = range(1, count + 1, step)
        held = list(pool.map(lambda number, name=name: check_refused(command, name, number), tried))
        worst = max(held, default=0)
        expect(worst <= usual, f'{name}: {worst} pieces of memory are held at the end, without a fault {usual}')
        total += len(tried)
        print(f'{name}: {len(tried)} of {count} allocations refused', flush=True)
    return total


def check_broken(command, name, what, place=None, **how):
    """A report that cannot be written: said, no success, nothing left."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        done, _ = command.run(name, folder, **how)
        expect(done.returncode == 1, f'{name}, {what}: exit code {done.returncode}')
        expect(how.get('stderr') or b'cannot be written' in done.stderr, f'{name}, {what}: {done.stderr[-300:]}')
        expect(command.left(folder) == [], f'{name}, {what}: {command.left(folder)} are left')


def check_disks_and_pipes(command):
    """The number of ways that were tried."""
    ways = 0
    for name in WRITERS:
        check_broken(command, name, 'full device', target='/dev/full')
        check_broken(command, name, 'size limit', limit=16)
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, 'w') as broken:
            check_broken(command, name, 'closed pipe', target='-', stdout=broken)
        ways += 3
    with open('/dev/full', 'w', encoding='ascii') as full:
        for name in COMMANDS:
            if name in WRITERS or name == 'records in C':
                continue
            check_broken(command, name, 'full standard output', stdout=full)
            ways += 1
    return ways


def fill(disk, spare_pages):
    """Leaves so many pages of the disk free."""
    size = os.statvfs(disk).f_bfree * os.statvfs(disk).f_bsize
    Path(disk, 'filler').write_bytes(bytes(size - spare_pages * os.sysconf('SC_PAGE_SIZE')))


def check_full_disk(command):
    """On a disk of 256 KiB that no other process sees.  Of a report that is larger than a page, one is written."""
    with tempfile.TemporaryDirectory() as disk:
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256k', 'disk', disk], check=True)
        for name in WRITERS:
            for spare_pages in (0, 1) if name in ('html', 'svg') else (0,):
                work = Path(disk, 'work')
                work.mkdir()
                with tempfile.TemporaryDirectory(dir=work) as folder: # the files that check_broken brings
                    command.run('hash', folder)
                    fill(disk, spare_pages)
                check_broken(command, name, f'full disk, {spare_pages} pages free', work)
                Path(disk, 'filler').unlink()
                work.rmdir()
        subprocess.run(['umount', disk], check=True)
    print('\n'.join(failures))
    return 1 if failures else 0


def check_in_namespace():
    """The same in a process that may mount."""
    unshare = ['unshare', '--mount'] + ([] if os.geteuid() == 0 else ['--map-root-user'])
    try:
        probe = subprocess.run([*unshare, 'mount', '-t', 'tmpfs', 'disk', '/mnt'], capture_output=True, check=False)
    except FileNotFoundError as missing:
        print(f'SKIPPED: full disk: {missing}')
        return
    if probe.returncode:
        print(f'SKIPPED: full disk: no file system may be mounted: {probe.stderr.decode().strip()}')
        return
    done = subprocess.run([*unshare, sys.executable, *sys.argv[:3], FULL_DISK], capture_output=True, check=False)
    expect(done.returncode == 0, f'full disk: {(done.stdout + done.stderr).decode().strip()}')
    print(f'a full disk: {len(WRITERS)} writers')


def main():
    command = Command(sys.argv[1], sys.argv[2])
    if sys.argv[3:] == [FULL_DISK]:
        return check_full_disk(command)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        refused = check_allocations(command, pool, int(sys.argv[3]) if len(sys.argv) > 3 else USUAL_COUNT)
    ways = check_disks_and_pipes(command)
    check_in_namespace()
    print('\n'.join(failures))
    print(f'{refused} allocations of {len(COMMANDS)} commands refused, {ways} reports on full disks and closed pipes; '
          f'{len(failures)} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
