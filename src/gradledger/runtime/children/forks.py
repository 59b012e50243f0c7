"""Forks of audited processes: each goes on as a child of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol

from gradledger.runtime.children.child import Child
from gradledger.runtime.children.door._gradledger_door import Inheritance
from gradledger.runtime.children.rank import process_group


class Audited(Protocol):
    """Whoever audits this process."""

    def abandon(self) -> None:
        """Undo all: this is the other process of a fork."""


_current: list[Audited] = []
"""Who audits this process, once something does."""
first_child: list[Callable[[], None]] = []
"""Told, once, that this process has started another."""


def follow(audited: Audited) -> None:
    """From now on, forks of this process are children of their own."""
    if not _current and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_parent=started, after_in_child=_after_in_child)
    for before in _current:
        before.abandon()
    _current[:] = [audited]


def started() -> None:
    """Another process has begun."""
    while first_child:
        first_child.pop()()


def _after_in_child() -> None:
    inheritance = Inheritance.current
    if inheritance is None:
        return
    patches: Any = sys.modules.get("gradledger.runtime.journal.patches")
    if patches is not None:
        patches._exchanging = threading.RLock()  # another thread may have had it
    first_child.clear()
    own = Inheritance(inheritance.folder, inheritance.claimed)
    own.begin()
    child = Child(own, group=process_group())
    follow(child)
    child.wait()
