"""A torch that has lost a private name is audited with less, and the verdict says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import gradledger
from gradledger.errors import GradledgerError
from gradledger.report.balance import fails
from gradledger.runtime.tensors import torch_names
from gradledger.runtime.tensors.torch_names import needed, private
from tests.once import once
from tests.runtime.without_names import CASES, LESS, NEEDED, SAME, UNPACKED

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The names that this torch doesn't have: none, at first."""
    names: dict[str, str] = {}
    monkeypatch.setattr(torch_names, "unseen_without", names)
    return names


def test_a_name_that_is_there_is_what_it_is(lost: dict[str, str]) -> None:
    assert private(SimpleNamespace(_a=None), "_a", 2, unseen="much") is None
    assert lost == {}


def test_in_place_of_one_that_is_not_there_another_is_taken(lost: dict[str, str]) -> None:
    assert private(SimpleNamespace(), "_a", 2) == 2
    assert private(torch_names.module("torch._of_course_not"), "_b", 3, unseen="much") == 3
    assert lost == {"_b": "much"}


def test_an_audit_says_what_it_does_not_see(lost: dict[str, str]) -> None:
    lost["_b"] = "much isn't known"
    with gradledger.audit() as book:
        pass
    (entry,) = book.unseen
    version = torch.__version__
    assert entry.phrase == f"a part of the audit (torch {version} has no _b: much isn't known)"
    assert fails(book.verdict("train.py"), "unseen")


def test_what_no_audit_can_do_without_is_an_error_that_says_so() -> None:
    with pytest.raises(GradledgerError, match=r"has no _a any more, .* Install"):
        needed(SimpleNamespace(), "_a")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By what was taken from torch, what came of an audit and of a Stepper."""
    with once("without names", tmp_path_factory) as (folder, first):
        answers = folder / "answers.json"
        if first:
            command = [sys.executable, "-m", "tests.runtime.without_names"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            answers.write_text(done.stdout)
    found: dict[str, Any] = json.loads(answers.read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if c not in NEEDED], ids=lambda c: c[:40])
def test_the_audit_goes_on(case: str, outcomes: dict[str, Any]) -> None:
    outcome = outcomes[case]
    assert (outcome.get("error"), outcome.get("bug")) == (None, "")
    assert (outcome["right"], outcome["wrong"]) == ([], ["GL101"])
    said = [phrase.partition(" has no ")[2].partition(":")[0] for phrase in outcome["unseen"]]
    lost = LESS if case == " ".join(LESS) else ()
    assert sorted(said) == sorted(name.rpartition(".")[2] for name in lost)


@pytest.mark.slow
@pytest.mark.parametrize("case", [" ".join(SAME), " ".join(LESS)], ids=["same", "less"])
def test_the_stepper_computes_the_same(case: str, outcomes: dict[str, Any]) -> None:
    assert "weights" in outcomes[""]["stepper"]
    assert outcomes[case]["stepper"] == outcomes[""]["stepper"]


@pytest.mark.slow
def test_where_holders_of_memory_are_not_told_nothing_is_packed(outcomes: dict[str, Any]) -> None:
    stepper = outcomes[UNPACKED]["stepper"]
    assert stepper["weights"] == outcomes[""]["stepper"]["weights"]
    assert "this torch doesn't tell whether something else holds its memory" in stepper["plan"]
    assert "20 of 20 parameters" in outcomes[""]["stepper"]["plan"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_there_is_no_audit_without_it(name: str, outcomes: dict[str, Any]) -> None:
    assert f"has no {name.rpartition('.')[2]} any more" in outcomes[name]["refused"]
