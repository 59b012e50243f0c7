"""Findings at labelled places of public code."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import linting
from benchmarks.linting import LINTERS, Finding, Linter
from benchmarks.peers import RUFF
from benchmarks.public_code import labelled_places
from benchmarks.public_code.labelled_places import CASES, Label, labels, told
from gradledger.rules import find

BAD = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""


def test_the_labels_are_complete() -> None:
    known = labels()
    assert {label.label for label in known} == {"true", "false"}
    assert len(known) == len({(label.repository, label.place) for label in known})
    for label in known:
        assert label.repository.count("/") == 1
        assert not label.place.path.startswith("/")
        find(label.place.rule)


def test_a_line_of_a_notebook_has_its_cell() -> None:
    places = [label.place for label in labels()]
    in_notebooks = [place for place in places if place.path.endswith(".ipynb")]
    assert in_notebooks
    assert [place for place in places if place.cell is not None] == in_notebooks


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "someone+thing"
    folder.mkdir()
    (folder / "train.py").write_text(BAD, encoding="utf-8")
    (folder / "other.py").write_text("x = y\n", encoding="utf-8")
    return tmp_path


def counted(
    folder: Path, known: list[Label], monkeypatch: pytest.MonkeyPatch, linter: Linter
) -> list[str]:
    monkeypatch.setattr(labelled_places, "LINTERS", (linter,))
    table = told("Public", folder, known)
    return [table.cells[case][linter.name].verdict for case in CASES]


def label(line: int, what: str, repository: str = "someone/thing") -> Label:
    return Label(repository, Finding("train.py", line, "GL101"), what)


def test_of_us_rule_and_line_have_to_agree(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = next(linter for linter in LINTERS if linter.peer is None)
    known = [label(8, "true"), label(7, "true"), label(7, "false"), label(8, "true", "no/body")]
    assert counted(repository, known, monkeypatch, ours) == ["1 of 2", "0 of 1", "0"]


def test_of_a_peer_whatever_it_says_nearby_counts(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruff = next(linter for linter in LINTERS if linter.peer is RUFF)
    # It says that `data` is not defined, in line 5; what it says of other.py is not asked for.
    assert counted(repository, [label(8, "true")], monkeypatch, ruff) == ["1 of 1", "0 of 0", "0"]
    assert counted(repository, [label(80, "false")], monkeypatch, ruff) == ["0 of 0", "0 of 1", "1"]


def test_without_the_folder_the_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(labelled_places.VARIABLE, raising=False)
    cells = labelled_places.table().cells["true"]
    assert {cell.verdict for cell in cells.values()} == {"not measured"}
    assert all(labelled_places.VARIABLE in cell.how for cell in cells.values())


def test_a_linter_that_is_not_there_gives_cells_that_say_so(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Missing(Linter):
        def why_not(self) -> str:
            return "can't be installed: too old"

    absent = Missing("Nobody", list, lambda output: [], RUFF)
    assert counted(repository, [], monkeypatch, absent) == ["not measured"] * 3


def test_a_command_that_fails_is_no_silence(tmp_path: Path) -> None:
    broken = Linter("ruff", lambda: [str(RUFF.command("ruff")), "no-such"], lambda output: [])
    with pytest.raises(RuntimeError, match="ends with 2"):
        broken.findings(["."], tmp_path)


def test_findings_of_torchfix_and_pylint_are_read() -> None:
    lines = "a/b.py:3:7: TOR001 Use of removed function\nFinished checking 2 files.\n"
    assert list(linting._by_line(lines)) == [Finding("a/b.py", 3, "TOR001")]
    said = """[{"symbol": "gradient-clear-pytorch", "path": "a.py", "line": 4},
               {"symbol": "astroid-error", "path": "b.py", "line": 1}]"""
    assert list(linting._by_pylint(said)) == [Finding("a.py", 4, "gradient-clear-pytorch")]
    assert list(linting._by_pylint("")) == []
