# SPDX-License-Identifier: BSD-2-Clause
"""Run one emulated machine, follow its output, and always leave nothing behind.

    from rig import Machine, run_machine
    result = run_machine('x.img', Machine(cpus=4), timeout=120, expect_final='USERLAND DONE')
    result.reason, result.lines('com1'), result.find('com2', r'exits total *(\\d+)')
"""

import ctypes
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'emu'))

import bochs  # noqa: E402
import qemu  # noqa: E402

POLL_SECONDS = 0.1
PR_SET_PDEATHSIG = 1
PROGRESS_SECONDS = 5
FIRMWARE_FILES = ('/usr/share/ovmf/OVMF.fd', '/usr/share/OVMF/OVMF.fd')
# What shows that the firmware has handed over to something of ours.
STARTED = r'LAUNCH |Sluice'
# Names of the three sources of lines: the guest's port, Sluice's console, Bochs' debug port.
SOURCES = ('com1', 'com2', 'e9')

POWEROFF = 'poweroff'
FINAL = 'final line'
TIMEOUT = 'time limit'
NO_START = 'no start'
EXITED = 'exited'
STOPPED = 'stopped'


class RigError(Exception):
    """The machine cannot be run here; the text says why."""


@dataclasses.dataclass
class Machine:
    """What to emulate. host is 'bochs', 'qemu' (KVM, nested) or 'qemu-tcg' (no VT-x)."""

    host: str = 'bochs'
    cpus: object = 4            # a number, or for Bochs sockets:cores:threads as in '2:2:2'
    model: str = ''
    mem: int = 512
    verbose: bool = False       # Bochs: its own messages in bochs.log
    other: str = ''             # the image of a second disk

    def __post_init__(self):
        if not self.model:
            self.model = {'bochs': 'corei7_skylake_x', 'qemu-tcg': 'max'}.get(self.host, 'host')

    def lp_count(self):
        """Return the number of logical processors."""
        count = 1
        for factor in str(self.cpus).split(':'):
            count *= int(factor)
        return count

    def name(self):
        """Return a short description."""
        return f'{self.host}/{self.model}, {self.lp_count()} LPs, {self.mem} MiB'


@dataclasses.dataclass
class Line:
    """One line of output: where it came from, when (seconds after power on), and its text."""

    source: str
    time: float
    text: str


@dataclasses.dataclass
class Result:
    """How a run ended and all that it printed.

    reason: POWEROFF   it switched itself off, after the final line if one was asked for
            FINAL      the final line came, but the machine had to be stopped
            EXITED     it ended without the final line
            STOPPED    a line matching stop_on came
            TIMEOUT    the time limit passed
            NO_START   firmware never handed over to the launcher or Sluice
    """

    reason: str
    all_lines: list
    wall_seconds: float
    exit_code: int
    retries: int = 0
    emulator_tail: str = ''

    def lines(self, source=None):
        """Return the texts of one source, or of all in order of arrival."""
        return [line.text for line in self.all_lines if source in (None, line.source)]

    def find(self, source, pattern):
        """Return the first match of a regular expression in one source's lines, or None."""
        for text in self.lines(source):
            found = re.search(pattern, text)
            if found:
                return found
        return None


class Follower:
    """Turns a growing file into lines, without terminal escape sequences."""

    ESCAPES = re.compile(r'\x1b(\[[0-9;?=]*[A-Za-z]|[()][A-Z0-9]|[=>c])')

    def __init__(self, path, source):
        self.path = path
        self.source = source
        self.offset = 0
        self.partial = b''

    def _texts(self, data):
        for raw in data:
            text = self.ESCAPES.sub('', raw.decode('utf-8', errors='replace'))
            text = ''.join(c for c in text if c.isprintable() or c == '\t').rstrip()
            if text:
                yield text

    def read(self, at_end=False):
        """Return the new texts; with at_end also a last line without its newline."""
        try:
            with open(self.path, 'rb') as handle:
                handle.seek(self.offset)
                data = handle.read()
        except OSError:
            data = b''
        self.offset += len(data)
        pieces = re.split(b'[\r\n]+', self.partial + data)
        self.partial = b'' if at_end else pieces.pop()
        return list(self._texts(pieces))


class Show:
    """Prints lines as they come, with elapsed time, and a sign of life when none do."""

    LABELS = {'com1': 'guest ', 'com2': 'sluice', 'e9': 'debug ', 'rig': 'rig   '}

    def __init__(self, enabled, sources=('com1', 'com2', 'rig'), stream=None):
        self.enabled = enabled
        self.sources = sources
        self.stream = stream or sys.stdout
        self.last = 0.0

    def line(self, line):
        """Print one line."""
        if self.enabled and line.source in self.sources:
            self.last = line.time
            label = self.LABELS[line.source]
            print(f'[{line.time:6.1f}s {label}] {line.text}', file=self.stream, flush=True)

    def progress(self, elapsed, started):
        """Say that the machine is still busy, if nothing was printed for some seconds."""
        if self.enabled and elapsed - self.last >= PROGRESS_SECONDS:
            what = 'running' if started else 'firmware is starting (a minute at most)'
            self.line(Line('rig', elapsed, f'... {what}'))


def find_firmware():
    """Return the path of OVMF's image."""
    override = os.environ.get('OVMF')
    for path in (override,) if override else FIRMWARE_FILES:
        if os.path.exists(path):
            return path
    raise RigError('no OVMF.fd; run tests/tools/setup emu')


def prepare(machine, workdir, image):
    """Return (command, environment) that starts the machine on a private copy of the image."""
    disk = os.path.join(workdir, 'disk.img')
    subprocess.run(['cp', '--sparse=always', '--reflink=auto', image, disk], check=True)
    firmware = find_firmware()
    try:
        if machine.host == 'bochs':
            return bochs.prepare(machine, workdir, disk, firmware)
        if machine.host in ('qemu', 'qemu-tcg'):
            return qemu.prepare(machine, workdir, disk, firmware)
    except (bochs.BochsError, qemu.QemuError) as error:
        raise RigError(str(error)) from error
    raise RigError(f"unknown host '{machine.host}': bochs, qemu or qemu-tcg")


def die_with_parent():
    """Runs in the emulator's process before it starts: it must not outlive the rig."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_group(process):
    """End the emulator and all its children, and collect it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Run:
    """One start of one machine."""

    def __init__(self, machine, workdir, show, limits, patterns):
        self.machine = machine
        self.workdir = workdir
        self.show = show
        self.timeout, self.start_timeout, self.off_timeout = limits
        self.expect_final, self.stop_on, self.started_pattern = patterns
        self.followers = [Follower(os.path.join(workdir, f'{source}.txt'), source)
                          for source in SOURCES]
        self.lines = []
        self.started = False
        self.final_at = None
        self.stop_seen = False

    def collect(self, elapsed, at_end=False):
        """Take in what the machine has printed since the last call."""
        for follower in self.followers:
            for text in follower.read(at_end):
                self.note(Line(follower.source, elapsed, text))

    def note(self, line):
        """Keep and show one line, and see whether it ends the run."""
        self.lines.append(line)
        self.show.line(line)
        if not self.started and re.search(self.started_pattern, line.text):
            self.started = True
        if self.expect_final and self.final_at is None and \
                re.search(self.expect_final, line.text):
            self.final_at = line.time
        if self.stop_on and re.search(self.stop_on, line.text):
            self.stop_seen = True

    def verdict(self, elapsed, ended):
        """Return the reason to stop now, or None."""
        if ended:
            return POWEROFF if self.final_at is not None or not self.expect_final else EXITED
        if self.stop_seen:
            return STOPPED
        if self.final_at is not None and elapsed - self.final_at > self.off_timeout:
            return FINAL
        if elapsed > self.timeout:
            return TIMEOUT
        if not self.started and elapsed > self.start_timeout:
            return NO_START
        return None

    def go(self, command, environment):
        """Run to the end. Return a Result."""
        begin = time.monotonic()
        errors = open(os.path.join(self.workdir, 'stderr.txt'), 'wb')
        output = open(os.path.join(self.workdir, 'e9.txt'), 'wb')
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=errors, cwd=self.workdir,
                                   start_new_session=True,
                                   preexec_fn=die_with_parent)
        reason = None
        try:
            while reason is None:
                time.sleep(POLL_SECONDS)
                elapsed = time.monotonic() - begin
                ended = process.poll() is not None
                self.collect(elapsed, ended)
                self.show.progress(elapsed, self.started)
                reason = self.verdict(elapsed, ended)
        finally:
            kill_group(process)
            errors.close()
            output.close()
        self.collect(elapsed, True)
        if reason == EXITED and self.final_at is not None:
            reason = POWEROFF       # the final line was in the last piece read
        return Result(reason, self.lines, elapsed, process.returncode,
                      emulator_tail=self.emulator_tail())

    def emulator_tail(self):
        """Return the reason that Bochs gives for its end, or the last lines of its messages."""
        tail = []
        for name in ('stderr.txt', 'bochs.log'):
            path = os.path.join(self.workdir, name)
            if os.path.exists(path):
                with open(path, encoding='utf-8', errors='replace') as handle:
                    tail += [line.rstrip() for line in handle.readlines()[-12:]]
        for number, line in enumerate(tail[:-1]):
            if line.startswith('Bochs is exiting with the following message'):
                return tail[number + 1]
        return '\n'.join(line for line in tail if 'ALSA' not in line)


def default_start_timeout(machine):
    """Return how long firmware may take: 9 s with one LP, 50 s with 15 on a slow host; twice that."""
    if machine.host == 'bochs':
        return 40 + 6 * machine.lp_count()
    return 60


def run_machine(image, machine, timeout, expect_final=None, stop_on=None, live=False,
                show_debug=False, started=STARTED, start_timeout=None, off_timeout=15, keep=None, retry=True):
    """Run an image on a machine and return a Result.

    timeout        seconds for the whole run; the emulator is killed when they have passed
    expect_final   regular expression of the line after which the machine should switch itself off
    off_timeout    seconds that it has for that
    stop_on        regular expression of a line that ends the run at once
    live           print the lines of the serial ports as they come; show_debug: port 0xE9's too
    started        regular expression of the first line of ours; a machine that prints none within
                   start_timeout seconds hangs in the firmware and is started once more
    keep           folder to keep the run's files in
    Raises RigError when the machine cannot be run here.
    """
    show = Show(live, SOURCES + ('rig',) if show_debug else ('com1', 'com2', 'rig'))
    limits = (timeout, start_timeout or default_start_timeout(machine), off_timeout)
    patterns = (expect_final, stop_on, started)
    for retries in range(2):
        workdir = tempfile.mkdtemp(prefix='sluice-run-')
        try:
            command, environment = prepare(machine, workdir, image)
            run = Run(machine, workdir, show, limits, patterns)
            result = run.go(command, environment)
            result.retries = retries
            if keep:
                shutil.rmtree(keep, ignore_errors=True)
                shutil.copytree(workdir, keep, ignore=shutil.ignore_patterns('disk.img*'))
        finally:
            shutil.rmtree(workdir, ignore_errors=True)
        if result.reason != NO_START or not retry or retries == 1:
            return result
        show.line(Line('rig', result.wall_seconds,
                       'firmware hung before anything of ours ran: starting once more'))
    return result
