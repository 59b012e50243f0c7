"""What `gradledger run` is to run, found the way a shell and Python would find it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from gradledger.runtime.launch import suggestions
from gradledger.runtime.launch.scripts import TargetError, compiled


class Target(NamedTuple):
    """A program, and what Python would tell it about itself."""

    subject: str
    """What a person calls it."""
    argv: tuple[str, ...]
    """Its `sys.argv`."""
    folder: str | None
    """Its `sys.path[0]`; None where Python was told to put nothing there."""
    module: str = "__main__"
    """What runpy runs, where there is no code: `__main__` of the folder, or a module by name."""
    code: CodeType | None = None
    file: str | None = None
    """Its `__file__`, for code."""


def find_target(words: Sequence[str], *, module: bool = False) -> Target:
    """The program that the words name: a file, a folder, a command or a module, and its arguments.

    Raises TargetError where there is none.
    """
    first, *arguments = words
    if module:
        here = _unless_told_otherwise(os.getcwd())
        return Target(first, ("-m", *arguments), here, module=first)
    if first.endswith(".ipynb") and not os.path.isdir(first) and os.path.exists(first):
        return _notebook(first, arguments)
    if os.path.exists(first):
        found = _folder_or_archive(first, arguments)
        if found or not os.path.isdir(first):
            return found or _script(first, first, arguments)
    if found := _command(first, arguments):
        return found
    if os.path.isdir(first):
        said = suggestions.of_folder(first)
        raise TargetError(f"{first} is a folder without a __main__.py. {said}")
    if first.endswith((".py", ".pyc", ".ipynb", ".sh")) or os.path.dirname(first):
        raise TargetError(f"{first} does not exist. {suggestions.of_missing(first)}")
    raise TargetError(
        f"{first} is neither a file in {os.getcwd()} nor a command on the PATH. To run a module, "
        f"type `gradledger run -m {first}`."
    )


def _folder_or_archive(path: str, arguments: Sequence[str]) -> Target | None:
    """A folder or zip file with a `__main__`, which Python runs like a module."""
    from pkgutil import get_importer

    absolute = _absolute(path)
    importer = get_importer(absolute)
    if importer is None or importer.find_spec("__main__") is None:
        return None
    return Target(path, (path, *arguments), absolute)


def _script(subject: str, path: str, arguments: Sequence[str]) -> Target:
    # Where the file really is: next to a link there is rarely what it imports.
    folder = _unless_told_otherwise(os.path.dirname(os.path.realpath(path)))
    file = _absolute(path)
    return Target(subject, (path, *arguments), folder, code=compiled(path, file), file=file)


def _notebook(path: str, arguments: Sequence[str]) -> Target:
    from gradledger.runtime.launch.notebooks import check

    check(path, arguments)
    file = os.path.realpath(path)
    source = f"from gradledger.runtime.launch.notebooks import execute\nexecute({file!r})\n"
    code = compile(source, f"<notebook {path}>", "exec", dont_inherit=True)
    return Target(path, (path,), _unless_told_otherwise(os.path.dirname(file)), code=code)


def _command(name: str, arguments: Sequence[str]) -> Target | None:
    """The command of an installed program, as a shell would find it, or next to this Python."""
    if os.path.dirname(name):
        return None
    beside_us = os.path.dirname(sys.executable)
    path = shutil.which(name, path=os.pathsep.join([beside_us, os.environ.get("PATH", "")]))
    if path is None:
        return None
    from gradledger.runtime.launch.installed_commands import as_python, entry_point

    if as_python(path):
        return _script(name, path, arguments)
    # A shim or a wrapper, but of something that is installed here.
    code = entry_point(name)
    if code is None:
        raise TargetError(
            f"{path} isn't a Python program that is installed for {sys.executable}. Install "
            "gradledger where that program is installed, and use it from there."
        )
    return Target(name, (path, *arguments), _unless_told_otherwise(beside_us), code=code)


def _absolute(path: str) -> str:
    # As Python does it, which leaves `./` and `..` in.
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def _unless_told_otherwise(folder: str) -> str | None:
    safe = getattr(sys.flags, "safe_path", sys.flags.isolated)  # `safe_path` is new in 3.11
    return None if safe else folder
