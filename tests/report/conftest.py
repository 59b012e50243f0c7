from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No colour, no width and no workspace but what a test asks for."""
    for name in (
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
        "COLORTERM",
        "GITHUB_WORKSPACE",
        "CI_PROJECT_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
