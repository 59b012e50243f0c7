"""When to check again: soon after the last of several keystrokes, and one document at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

LEAST = 0.05
"""Seconds without a keystroke, after which a file is checked that is checked quickly."""
QUICK = 0.3
MOST = 2.0
"""Where a check takes longer than that is quick, it waits as long as it takes, and no longer."""


class Pacing:
    """Calls `check` for each document that was asked for, once all is quiet."""

    def __init__(self, check: Callable[[str], Awaitable[None]]) -> None:
        self._check = check
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._took: dict[str, float] = {}
        """Seconds that the last check of a document took: what takes long is done less often."""

    def ask(self, uri: str, *, at_once: bool = False) -> None:
        """Check it; a wish that still waits is the same."""
        self.forget(uri)
        took = self._took.get(uri, 0.0)
        delay = 0.0 if at_once else LEAST if took < QUICK else min(took, MOST)
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(delay, self._begin, uri)

    def forget(self, uri: str) -> None:
        """Nobody wants to know any more."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()

    def _begin(self, uri: str) -> None:
        self._waiting.pop(uri, None)
        task = asyncio.ensure_future(self._timed(uri))
        self._running.add(task)  # the loop keeps no reference of its own
        task.add_done_callback(self._running.discard)

    async def _timed(self, uri: str) -> None:
        begun = perf_counter()
        await self._check(uri)
        self._took[uri] = perf_counter() - begun
