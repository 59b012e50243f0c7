"""Computes gradients that a running audit doesn't see, because no training uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gradledger.runtime.journal.journal import journals


@contextmanager
def off_the_books() -> Iterator[None]:
    """What this thread does inside is not entered into any journal."""
    hushed = [journal for journal in list(journals) if not (journal.work.hushed or journal.asleep)]
    for journal in hushed:
        journal.arrive()  # what happened before is told while the cells are still as it left them
        journal.work.hushed = True
    try:
        yield
    finally:
        for journal in hushed:
            journal.work.hushed = False
