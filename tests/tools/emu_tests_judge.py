# SPDX-License-Identifier: BSD-2-Clause
"""Judging a run: from the lines of a machine to results."""

import dataclasses
import re

import emu_tests_machine as boots
import rig

RESULT = re.compile(r'^RESULT (\S+) (PASS|FAIL|SKIP)(?: (.*))?$')
MEASURE = re.compile(r'^MEASURE (.*)$')
BANNER = r'Sluice \d'
TABLE = r'exits total\D*\d'
ERROR_LINE = r'^\[LP\S* (VP\S* )?\S+ \S+ E\]'
FREE_PAGES_LOST_LIMIT = 64
SHOWN_REASON = 300


@dataclasses.dataclass
class Verdict:
    """One result line."""

    name: str
    outcome: str
    reason: str = ''

    def text(self):
        """Return the line as everyone reads it."""
        return f'RESULT {self.name} {self.outcome} {self.reason[:SHOWN_REASON]}'.rstrip()


def fail_or_pass(name, problems, note=''):
    """Return one verdict for a list of problems."""
    if problems:
        return Verdict(name, 'FAIL', '; '.join(problems))
    return Verdict(name, 'PASS', note)


def missing_patterns(wanted, lines, where):
    """Return what of a list of regular expressions no line has; a terminal may have cut lines."""
    haystack = lines + [''.join(lines)]
    return [f'{where} has no /{pattern}/' for pattern in wanted
            if not any(re.search(pattern, text) for text in haystack)]


def present_patterns(unwanted, lines, where):
    """Return which of a list of regular expressions some line has."""
    return [f'{where} has /{pattern}/: {text}' for pattern in unwanted for text in lines
            if re.search(pattern, text)][:3]


def sluice_lines(lines):
    """Return Sluice's own lines of COM2: firmware writes its console there too."""
    return [text[text.index('[LP'):] for text in lines if '[LP' in text]


def expectation_problems(step, com1, com2):
    """Return what is wrong with the lines of a run or of one step of it."""
    problems = missing_patterns(step.lines('com1'), com1, 'COM1')
    problems += missing_patterns(step.lines('com2'), com2, 'COM2')
    problems += present_patterns(step.lines('absent'), com1 + com2, 'output')
    if not step.get('errors'):
        problems += present_patterns([ERROR_LINE], com2, 'COM2')
    return problems


def end_problems(stanza, result):
    """Return what is wrong with how the machine ended."""
    wanted = {'poweroff': rig.POWEROFF, 'reset': boots.RESET, 'stop': rig.STOPPED}[
        stanza.get('end', 'poweroff')]
    if result.reason == wanted:
        return []
    words = {rig.TIMEOUT: f'the time limit passed ({result.wall_seconds:.0f} s)',
             rig.NO_START: 'firmware hung before anything of ours ran, twice',
             rig.FINAL: 'the guest finished but the machine did not switch off',
             rig.EXITED: 'the emulator ended before the last line',
             rig.POWEROFF: 'the machine switched itself off',
             boots.RESET: 'the machine was reset'}.get(result.reason, result.reason)
    last = result.lines()[-1:] or ['nothing']
    problems = [f'{words}, expected {wanted}; last line: {last[0]}']
    if result.reason in (rig.EXITED, rig.NO_START) and result.emulator_tail:
        problems.append(f'emulator: {result.emulator_tail.splitlines()[-1]}')
    return problems


def relayed(prefix, lines):
    """Return the guest's own results as verdicts, with a prefix."""
    found = [RESULT.match(text) for text in lines]
    return [Verdict(f'{prefix}/{match.group(1)}', match.group(2), match.group(3) or '')
            for match in found if match]


def done_problems(lines, verdicts):
    """Return what is wrong with a guest's last line."""
    found = [match for match in (re.search(boots.GUEST_DONE, text) for text in lines) if match]
    if len(found) != 1:
        return [f'{len(found)} lines GUEST DONE']
    passed, failed = (int(text) for text in found[0].groups())
    seen = [verdict.outcome for verdict in verdicts]
    if (passed, failed) != (seen.count('PASS'), seen.count('FAIL')):
        return [f'the guest counts {passed} passed, {failed} failed, but '
                f'{seen.count("PASS")} and {seen.count("FAIL")} lines were seen']
    return [] if passed + failed else ['the guest ran no test']


def judge_guest(stanza, result, bare):
    """Return the verdicts of a run of one guest."""
    com1, com2 = result.lines('com1'), sluice_lines(result.lines('com2'))
    verdicts = relayed(stanza.name, com1)
    problems = end_problems(stanza, result)
    if not any(text.startswith('GUEST END ') for text in com1):
        problems += [] if stanza.get('stop') else done_problems(com1, verdicts)
    if not bare:
        problems += expectation_problems(stanza, com1, com2)
        problems += missing_patterns([BANNER] + ([] if stanza.get('table') else [TABLE]), com2,
                                     'COM2')
        verdicts += limit_verdicts(stanza, com1)
    return verdicts + [fail_or_pass(f'{stanza.name}/run', problems, speed_note(result))]


def limit_verdicts(stanza, lines):
    """Return a verdict for each measurement that has a limit."""
    verdicts = []
    for name, field, limit in (line.split() for line in stanza.lines('most')):
        found = [re.search(rf'^(?:MEASURE|BENCH) {name} .*\b{field}=(\d+)', text) for text in lines]
        values = [int(match.group(1)) for match in found if match]
        problems = [f'{value}, limit {limit}' for value in values if value > int(limit)]
        if not values:
            problems = ['not measured']
        verdicts.append(fail_or_pass(f'{stanza.name}/{name}', problems,
                                     f'{values[0] if values else ""} of at most {limit}'))
    return verdicts


def speed_note(result):
    """Return a short text on a run that passed."""
    retry = ', 1 retry: firmware hung' if result.retries else ''
    return f'{result.wall_seconds:.0f} s{retry}'


def segments(lines, names):
    """Return {step name: its lines}: what follows the launcher's line "LAUNCH step NAME"."""
    parts = {name: [] for name in names}
    current = None
    for text in lines:
        found = re.match(r'LAUNCH step (\S+)', text)
        if found:
            current = found.group(1)
        elif current in parts:
            parts[current].append(text)
    return parts


def judge_step(stanza, step, com1, com2):
    """Return the verdicts of one step."""
    name = f'{stanza.name}/{step.name}'
    if not com1:
        return [Verdict(name, 'FAIL', 'did not start')]
    verdicts = relayed(name, com1)
    problems = expectation_problems(step, com1, sluice_lines(com2))
    if step.get('returned'):
        problems += missing_patterns([f'^LAUNCH returned {step.get("returned")} ',
                                      '^LAUNCH unchanged'], com1, 'COM1')
        problems += present_patterns(['^LAUNCH changed'], com1, 'COM1')
        for text in com1:
            found = re.match(r'LAUNCH free pages less: (\d+)', text)
            if found and int(found.group(1)) > FREE_PAGES_LOST_LIMIT:
                problems.append(f'{found.group(1)} pages of memory were not given back')
    else:
        problems += done_problems(com1, verdicts)
    return verdicts + [fail_or_pass(name, problems)]


def judge_steps(stanza, result):
    """Return the verdicts of a run of several steps."""
    names = [step.name for step in stanza.steps]
    com1 = segments(result.lines('com1'), names)
    com2 = segments(result.lines('com2'), names)
    verdicts = []
    for step in stanza.steps:
        verdicts += judge_step(stanza, step, com1[step.name], com2[step.name])
    return verdicts + [fail_or_pass(f'{stanza.name}/run', end_problems(stanza, result),
                                    speed_note(result))]


def measures(stanza, result):
    """Return the guest's measurements, one text each."""
    found = [MEASURE.match(text) for text in result.lines('com1')]
    return [f'MEASURE {stanza.name} {match.group(1)}' for match in found if match]
