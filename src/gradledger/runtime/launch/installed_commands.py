"""The commands of installed programs: which of them are Python programs of this environment."""

from __future__ import annotations

import os
import re
import sys
from types import CodeType


def as_python(path: str) -> bool:
    """Is this a script that the Python of this environment runs?"""
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError:
        return False
    first, _, rest = start.partition(b"\n")
    # Where a path is too long for a first line, the shell is told to start Python in the second.
    line = rest.partition(b"\n")[0] if rest.startswith(b"'''exec'") else first
    named = re.search(rb"[^\s\"']*python[^\s\"']*", line)
    if not start.startswith(b"#!") or named is None:
        return False
    interpreter = os.fsdecode(named[0])
    if not os.path.isabs(interpreter):  # `#!/usr/bin/env python3`
        return True
    return _environment(interpreter) == os.path.realpath(sys.prefix)


def entry_point(name: str) -> CodeType | None:
    """A program that does what the command of this name does, if it is installed here."""
    from importlib.metadata import entry_points

    for point in entry_points(group="console_scripts", name=name):
        start = point.attr.partition(".")[0]
        source = f"import sys\nfrom {point.module} import {start}\nsys.exit({point.attr}())\n"
        return compile(source, f"<command {name}>", "exec", dont_inherit=True)
    return None


def _environment(interpreter: str) -> str:
    """The folder above `bin` or `Scripts`, without following the interpreter's own link."""
    return os.path.realpath(os.path.dirname(os.path.dirname(interpreter)))
