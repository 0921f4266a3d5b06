# SPDX-License-Identifier: BSD-2-Clause
"""The options of run_linux: what they may be, checked before anything is built or booted.

Options are named as a user of make writes them (CPUS=, MEM=, ...). Every complaint is one line.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'emu'))

import bochs  # noqa: E402
import qemu  # noqa: E402

BOCHS_LPS_MAX = 15      # Bochs has 64 timers and each LP takes 3
LPS_MAX = 255           # the userland's table
MEM_MIN, MEM_MAX = 256, 3072    # MiB; above, memory lies beyond 4 GiB, which is untried
BOCHS_MODELS_WITHOUT_VMX = re.compile(r'i386|i486|pentium|amd|athlon|p[234]_|atom|turion|phenom|zambezi|'
                                      r'trinity|ryzen')


class OptionError(Exception):
    """An option that cannot be served; the text says why."""


def number(name, text, least, most):
    """Return the option's number; raise OptionError when it is none or out of range."""
    if not re.fullmatch(r'\d{1,9}', str(text)) or not least <= int(text) <= most:
        raise OptionError(f"{name}={text}: a number from {least} to {most} is wanted")
    return int(text)


def check_cpus(host, text):
    """CPUS= is a number, or for Bochs sockets:cores:threads."""
    most = BOCHS_LPS_MAX if host == 'bochs' else LPS_MAX
    factors = str(text).split(':')
    if len(factors) == 1:
        number('CPUS', text, 1, most)
        return
    product = 1
    if len(factors) == 3 and host == 'bochs':
        for factor in factors:
            product *= number('CPUS', factor, 1, most)
        if product <= most:
            return
    raise OptionError(f'CPUS={text}: a number from 1 to {most} is wanted' +
                      (', or sockets:cores:threads with no larger product'
                       if host == 'bochs' else ''))


def bochs_models():
    """Return the processor models of the installed Bochs, or None where there is none yet."""
    try:
        program = bochs.Bochs()
        done = subprocess.run(program.command + ['--help', 'cpu'], env=program.environment,
                              timeout=20, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
    except (bochs.BochsError, OSError, subprocess.TimeoutExpired):
        return None
    return re.findall(r'^([a-z0-9_]+)$', done.stdout.decode(errors='replace'), re.MULTILINE)


def check_model(host, text):
    """CPU= is a model of Bochs that has VT-x."""
    if host != 'bochs' or not text:
        return
    models = bochs_models()
    if models is None:
        return
    usable = [name for name in models if not BOCHS_MODELS_WITHOUT_VMX.match(name)]
    if text not in models:
        raise OptionError(f'CPU={text}: Bochs has no such model; with VT-x it has ' +
                          ', '.join(usable))
    if text not in usable:
        raise OptionError(f'CPU={text}: that model has no VT-x')


def check_host(host):
    """HOST= names an emulator that can run here."""
    if host not in ('bochs', 'qemu', 'qemu-tcg'):
        raise OptionError(f'HOST={host}: bochs or qemu is wanted')
    missing = qemu.missing_for_kvm() if host == 'qemu' else []
    if missing:
        raise OptionError('HOST=qemu: QEMU/KVM cannot run Sluice here: ' + '; '.join(missing))


def check_kernel(path):
    """KERNEL= is a file that can be read."""
    if not path:
        return
    try:
        with open(path, 'rb') as handle:
            head = handle.read(0x206)
    except OSError as error:
        raise OptionError(f'KERNEL={path}: {error.strerror}') from error
    if head[0x202:0x206] != b'HdrS':
        raise OptionError(f'KERNEL={path}: not a Linux kernel (bzImage)')


def check(arguments):
    """Raise OptionError for the first option that cannot be served."""
    check_host(arguments.host)
    check_cpus(arguments.host, arguments.cpus)
    check_model(arguments.host, arguments.model)
    number('MEM', arguments.mem, MEM_MIN, MEM_MAX)
    number('TIMEOUT', arguments.timeout, 0, 100000)
    number('STRESS', arguments.stress, 0, 10000000)
    if arguments.hv not in ('on', 'off'):
        raise OptionError(f'HV={arguments.hv}: on or off is wanted')
    check_kernel(arguments.kernel)
