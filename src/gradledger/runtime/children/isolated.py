"""Python processes started with `-I`, `-E` or `-S`, which ignore what leads them to the audit.

Most of them ask an interpreter for its version, or install something. One is told as not seen only
where torch is named in the script or the text that it runs, or where a module that is not Python's
own is run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_NO_TRAINING = frozenset({"pip", "setuptools", "build", "virtualenv", "pyproject_hooks"})


def say_unseen(folder: str, process: int, command: Sequence[str]) -> None:
    """Leave a word that this process may train, and is not audited."""
    if may_train(command):
        flags = next(word for word in command[1:] if set(word) & set("IES"))
        Path(folder, f"{process}.unseen").write_text(f"Python was started with {flags}", "utf-8")


def may_train(command: Sequence[str]) -> bool:
    """Whether this command line of Python may be one of a program that trains."""
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-"):
            return _names_torch(Path(word))
        if word.startswith(("-W", "-X")) and len(word) == 2:
            next(words, "")
        elif "c" in word:
            return "torch" in next(words, "")
        elif "m" in word:
            module = next(words, "").partition(".")[0]
            return bool(module) and module not in sys.stdlib_module_names | _NO_TRAINING
    return False


def _names_torch(script: Path) -> bool:
    try:
        return b"torch" in script.read_bytes()
    except OSError:
        return False
