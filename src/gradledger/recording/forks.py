"""Keeps a forked child, such as a DataLoader worker, away from its parent's recordings."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

PATIENCE = 2.0
"""Seconds that a fork waits for a batch to be written. A disk that hangs must not hang the fork."""


class Forkable(Protocol):
    """An object with a thread, which a fork would not copy."""

    def hold_still(self, seconds: float) -> None: ...
    def go_on(self) -> None: ...
    def become_a_copy(self) -> None: ...


_parents: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(parent: Forkable) -> None:
    """From now on, forks find `parent` at rest, and its copies know that they are copies."""
    _parents.add(parent)


def _before() -> None:
    # A child born while a thread is inside SQLite inherits SQLite's locks with no thread to
    # release them: its own databases, say a dataset's, would wait forever.
    for parent in list(_parents):
        parent.hold_still(PATIENCE)


def _in_parent() -> None:
    for parent in list(_parents):
        parent.go_on()


def _in_child() -> None:
    for parent in list(_parents):
        parent.become_a_copy()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
