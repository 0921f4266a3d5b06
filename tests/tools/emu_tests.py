# SPDX-License-Identifier: BSD-2-Clause
"""The stanzas of tests/emu/tests.cfg: reading them, and what each run needs.

tests.cfg explains its own format at the top.
"""

import configparser
import dataclasses
import os

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIG = os.path.join(TREE, 'tests', 'emu', 'tests.cfg')
BUILD = os.path.join(TREE, 'build')
SLUICE = 'build/sluice.efi'
LAUNCHER = 'build/rig/launcher.efi'
INITRD = 'build/rig/initrd.img'
COMMON_KEYS = {'sets', 'kind', 'host', 'cpus', 'model', 'mem', 'timeout', 'repeat', 'sluice'}
OTHER_TEXT = 'text'
EXPECT_KEYS = {'com1', 'com2', 'absent'}
KEYS = {
    'linux': COMMON_KEYS | {'slower', 'hv', 'stress', 'config', 'fails'},
    'guest': COMMON_KEYS | EXPECT_KEYS | {'boot', 'options', 'config', 'end', 'stop', 'errors',
                                            'table', 'most'},
    'steps': COMMON_KEYS | {'base', 'files', 'other', 'end', 'stop'},
}
STEP_KEYS = EXPECT_KEYS | {'image', 'options', 'config', 'lockvmx', 'freemem', 'returned',
                           'sluice', 'errors'}
ENDS = ('poweroff', 'reset', 'stop')


class ConfigError(Exception):
    """tests.cfg is wrong; the text says where."""


@dataclasses.dataclass
class Step:
    """One start of an image within a boot of kind `steps`."""

    name: str
    keys: dict

    def get(self, key, default=''):
        """Return the text of a key."""
        return self.keys.get(key, default)

    def lines(self, key):
        """Return a key's value as a list of lines."""
        return [line for line in self.get(key).split('\n') if line]


@dataclasses.dataclass
class Stanza(Step):
    """One boot of one machine."""

    steps: list = dataclasses.field(default_factory=list)

    def number(self, key, default):
        """Return a key's value as a number."""
        return int(self.get(key) or default)

    def kind(self):
        """Return linux, guest or steps."""
        return self.get('kind', 'guest')

    def other_files(self):
        """Return {destination: file} of the second disk; OTHER_TEXT stands for a text."""
        return dict(line.split('=', 1) for line in self.lines('other'))

    def needs(self):
        """Return the files that must be built before this run, as make targets."""
        files = [self.get('sluice', SLUICE), LAUNCHER]
        if self.kind() == 'linux':
            return files + [INITRD]
        if self.kind() == 'guest':
            return files + [f'build/guest/{self.get("boot")}']
        files += [path for path in self.other_files().values() if path != OTHER_TEXT]
        files += [step.get('sluice') for step in self.steps if step.get('sluice')]
        return files + [f'build/guest/{name}' for name in self.get('files').split()]


def check_keys(name, keys, known):
    """Raise ConfigError for a key that no code reads."""
    for key in keys:
        if key not in known:
            raise ConfigError(f"tests.cfg: [{name}]: unknown key '{key}'")


def load(path=CONFIG):
    """Return the stanzas in the file's order."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=('=',),
                                       comment_prefixes=('#',), inline_comment_prefixes=None,
                                       empty_lines_in_values=False, default_section='defaults')
    with open(path, encoding='utf-8') as handle:
        try:
            parser.read_file(handle)
        except configparser.Error as error:
            raise ConfigError(f'tests.cfg: {error}') from error
    stanzas = {}
    for section in parser.sections():
        keys = {key: value.strip() for key, value in parser.items(section)}
        parent, slash, step = section.partition('/')
        if slash:
            if parent not in stanzas:
                raise ConfigError(f'tests.cfg: [{section}] comes before [{parent}]')
            check_keys(section, keys, STEP_KEYS)
            stanzas[parent].steps.append(Step(step, keys))
            continue
        kind = keys.get('kind', 'guest')
        if kind not in KEYS:
            raise ConfigError(f"tests.cfg: [{section}]: unknown kind '{kind}'")
        check_keys(section, keys, KEYS[kind])
        if keys.get('end', 'poweroff') not in ENDS:
            raise ConfigError(f'tests.cfg: [{section}]: end must be one of {", ".join(ENDS)}')
        stanzas[section] = Stanza(section, keys)
    return list(stanzas.values())


def select(stanzas, wanted_set, names):
    """Return the stanzas of a set, or those that are named, whatever their set."""
    if not names:
        return [stanza for stanza in stanzas if wanted_set in stanza.get('sets').split()]
    known = {stanza.name: stanza for stanza in stanzas}
    for name in names:
        if name not in known:
            raise ConfigError(f"no stanza '{name}' in tests.cfg; there are: {', '.join(known)}")
    return [known[name] for name in names]
