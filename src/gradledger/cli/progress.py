"""Progress of long checks: on a terminal only, after a second, and erased at the end."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bar

PATIENCE = 1.0
"""Seconds before progress is first drawn."""
INTERVAL = 0.1


class Progress:
    """Call it with the number done and the total."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._due = time.monotonic() + PATIENCE
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._due or done >= total or not sys.stderr.isatty():
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            # It draws only when called: a thread would not survive a fork.
            self._bar = Bar(console=Console(stderr=True), transient=True, auto_refresh=False)
            self._bar.add_task(self._what, completed=done, total=total)
            self._bar.start()
        self._due = now + INTERVAL
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, refresh=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
