# SPDX-License-Identifier: BSD-2-Clause
"""What a boot of run_linux showed: the verdict, Sluice's counters, the summary and run.tsv."""

import dataclasses
import os
import re

import rig

STOP_ON = r'Kernel panic|^LAUNCH returned|^LAUNCH cannot'
SLUICE_ERROR = r'^\[LP\S* (VP\S* )?\S+ \S+ E\]'
SLUICE_WARNING = r'^\[LP\S* (VP\S* )?\S+ \S+ W\]'
SLUICE_EXITS = r'exits total\D*(\d+)'
WATCHDOG = 'has not left guest mode'
FLUSH_CALLS_WANTED = 10000

# The table that Sluice prints when the machine is switched off, and nothing else, is read by these.
STAMP = re.compile(r'^\[LP\S* (?:VP\S* )?\+(\d+\.\d+) ')
GUESTS_START = re.compile(r'run as guests')
ROW = re.compile(r' counters I\] (\S.*?)\s+(\d+)(?:\s+\d+)*$')
VMCALL_EXITS = 'exit: VMCALL'
FLUSH_CALL = re.compile(r'flush', re.IGNORECASE)
OUTCOMES = ('success', 'invalid code', 'invalid input', 'invalid alignment', 'invalid parameter',
            'access denied', '#UD')
TARGETS = 'flush targets'
TARGET_KINDS = ('self', 'waited for', 'not running', 'in root')
WATCHDOG_ROW = 'flush waits over 100 ms'


class Counters:
    """Sluice's table of counters: sums over all VPs by the text of the row."""

    def __init__(self, lines):
        self.rows = {}
        self.stamps = []
        self.start = None
        for text in lines:
            stamp = STAMP.match(text)
            if stamp:
                self.stamps.append(float(stamp.group(1)))
                if GUESTS_START.search(text):
                    self.start = self.stamps[-1]
            found = ROW.search(text)
            if found:
                self.rows[found.group(1)] = int(found.group(2))

    def get(self, name):
        """Return a row's sum; rows that are 0 are not printed."""
        return self.rows.get(name, 0)

    def calls(self):
        """Return [(call, outcome, count)] of all hypercalls."""
        found = []
        for name, count in self.rows.items():
            for outcome in OUTCOMES:
                if name.startswith('hypercall') and name.endswith(outcome):
                    call = name[len('hypercall'):-len(outcome)].strip(' :,')
                    found.append((call, outcome, count))
        return found

    def flush_successes(self):
        """Return how many flush calls ended well."""
        return sum(count for call, outcome, count in self.calls()
                   if FLUSH_CALL.search(call) and outcome == 'success')

    def flush_errors(self):
        """Return how many flush calls ended with an error."""
        return sum(count for call, outcome, count in self.calls()
                   if FLUSH_CALL.search(call) and outcome != 'success')

    def target_kinds(self):
        """Return {kind: count} of the flush targets."""
        return {kind: self.get(f'{TARGETS}: {kind}') for kind in TARGET_KINDS}

    def guest_seconds(self):
        """Return the seconds from the start of the guests to the end of the table, or None."""
        if self.start is None or self.stamps[-1] <= self.start:
            return None
        return self.stamps[-1] - self.start

    def problems(self):
        """Return what does not add up and what must not have happened."""
        problems = []
        total = sum(count for _, _, count in self.calls())
        if total != self.get(VMCALL_EXITS):
            problems.append(f'{self.get(VMCALL_EXITS)} hypercalls were made, but {total} have an '
                            'outcome')
        kinds = sum(self.target_kinds().values())
        if kinds != self.get(TARGETS):
            problems.append(f'{self.get(TARGETS)} flush targets, but {kinds} by kind')
        problems += [f'{count} calls {call} ended with {outcome}'
                     for call, outcome, count in self.calls()
                     if FLUSH_CALL.search(call) and outcome != 'success']
        if self.get(WATCHDOG_ROW):
            problems.append(f'{self.get(WATCHDOG_ROW)} flushes waited over 100 ms')
        return problems


@dataclasses.dataclass
class Wanted:
    """What a boot is to show."""

    sluice: bool
    hv: str         # on, off
    stress: int     # rounds


class Outcome:
    """What one boot showed."""

    def __init__(self, result, lps, wanted):
        self.result = result
        self.lps = lps
        self.wanted = wanted
        self.counters = Counters(result.lines('com2')) if wanted.sluice else None
        self.failures = []
        self.results = {}
        self.judge()

    def judge(self):
        """Fill failures with everything that was not as it must be."""
        for text in self.result.lines('com1'):
            found = re.match(r'RESULT (\S+) (PASS|FAIL|SKIP)(?: (.*))?$', text)
            if found:
                self.results[found.group(1)] = found.group(2)
                if found.group(2) == 'FAIL':
                    self.failures.append(f'{found.group(1)}: {found.group(3) or "failed"}')
        if self.result.reason != rig.POWEROFF:
            self.failures.append(self.describe_end())
        wanted = ['online-cpus', 'tsc-monotonic', 'kernel-log'] + \
            [f'pin-cpu{number}' for number in range(self.lps)]
        if self.wanted.stress:
            wanted += ['stress']
        if self.wanted.hv == 'on':
            wanted += ['hypercall-flush']
        if self.wanted.sluice:
            wanted.append('sluice-block')
            self.judge_sluice()
        self.failures += [f'{name}: no PASS seen' for name in wanted
                          if self.results.get(name) not in ('PASS', 'FAIL')]

    def judge_sluice(self):
        """Look at Sluice's own lines."""
        if not self.result.find('com2', 'Sluice'):
            self.failures.append('no banner of Sluice on its console (COM2)')
        errors = [text for text in self.result.lines('com2') if re.search(SLUICE_ERROR, text)]
        self.failures += [f'Sluice reports an error: {text}' for text in errors[:5]]
        self.failures += [f'watchdog: {text}' for text in self.watchdogs()[:5]]
        self.failures += self.counters.problems()
        if self.wanted.hv == 'on':
            calls = self.counters.flush_successes()
            least = min(FLUSH_CALLS_WANTED, self.wanted.stress * 3 // 2)
            if calls < least:
                self.failures.append(f'{calls} flush calls were served, expected {least}')
            self.judge_stress_calls(calls)

    def judge_stress_calls(self, served):
        """Compare what the stress read of Sluice's counters with the table at power-off."""
        seen = self.stress('calls')
        if seen is not None and not 0 < int(seen) <= served:
            self.failures.append(f'the stress saw {seen} flush calls served, the table has {served}')

    def describe_end(self):
        """Say in words how the machine ended when it did not switch itself off."""
        reason = self.result.reason
        words = {rig.TIMEOUT: 'the time limit passed',
                 rig.NO_START: 'firmware hung before anything of ours ran, twice',
                 rig.FINAL: 'the userland finished but the machine did not switch off',
                 rig.EXITED: 'the machine ended before the userland finished',
                 rig.STOPPED: 'stopped'}[reason]
        if reason == rig.STOPPED:
            lines = [text for text in self.result.lines('com1') if re.search(STOP_ON, text)]
            words = f'boot failed: {lines[0]}'
        if reason in (rig.EXITED, rig.NO_START) and self.result.emulator_tail:
            words += f'; the emulator says: {self.result.emulator_tail.splitlines()[-1]}'
        return words

    def passed(self):
        """Return whether nothing failed."""
        return not self.failures

    def ticks(self):
        """Return the TSC ticks from the start of the launched image to the first program.

        The clock starts where the launcher begins to load: without Sluice the launcher reads the
        kernel from the disk, with Sluice it is Sluice that does, after its own StartImage. Only
        so do both figures hold the same work. None when either end was not seen.
        """
        start = self.result.find('com1', r'^LAUNCH loading .* tsc=(\d+)')
        reached = self.result.find('com1', r'USERSPACE tsc=(\d+)')
        if not start or not reached:
            return None
        return int(reached.group(1)) - int(start.group(1))

    def exits(self):
        """Return the total of Sluice's exit counters, or None."""
        counts = [int(found.group(1)) for found in
                  (re.search(SLUICE_EXITS, text) for text in self.result.lines('com2')) if found]
        return sum(counts) if counts else None

    def watchdogs(self):
        """Return Sluice's lines on flushes that waited too long."""
        return [text for text in self.result.lines('com2') if WATCHDOG in text]

    def stress(self, field):
        """Return a figure of the stress's line, or None."""
        found = self.result.find('com1', rf'^STRESS rounds=.* {field}=([\d.]+)')
        return found.group(1) if found else None

    def warnings(self):
        """Return how many warnings Sluice printed."""
        return sum(1 for text in self.result.lines('com2') if re.search(SLUICE_WARNING, text))


def write(path, rows):
    """Write name TAB value lines."""
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'w', encoding='utf-8') as handle:
        for name, value in rows:
            handle.write(f'{name}\t{"-" if value is None else value}\n')


def figures(outcome, ticks):
    """Return the rows of run.tsv that are figures."""
    counters = outcome.counters
    return [('ticks_to_userspace', outcome.ticks() if counters else None),
            ('ticks_to_userspace_bare', ticks.get('bare')),
            ('ticks_to_userspace_hv_off', ticks.get('off')), ('exits', outcome.exits()),
            ('wall_seconds', f'{outcome.result.wall_seconds:.1f}'),
            ('flush_calls', counters.flush_successes() + counters.flush_errors()
             if counters else None),
            ('flush_errors', counters.flush_errors() if counters else None),
            ('stale_accesses', outcome.stress('stale')),
            ('watchdogs', len(outcome.watchdogs()) if counters else None)]


def userspace_text(outcome, ticks):
    """Return the ticks to userspace, with those to compare."""
    text = f'{outcome.ticks()} ticks'
    for name, words in (('off', 'with hv=off'), ('bare', 'without Sluice')):
        if outcome.wanted.sluice and ticks.get(name) and ticks[name] != outcome.ticks():
            text += f'; {ticks[name]} {words}: {outcome.ticks() / ticks[name]:.3f} times'
    return text


def print_sluice(outcome):
    """Print what Sluice counted."""
    counters, exits = outcome.counters, outcome.exits()
    seconds = counters.guest_seconds()
    print(f'VM exits       {"not counted" if exits is None else exits}' +
          (f', {exits / seconds:.0f} a second of guest time' if exits and seconds else ''))
    if outcome.wanted.hv == 'on':
        print(f'flush calls    {counters.flush_successes()} served, '
              f'{counters.flush_errors()} errors')
        kinds = ', '.join(f'{count} {kind}' for kind, count in counters.target_kinds().items())
        print(f'flush targets  {counters.get(TARGETS)}: {kinds}')
        print(f'watchdogs      {len(outcome.watchdogs())}')
    print(f'warnings       {outcome.warnings()}')


def summary(boot, outcome, ticks, failures):
    """Print the summary of a run."""
    result = outcome.result
    print(f'\nmachine        {boot.machine.name()}')
    print(f'kernel         {boot.version}')
    online = result.find('com1', r'^ONLINE (\d+)')
    print(f'processors     {online.group(1) if online else "none"} of {outcome.lps} online')
    if outcome.ticks():
        print(f'to userspace   {userspace_text(outcome, ticks)}')
    if outcome.wanted.sluice:
        print(f'interface      hv={outcome.wanted.hv}')
        print_sluice(outcome)
    if outcome.stress('stale'):
        print(f'stress         {outcome.stress("faults")} faults, {outcome.stress("stale")} stale '
              f'accesses, {outcome.stress("calls")} flush calls served')
    print(f'ended by       {result.reason}, {result.wall_seconds:.1f} s' +
          (f', {result.retries} retry (firmware hung)' if result.retries else ''))
    for failure in failures:
        print(f'failed         {failure}')
    print('PASS' if not failures else 'FAIL')
