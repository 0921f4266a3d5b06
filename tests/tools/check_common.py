# SPDX-License-Identifier: BSD-2-Clause
"""What the check_* scripts share. They run at the top of the tree and judge the files below it."""

import os
import re
import sys

PRODUCT = ("core", "mm", "hyperv", "vmx", "boot")
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.MULTILINE)
_ASM_INCLUDE = re.compile(r"^[ \t]*%include[ \t]+([\"'])([^\"']+)[\"']", re.MULTILINE)


def files(folders=(".",), suffixes=None):
    """The files under folders, as paths from the top, sorted; only those with a given suffix."""
    found = []
    for folder in folders:
        for parent, names, leaves in os.walk(folder):
            names[:] = sorted(n for n in names if n not in SKIPPED_FOLDERS)
            for leaf in leaves:
                if leaf == ".git":
                    continue  # of a linked work tree: a file
                path = os.path.normpath(os.path.join(parent, leaf))
                if suffixes is None or path.endswith(tuple(suffixes)):
                    found.append(path)
    return sorted(found)


def read(path):
    """The text of a file, or None when it is not text."""
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    with open(path, "rb") as stream:
        data = stream.read()
    if b"\0" in data:
        return None
    return data.decode("utf-8", "replace")


def strip(text, keep_strings=False):
    """C text without comments (and without the inside of strings); line numbers stay right."""
    def blank(match):
        token = match.group(0)
        if token[0] == "/":
            return " " + "\n" * token.count("\n")
        return token if keep_strings else token[0] * 2
    return _TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(path):
    """(line, is_system, target) of each include in a C or NASM file."""
    text = read(path) or ""
    if path.endswith((".asm", ".inc")):
        found = _ASM_INCLUDE.finditer(text)
    else:
        text = strip(text, keep_strings=True)
        found = _INCLUDE.finditer(text)
    return [(line_of(text, m.start()), m.group(1) == "<", m.group(2)) for m in found]


def finish(problems):
    """Prints the problems and ends the program."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
