# SPDX-License-Identifier: BSD-2-Clause
"""Booting the machine of a stanza: its disk image, and when to stop it."""

import os
import re
import shutil
import tempfile

import emu_tests
import mkimage
import rig

BOOTED = r'^LAUNCH lps='
# Bochs' own word for it, at another time than power on. Firmware does not come up again after every
# kind of reset there, so the launcher's second start is not what is waited for.
BOCHS_RESET = r'^(?!0+i)\d+i\[SYS *\] bx_pc_system_c::Reset\((HARDWARE|SOFTWARE)\) called'
GUEST_DONE = r'^GUEST DONE passed=(\d+) failed=(\d+)'
# The last line of a guest, GUEST END where the test itself ends the machine.
GUEST_LAST = r'^GUEST (DONE passed=\d+ failed=\d+|END )'
SETTLE_SECONDS = 3
RESET = 'reset'
PASSTHROUGH = ['mode=passthrough', 'console=com2']
HV_OFF = 'hv=off'
NOT_EFI = 'This is text, not a program.\n'


class Run(rig.Run):
    """One start of a machine that may reset itself, or is stopped a moment after some line."""

    def __init__(self, machine, workdir, limits, final, stop):
        super().__init__(machine, workdir, rig.Show(False), limits, (final, None, BOOTED))
        self.boots = 0
        self.is_reset = False
        if machine.verbose:
            self.followers.append(rig.Follower(os.path.join(workdir, 'bochs.log'), 'bochs'))
        self.stop = stop
        self.stop_at = None

    def note(self, line):
        """Count starts of the launcher, and look for the line that ends the run."""
        if line.source == 'bochs':
            self.is_reset = self.is_reset or re.search(BOCHS_RESET, line.text) is not None
            return
        super().note(line)
        if line.source == 'com1' and re.search(BOOTED, line.text):
            self.boots += 1
        if self.stop and self.stop_at is None and re.search(self.stop, line.text):
            self.stop_at = line.time

    def verdict(self, elapsed, ended):
        """Return the reason to stop now, or None."""
        if self.boots > 1 or self.is_reset:
            return RESET
        if self.stop_at is not None and elapsed - self.stop_at > SETTLE_SECONDS:
            return rig.STOPPED
        return super().verdict(elapsed, ended)


def machine_of(stanza):
    """Return the machine that a stanza asks for."""
    return rig.Machine(host=stanza.get('host', 'bochs'), cpus=stanza.get('cpus', '4'),
                       model=stanza.get('model'), mem=stanza.number('mem', 512),
                       verbose=stanza.get('end') == 'reset')


def image_files(stanza, bare):
    """Return ({destination: path}, {destination: text}) of a stanza's disk."""
    files = {'EFI/BOOT/BOOTX64.EFI': emu_tests.LAUNCHER}
    acpi = f'acpi={"on" if stanza.get("host", "bochs") == "bochs" else "off"}'
    if stanza.kind() == 'steps':
        return steps_files(stanza, files, acpi)
    boot = stanza.get('boot')
    files[boot] = f'build/guest/{boot}'
    if bare:
        return files, {'launch.cfg': [acpi, f'image=\\{boot}', f'options={stanza.get("options")}']}
    files['sluice.efi'] = stanza.get('sluice', emu_tests.SLUICE)
    return files, {
        'launch.cfg': [acpi, 'image=\\sluice.efi'],
        'sluice.cfg': guest_config(stanza)}


def guest_config(stanza):
    """Return the lines of a guest's sluice.cfg; hv=off unless the stanza has a line hv= itself."""
    lines = stanza.lines('config')
    if not any(line.startswith('hv=') for line in lines):
        lines = [HV_OFF] + lines
    return PASSTHROUGH + [f'boot=\\{stanza.get("boot")}', f'options={stanza.get("options")}'] + lines


def steps_files(stanza, files, acpi):
    """As image_files for the kind `steps`: each has a folder with Sluice and its configuration."""
    launch = [acpi]
    texts = {'launch.cfg': launch, 'notefi.txt': [NOT_EFI.rstrip()]}
    for name in stanza.get('files').split():
        files[name] = f'build/guest/{name}'
    for step in stanza.steps:
        launch += [f'step={step.name}', f'image={step.get("image", f"{chr(92)}{step.name}{chr(92)}sluice.efi")}']
        launch += [f'{key}={step.get(key)}' for key in ('options', 'lockvmx', 'freemem')
                   if step.get(key)]
        if not step.get('image'):
            files[f'{step.name}/sluice.efi'] = step.get('sluice') or \
                stanza.get('sluice', emu_tests.SLUICE)
            texts[f'{step.name}/sluice.cfg'] = stanza.lines('base') + step.lines('config')
    return files, texts


def make_image(stanza, folder, bare):
    """Write the disk image of a stanza into a folder and return its path."""
    files, texts = image_files(stanza, bare)
    for destination, lines in texts.items():
        files[destination] = os.path.join(folder, destination.replace('/', '+'))
        with open(files[destination], 'w', encoding='utf-8') as handle:
            handle.write('\n'.join(lines) + '\n')
    image = os.path.join(folder, 'made.img')
    mkimage.make_image(image, files)
    return image


def make_other(stanza, folder):
    """Write the image of a stanza's second disk, with a GPT; return its path, '' for none."""
    files = stanza.other_files()
    if not files:
        return ''
    text = os.path.join(folder, 'notefi.txt')
    with open(text, 'w', encoding='utf-8') as handle:
        handle.write(NOT_EFI)
    image = os.path.join(folder, 'other.img')
    mkimage.make_image(image, {destination: text if path == emu_tests.OTHER_TEXT else path
                               for destination, path in files.items()}, gpt=True)
    return image


def boot(stanza, keep, bare=False):
    """Boot a stanza's machine and return a rig.Result. keep: folder for the run's files.

    Starts it once more when the firmware hung before the launcher said anything.
    """
    machine = machine_of(stanza)
    final = GUEST_LAST if stanza.get('end', 'poweroff') == 'poweroff' else None
    limits = (stanza.number('timeout', 150), rig.default_start_timeout(machine), 20)
    for retries in range(2):
        workdir = tempfile.mkdtemp(prefix='sluice-test-')
        try:
            image = make_image(stanza, workdir, bare)
            machine.other = make_other(stanza, workdir)
            command, environment = rig.prepare(machine, workdir, image)
            result = Run(machine, workdir, limits, final, stanza.get('stop')).go(command,
                                                                                environment)
            result.retries = retries
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(workdir, keep, ignore=shutil.ignore_patterns('*.img*', '*.new'))
            write_log(result, os.path.join(keep, 'log.txt'))
        finally:
            shutil.rmtree(workdir, ignore_errors=True)
        if result.reason != rig.NO_START:
            break
    return result


def write_log(result, path):
    """Write all lines of a run in order of arrival."""
    with open(path, 'w', encoding='utf-8') as handle:
        for line in result.all_lines:
            handle.write(f'[{line.time:6.1f}s {line.source}] {line.text}\n')
        handle.write(f'ended by {result.reason} after {result.wall_seconds:.1f} s\n')
        if result.emulator_tail:
            handle.write(f'{result.emulator_tail}\n')
