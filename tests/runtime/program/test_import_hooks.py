from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from gradledger.runtime.program.import_hooks import when_imported


def test_a_module_is_seen_when_it_has_just_been_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_arrival.py").write_text("import sys\nfinders = list(sys.meta_path)\nx = 1")
    monkeypatch.syspath_prepend(tmp_path)
    before, seen = sys.meta_path[:], []

    def look() -> None:
        seen.append(importlib.import_module("late_arrival").x)

    when_imported("late_arrival", look)
    late_arrival = importlib.import_module("late_arrival")
    assert seen == [1]
    assert late_arrival.finders == sys.meta_path == before
    assert "exec_module" not in vars(late_arrival.__loader__)
    when_imported("late_arrival", look)
    assert seen == [1, 1]


def test_a_module_that_fails_at_first_is_seen_when_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "second_try.py"
    monkeypatch.syspath_prepend(tmp_path)
    before, seen = sys.meta_path[:], []
    when_imported("second_try", lambda: seen.append("there"))
    with pytest.raises(ImportError):
        importlib.import_module("second_try")  # no such file yet
    module.write_text("raise ValueError('not yet')")
    importlib.invalidate_caches()
    with pytest.raises(ValueError, match="not yet"):
        importlib.import_module("second_try")
    module.write_text("# fine now")
    assert seen == []
    importlib.invalidate_caches()
    importlib.import_module("second_try")
    assert seen == ["there"]
    assert sys.meta_path == before
