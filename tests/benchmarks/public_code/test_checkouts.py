"""What a checkout says of a repository, and what becomes of one that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import ROOT
from benchmarks.public_code.checkouts import (
    Found,
    NotACheckout,
    Place,
    check_all,
    check_one,
    load,
    name_of,
    repositories,
    save,
    verified,
)
from tests.benchmarks.public_code.trees import checkout, report, repository, row, saying

FAULTY = """\
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in data:
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def test_this_checkout_finds_a_fault(tmp_path: Path) -> None:
    repository(tmp_path, "a__b", FAULTY)
    (one,) = check_all(ROOT, repositories(tmp_path))
    assert [(found.rule, found.place) for found in one.findings] == [
        ("GL101", Place("a__b", "train.py", 7))
    ]
    assert (one.files, one.followed, one.unknown, one.failure) == (1, 1, (), "")
    assert one.seconds > 0


def test_a_report_is_read(tmp_path: Path) -> None:
    unknown = {"path": "x.py", "cell": None, "line": 3, "what": "f()", "why": "too long"}
    tree = saying(tmp_path / "tree", report(row("GL101", 7), unknown=(unknown,)))
    one = check_one(tree, repository(tmp_path, "a__b"))
    assert one.findings == (
        Found("GL101", Place("a__b", "train.py", 7), "error", "certain", "what: how"),
    )
    assert [(root.place.path, root.what, root.why) for root in one.unknown] == [
        ("x.py", "f()", "too long")
    ]
    assert (one.files, one.followed, one.hidden) == (1, 2, 3)


def test_a_crash_is_told_by_its_last_line(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", "raise ValueError('one is odd')")
    one = check_one(tree, repository(tmp_path, "a__b"))
    assert one.failure == "ended with status 1: ValueError: one is odd"


@pytest.mark.slow  # a second of CPU time
def test_what_never_ends_is_stopped(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", "while True: pass")
    assert check_one(tree, repository(tmp_path, "a__b"), seconds=1).failure == "took more than 1 s"


def test_nothing_of_a_repository_is_imported(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", "import colorsys, json\nprint(colorsys.__file__)\nexit(3)")
    folder = repository(tmp_path, "a__b")
    (folder / "colorsys.py").write_text("raise SystemExit('the repository runs')", encoding="utf-8")
    assert check_one(tree, folder).failure == "ended with status 3: said nothing"


def test_another_folder_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(NotACheckout, match=r"no src/gradledger in it"):
        verified(tmp_path)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    tree = saying(tmp_path / "tree", report(row("GL101", 7)))
    done = [check_one(tree, repository(tmp_path, "a__b"))]
    save(done, tmp_path / "run.json")
    assert load(tmp_path / "run.json") == done


def test_a_folder_names_its_repository(tmp_path: Path) -> None:
    for name in ("owner__name", "owner+name", "owner__name@12ab"):
        assert name_of(tmp_path / name) == "owner/name"


def test_files_and_hidden_folders_are_no_repositories(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    (tmp_path / ".git").mkdir()
    assert repositories(tmp_path) == []
