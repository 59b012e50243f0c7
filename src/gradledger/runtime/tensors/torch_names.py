"""Private names of torch that an audit uses, and what becomes of it in a torch without them.

Most have something to take their place. Where that sees less, the verdict says so; where an audit
would be worth nothing, there is none. docs/torch-internals.md has all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from gradledger.errors import GradledgerError

_ABSENT = object()
unseen_without: dict[str, str] = {}
"""The names that this torch doesn't have, each with what can't be seen without it."""


def private(owner: object, name: str, instead: Any, *, unseen: str = "") -> Any:
    """What `owner` has by this name; `instead` where it has nothing.

    unseen: what an audit can't see with `instead`; empty where that does the same
    """
    found = getattr(owner, name, _ABSENT)
    if found is not _ABSENT:
        return found
    if unseen:
        unseen_without[name] = unseen
    return instead


def module(name: str) -> object:
    """A module of torch; None where there is none of this name."""
    try:
        return import_module(name)
    except ImportError:
        return None


def needed(owner: object, name: str) -> Any:
    """What `owner` has by this name. GradledgerError: there can be no audit without it."""
    found = getattr(owner, name, _ABSENT)
    if found is _ABSENT:
        raise GradledgerError(
            f"torch {torch.__version__} has no {name} any more, and gradledger can't audit without "
            "it. Install a newer gradledger, or an older torch."
        )
    return found


class _Asked:
    """In place of `torch.compiler`, where that has no flag to read."""

    @property
    def _is_compiling_flag(self) -> bool:
        return torch.compiler.is_compiling()


compiler: Any = torch.compiler if hasattr(torch.compiler, "_is_compiling_flag") else _Asked()
"""Has `_is_compiling_flag`, which is read in every call: a function would take longer."""


def reasons() -> dict[str, str]:
    """By missing name, what the verdict says of it."""
    return {
        name: f"torch {torch.__version__} has no {name}: {unseen}"
        for name, unseen in unseen_without.items()
    }
