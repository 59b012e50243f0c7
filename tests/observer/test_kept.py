"""What was observed is kept as long as it would be observed again, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.observer import Observation, kept, observe
from tests.observer.conftest import MODEL

Again = Callable[[], tuple[Observation, bool]]

PASS = "loss = model(x).sum()\nloss.backward()\nprint(loss.dim())\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(MODEL + PASS)
    return path


@pytest.fixture
def again(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Again:
    """What is told of the program, and whether it ran for that."""
    runs: list[Path] = []

    def counted(path: Path) -> Observation:
        runs.append(path)
        return observe(path)

    monkeypatch.setattr(kept, "observe", counted)

    def ask() -> tuple[Observation, bool]:
        before = len(runs)
        (told,) = kept.observed(program, folder=tmp_path / "kept")
        return told, len(runs) > before

    return ask


def test_what_is_kept_is_what_was_observed(again: Again, program: Path) -> None:
    fresh = observe(program)
    for expected in (True, False, False):
        told, ran = again()
        assert ran == expected
        assert (told.events, told.error, told.output) == (fresh.events, None, "0\n")


def test_the_error_that_ended_a_program_is_kept_by_its_words(again: Again, program: Path) -> None:
    program.write_text("raise ValueError('boom')")
    for _ in range(2):
        told, _ = again()
        assert "ValueError('boom')" in str(told.error)


def test_another_program_is_observed_anew(again: Again, program: Path) -> None:
    again()
    program.write_text(MODEL + PASS + "optimizer.step()\n")
    told, ran = again()
    assert ran
    assert told.events == observe(program).events


@pytest.mark.parametrize("part", ["_observer", "_contents"])
def test_by_another_observer_it_is_observed_anew(
    part: str, again: Again, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("import gradledger\n" + MODEL + PASS)
    again()
    monkeypatch.setattr(kept, part, lambda *_: b"other")
    assert again()[1]
    assert not again()[1]


@pytest.mark.parametrize(
    "damaged",
    [lambda text: b"", lambda text: text[: len(text) // 2], lambda text: text[:-9] + bytes(9)],
    ids=["nothing left", "half of it", "another end"],
)
def test_what_is_damaged_is_observed_anew(
    damaged: Callable[[bytes], bytes], again: Again, tmp_path: Path
) -> None:
    good, _ = again()
    (file,) = (tmp_path / "kept").iterdir()
    file.write_bytes(damaged(file.read_bytes()))
    told, ran = again()
    assert ran
    assert told.events == good.events
    assert not again()[1]
