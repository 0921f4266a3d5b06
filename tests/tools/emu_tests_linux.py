# SPDX-License-Identifier: BSD-2-Clause
"""A stanza that boots Linux: run_linux does the work, in a folder of its own."""

import os
import re
import signal
import subprocess
import time

import emu_tests
from emu_tests_judge import fail_or_pass, relayed

SHOWN_LINE = re.compile(r'^\[ *[\d.]+s (?:guest |sluice|rig   )\] (.*)$')
BEGINS_SLUICE = re.compile(r'^run: \S+ on .*, time limit')


def link(folder, name, target):
    """Make folder/name point to a file of the tree."""
    path = os.path.join(folder, name)
    if os.path.lexists(path):
        os.remove(path)
    os.symlink(os.path.join(emu_tests.TREE, target), path)


def command(stanza, folder):
    """Return the command line of run_linux for a stanza."""
    return [os.path.join(emu_tests.TREE, 'tests/tools/run_linux'), '--sluice',
            stanza.get('sluice', emu_tests.SLUICE), '--build', folder,
            '--report', os.path.join(folder, 'run.tsv'), '--host', stanza.get('host', 'bochs'),
            '--cpus', stanza.get('cpus', '4'), '--model', stanza.get('model'),
            '--mem', stanza.get('mem', '512'), '--timeout', stanza.get('timeout', '0'),
            '--hv', stanza.get('hv', 'off'), '--stress', stanza.get('stress', '0')] + \
        [f'--sluice-config={text}' for text in stanza.lines('config')] + \
        (['--alone'] if stanza.get('fails') else [])


def run_to_file(arguments, path, limit):
    """Run a command with its output in a file. Return (status or None when over the limit)."""
    with open(path, 'wb') as output:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, cwd=emu_tests.TREE,
                                   start_new_session=True)
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def read_report(path):
    """Return run.tsv as a dictionary."""
    try:
        with open(path, encoding='utf-8') as handle:
            return dict(line.rstrip('\n').split('\t', 1) for line in handle)
    except OSError:
        return {}


def speed_verdict(stanza, report):
    """Return the verdict on the time to userspace, or None when it was not measured."""
    try:
        ratio = int(report['ticks_to_userspace']) / int(report['ticks_to_userspace_bare'])
    except (KeyError, ValueError):
        return None
    limit = float(stanza.get('slower', '1.10'))
    problems = [] if ratio <= limit else [f'{ratio:.3f} times the ticks without Sluice, '
                                          f'limit {limit}']
    return fail_or_pass(f'{stanza.name}/speed', problems, f'{ratio:.3f} times')


def expected_failure(stanza, verdicts):
    """Turn the verdicts of a run that must fail round: each pattern of `fails` and nothing else."""
    texts = [verdict.text() for verdict in verdicts if verdict.outcome == 'FAIL']
    wanted = stanza.lines('fails')
    problems = [f'no failure like /{pattern}/' for pattern in wanted
                if not any(re.search(pattern, text) for text in texts)]
    problems += [f'not expected: {text}' for text in texts
                 if not any(re.search(pattern, text) for pattern in wanted)]
    return [verdict for verdict in verdicts if verdict.outcome != 'FAIL'] + \
        [fail_or_pass(f'{stanza.name}/fails', problems, f'{len(texts)} failures as expected')]


def run(stanza, keep):
    """Boot Linux under Sluice and return (verdicts, retries)."""
    folder = os.path.join(emu_tests.BUILD, 'emu', os.path.basename(keep))
    os.makedirs(folder, exist_ok=True)
    os.makedirs(keep, exist_ok=True)
    link(folder, 'launcher.efi', emu_tests.LAUNCHER)
    link(folder, 'initrd.img', emu_tests.INITRD)
    report_path = os.path.join(folder, 'run.tsv')
    if os.path.exists(report_path):
        os.remove(report_path)
    begin = time.monotonic()
    log = os.path.join(keep, 'log.txt')
    status = run_to_file(command(stanza, folder), log, 2 * stanza.number('timeout', 200) + 200)
    with open(log, encoding='utf-8', errors='replace') as handle:
        lines = handle.read().splitlines()
    starts = [number for number, text in enumerate(lines) if BEGINS_SLUICE.match(text)]
    shown = [SHOWN_LINE.match(text) for text in lines[starts[-1] if starts else 0:]]
    verdicts = relayed(stanza.name, [match.group(1) for match in shown if match])
    problems = [text[len('failed'):].strip() for text in lines if text.startswith('failed  ')]
    problems += [text for text in lines if text.startswith('run: ') and status == 1 and
                 not problems and 'time limit' not in text and 'first the same' not in text]
    if status is None:
        problems.append('run_linux took too long')
    elif status != 0 and not problems:
        problems.append(f'run_linux ended with {status}: {lines[-1] if lines else "no output"}')
    retries = sum('starting once more' in text for text in lines)
    note = f'{time.monotonic() - begin:.0f} s' + (', 1 retry: firmware hung' if retries else '')
    verdicts.append(fail_or_pass(f'{stanza.name}/run', problems, note))
    if stanza.get('fails'):
        return expected_failure(stanza, verdicts), retries
    speed = speed_verdict(stanza, read_report(report_path))
    return verdicts + ([speed] if speed else []), retries
