from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.command_line import CommandLine


@pytest.fixture(scope="session")
def command_line() -> Iterator[CommandLine]:
    """Starts programs, audited or plain, in forks of one process that has torch."""
    with CommandLine() as opened:
        yield opened
