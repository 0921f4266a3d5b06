# SPDX-License-Identifier: BSD-2-Clause
"""QEMU: the command line, and whether this host can give a guest nested VT-x."""

import fcntl
import os
import shutil

PROGRAM = 'qemu-system-x86_64'
KVM_GET_API_VERSION = 0xAE00
NESTED = '/sys/module/kvm_intel/parameters/nested'


class QemuError(Exception):
    """QEMU cannot be used as asked; the text says why."""


def kvm_answers():
    """Return whether /dev/kvm is more than a name."""
    try:
        with open('/dev/kvm', 'rb+', buffering=0) as handle:
            return fcntl.ioctl(handle, KVM_GET_API_VERSION) > 0
    except OSError:
        return False


def missing_for_kvm():
    """Return what this host lacks to run a hypervisor under QEMU/KVM, as a list of sentences."""
    missing = []
    if shutil.which(PROGRAM) is None:
        missing.append(f'{PROGRAM} is not installed (tests/tools/setup emu)')
    if not os.path.exists('/dev/kvm'):
        missing.append('/dev/kvm does not exist: no hardware virtualisation on this host, '
                       'or the kvm modules are not loaded')
    elif not os.access('/dev/kvm', os.R_OK | os.W_OK):
        missing.append('/dev/kvm is not accessible for this user (group kvm)')
    elif not kvm_answers():
        missing.append('/dev/kvm does not answer: the host has no VT-x, or it is switched off')
    try:
        with open(NESTED, encoding='ascii') as handle:
            if handle.read().strip() not in ('Y', '1'):
                missing.append(f'nested VT-x is off: {NESTED} must be Y (kvm_intel nested=1)')
    except OSError:
        missing.append(f'{NESTED} does not exist: not an Intel host with kvm_intel loaded')
    return missing


def prepare(machine, workdir, disk, firmware):
    """Return (command, environment) of one run. machine.host is 'qemu' or 'qemu-tcg'."""
    if shutil.which(PROGRAM) is None:
        raise QemuError(f'{PROGRAM} is not installed; run tests/tools/setup emu')
    command = [PROGRAM, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
               '-net', 'none', '-m', str(machine.mem), '-smp', str(machine.cpus),
               '-bios', firmware,
               '-machine', 'q35', '-cpu', machine.model,
               '-drive', f'file={disk},format=raw,if=ide,snapshot=on',
               '-serial', f'file:{os.path.join(workdir, "com1.txt")}',
               '-serial', f'file:{os.path.join(workdir, "com2.txt")}',
               '-debugcon', 'stdio',
               '-device', 'isa-debug-exit,iobase=0x501,iosize=1']
    if machine.other:
        command += ['-drive', f'file={machine.other},format=raw,if=ide,snapshot=on']
    if machine.host == 'qemu':
        missing = missing_for_kvm()
        if missing:
            raise QemuError('QEMU/KVM cannot run Sluice here: ' + '; '.join(missing))
        command += ['-enable-kvm']
    return command, dict(os.environ)
