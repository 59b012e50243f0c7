from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.command_line import CommandLine
from tests.runtime.nursery import Nursery, nursery


@pytest.fixture(scope="session")
def command_line() -> Iterator[CommandLine]:
    """Starts programs, audited or plain, in forks of one process that has torch."""
    with CommandLine() as opened:
        yield opened


@pytest.fixture(scope="session")
def auditor() -> Iterator[Nursery]:
    """Audits programs in forks of a process that has torch, and nothing that tests leave behind."""
    with nursery() as opened:
        yield opened
