# SPDX-License-Identifier: BSD-2-Clause
"""Bochs: the machine file, the command line, and which Bochs may be used."""

import os
import re
import subprocess

GOOD_VERSION = '3.0'
BAD_VERSIONS = {
    '2.7': 'after one INIT exit every later VM entry exits with INIT again, '
           'and VM entry never unblocks NMIs',
    '3.1': 'IDIV r64 computes wrong quotients in that build: Linux dies in its clock source code',
}
SECTORS_PER_CYLINDER = 16 * 63
# One emulated second has this many ticks; the TSC counts ticks.
IPS = 100000000

MACHINE = """\
config_interface: textconfig
display_library: rfb, options="timeout=0"
memory: host={mem}, guest={mem}
romimage: file="{firmware}", address=0x0, options=none
vgaromimage: file="{vgabios}"
cpu: model={model}, count={cpus}, ips={ips}, reset_on_triple_fault=0, exclude_features="mwait"
pci: enabled=1, chipset=i440fx
vga: extension=vbe, update_freq=5
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path="{disk}", mode=flat, cylinders={cylinders}, heads=16, spt=63
{other}boot: disk
com1: enabled=1, mode=file, dev="{com1}"
com2: enabled=1, mode=file, dev="{com2}"
port_e9_hack: enabled=1
clock: sync=none, time0=946681200
log: "{log}"
panic: action=fatal
error: action=ignore
info: action={info}
debug: action=ignore
"""

OTHER_DISK = """\
ata0-slave: type=disk, path="{disk}", mode=flat, cylinders={cylinders}, heads=16, spt=63
"""

ROM_MACHINE = """\
config_interface: textconfig
display_library: rfb, options="timeout=0"
memory: host=32, guest=32
romimage: file="{rom}", address=0x0, options=none
vgaromimage: file="{vgabios}"
cpu: model=corei7_skylake_x, count=1, ips={ips}, reset_on_triple_fault=0
port_e9_hack: enabled=1
log: "{log}"
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
"""


class BochsError(Exception):
    """This Bochs cannot be used; the text says why."""


def default_paths_file():
    """Return where tests/tools/setup writes what it found."""
    cache = os.environ.get('SLUICE_CACHE') or os.path.expanduser('~/.cache/sluice')
    return os.path.join(cache, 'bochs', 'paths')


class Bochs:
    """An installed Bochs, by the paths file that tests/tools/setup wrote."""

    def __init__(self, paths_file=None):
        paths_file = paths_file or default_paths_file()
        try:
            with open(paths_file, encoding='utf-8') as handle:
                entries = dict(line.rstrip('\n').split('=', 1) for line in handle)
        except OSError as error:
            raise BochsError(f'{paths_file}: {error.strerror}; run tests/tools/setup emu') from error
        self.command = entries['command'].split()
        self.vgabios = entries['vgabios']
        self.environment = dict(os.environ, LTDL_LIBRARY_PATH=entries['plugins'],
                                BXSHARE=entries['share'])

    def version(self):
        """Return the version that the program reports, as '3.0'."""
        done = subprocess.run(self.command + ['--help'], env=self.environment, timeout=20,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        found = re.search(r'Bochs x86 Emulator (\d+\.\d+)', done.stdout.decode(errors='replace'))
        if not found:
            raise BochsError(f'{self.command[-1]} does not say which version it is')
        return found.group(1)

    def check_version(self):
        """Raise BochsError unless the version is the one that the tests need."""
        version = self.version()
        if version != GOOD_VERSION:
            reason = BAD_VERSIONS.get(version, 'it has not been tried')
            raise BochsError(f'Bochs {version}: {reason}; Bochs {GOOD_VERSION} is needed')
        return version

    def arguments(self, workdir):
        """Return the command that starts the machine file bochsrc in workdir."""
        commands = os.path.join(workdir, 'debugger.txt')
        with open(commands, 'w', encoding='utf-8') as handle:
            handle.write('c\n')
        return self.command + ['-q', '-f', os.path.join(workdir, 'bochsrc'), '-rc', commands]

    def write_machine(self, workdir, text):
        """Write the machine file into workdir."""
        with open(os.path.join(workdir, 'bochsrc'), 'w', encoding='utf-8') as handle:
            handle.write(text)


def cylinders_of(disk):
    """Return how many cylinders an image has."""
    cylinders, rest = divmod(os.path.getsize(disk) // 512, SECTORS_PER_CYLINDER)
    if rest != 0:
        raise BochsError(f'{disk}: not a whole number of {SECTORS_PER_CYLINDER}-sector cylinders')
    return cylinders


def prepare(machine, workdir, disk, firmware):
    """Write the files of one run. Return (command, environment)."""
    bochs = Bochs()
    other = OTHER_DISK.format(disk=machine.other, cylinders=cylinders_of(machine.other)) \
        if machine.other else ''
    bochs.write_machine(workdir, MACHINE.format(
        mem=machine.mem, firmware=firmware, vgabios=bochs.vgabios, model=machine.model,
        cpus=machine.cpus, ips=IPS, disk=disk, cylinders=cylinders_of(disk), other=other,
        com1=os.path.join(workdir, 'com1.txt'), com2=os.path.join(workdir, 'com2.txt'),
        log=os.path.join(workdir, 'bochs.log'), info='report' if machine.verbose else 'ignore'))
    return bochs.arguments(workdir), bochs.environment


def probe(paths_file, rom, workdir):
    """Check version and division of the Bochs in paths_file. Return a line that says what it is."""
    bochs = Bochs(paths_file)
    version = bochs.check_version()
    bochs.write_machine(workdir, ROM_MACHINE.format(
        rom=rom, vgabios=bochs.vgabios, ips=IPS, log=os.path.join(workdir, 'bochs.log')))
    done = subprocess.run(bochs.arguments(workdir), env=bochs.environment, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors='replace')
    if 'IDIV bad' in text:
        raise BochsError(f'Bochs {version}: IDIV r64 computes wrong quotients')
    if 'IDIV good' not in text:
        raise BochsError(f'Bochs {version}: the division test printed nothing: {text[-300:]!r}')
    return f'Bochs {version}, 64-bit division correct: {bochs.command[-1]}'
