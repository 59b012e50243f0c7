"""How a check of source reads, in each format."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger.values import replace
from gradledger.report import FORMATS, render
from gradledger.report.inspection import Inspection, Unknown
from tests.report.inspections import (
    REUSED,
    WASTED,
    half_understood,
    much,
    not_understood,
    nothing_found,
    only_an_info,
    without_files,
    without_gradients,
)
from tests.report.rendered import rendered

Story = Callable[[], Inspection]


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "json"])
def test_a_check_reads_as_it_did(format: str, snapshot: SnapshotAssertion) -> None:
    assert rendered(much(), format).replace(version("gradledger"), "VERSION") == snapshot


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("format", ["text", "concise"])
def test_quiet_is_a_line_for_each_finding_and_for_what_is_asked(format: str, unknown: bool) -> None:
    said = rendered(much(), format, quiet=True, unknown=unknown).splitlines()
    assert len(said) == 2 + 2 * unknown
    assert rendered(nothing_found(), format, quiet=True, unknown=unknown) == ""


def test_what_is_unknown_is_listed_on_request(snapshot: SnapshotAssertion) -> None:
    assert rendered(half_understood(), unknown=True) == snapshot


def test_the_statistics_read_as_they_did(snapshot: SnapshotAssertion) -> None:
    again = tuple(replace(REUSED, at=replace(REUSED.at, line=n)) for n in range(12))
    assert rendered(replace(much(), findings=(*much().findings, *again)), statistics=True) == (
        snapshot
    )


@pytest.mark.parametrize(
    ("story", "said"),
    [
        (
            nothing_found,
            "The books balance: nothing found in 41 files.\n  57 functions followed.\n",
        ),
        (
            half_understood,
            "No fault found in what was followed: 41 files.\n"
            "  57 functions followed.\n"
            "  Not followed: 2 functions: calls itself; too many paths (--unknown lists\n"
            "  them).\n",
        ),
        (
            not_understood,
            "Nothing could be followed to its end in 41 files.\n"
            "  Not followed: 2 functions: calls itself; too many paths (--unknown lists\n"
            "  them).\n",
        ),
        (without_gradients, "Nothing to check: there are no gradients in any of 1,041 files.\n"),
        (
            without_files,
            "Nothing to check: there are no Python files and no notebooks in docs.\n",
        ),
    ],
)
def test_without_findings_there_is_a_sentence_on_what_was_looked_at(
    story: Story, said: str
) -> None:
    assert rendered(story()) == said
    assert rendered(story(), "concise") == said.splitlines(keepends=True)[0]


def test_what_could_not_be_read_is_never_called_clean() -> None:
    said = rendered(replace(nothing_found(), not_checked=much().not_checked))
    assert said.startswith("No fault found in what was followed")
    assert "1 file not checked" in said


@pytest.mark.parametrize(
    "left_open",
    [
        {"unknown": much().unknown},
        {"not_checked": much().not_checked},
        {"unshown": 1},
        {"unshown": 1, "findings": (WASTED,)},
        {"unshown": 1, "followed": 0},
    ],
    ids=str,
)
def test_nothing_is_said_to_balance_while_something_is_hidden_or_was_not_followed(
    left_open: dict[str, Any],
) -> None:
    inspection = replace(nothing_found(), **left_open)
    for format in ("text", "concise"):
        said = rendered(inspection, format)
        assert "books balance" not in said
        assert "Nothing to check" not in said
    assert json.loads(rendered(inspection, "json"))["balanced"] is False


def test_what_is_hidden_is_said_with_the_option_that_shows_it() -> None:
    said = rendered(replace(nothing_found(), unshown=1))
    assert said.endswith("  Hidden: 1 possible finding (--possible shows it).\n")


def test_the_one_function_that_was_not_followed_is_named_with_its_reason() -> None:
    said = rendered(replace(nothing_found(), unknown=much().unknown[:1]))
    assert "  Not followed: evaluate: calls itself (--unknown says where).\n" in said


def test_the_most_frequent_reasons_are_told_and_the_others_are_counted() -> None:
    some = [Unknown("a.py", n, "f", why) for n, why in enumerate("aabbbcd")]
    said = rendered(replace(nothing_found(), unknown=tuple(some)))
    told = "Not followed: 7 functions: b (3); a (2); other reasons (2) (--unknown lists them)."
    assert told in " ".join(said.split())


def test_a_path_is_told_by_iterations_and_what_is_alike_once() -> None:
    step = replace(REUSED.witness[0], when="")
    told = [replace(step, when=f"iteration {n}") for n in (1, 2, 3, 4)]
    finding = replace(REUSED, witness=(*told, replace(REUSED.witness[1], when="iteration 4")))
    said = rendered(replace(much(), findings=(finding,)))
    assert "   iterations 1 to 3  deposited  train.py:3  größe" in said
    assert "   iteration 4        deposited  train.py:3\n" in said
    assert "                      spent      train.py:4  optimizer.step()\n" in said


def test_the_middle_of_a_long_path_is_left_out() -> None:
    places = [replace(REUSED.at, line=n) for n in range(20, 40)]
    steps = tuple(replace(REUSED.witness[0], at=at, when="") for at in places)
    said = rendered(replace(much(), findings=(replace(REUSED, witness=steps),)))
    assert "12 more steps" in said
    assert "train.py:39" in said
    assert "train.py:28" not in said


def test_an_option_that_is_off_by_default_is_in_the_first_line_and_not_told_again() -> None:
    for format in ("text", "concise"):
        first, *others = rendered(replace(much(), findings=much().findings[1:]), format).split("\n")
        assert "only with `--accum` above 1; its default is 1" in first
        assert "--accum" not in "".join(others)


def test_machines_get_the_path_and_what_it_assumes() -> None:
    found = json.loads(rendered(much(), "json"))["findings"]
    assert [step["when"] for step in found[0]["witness"]] == ["iteration 1"] * 2 + [
        "iteration 2"
    ] * 2
    assert found[1]["witness"][1]["via"] == [
        {"path": "train.py", "cell": None, "line": 1, "column": 0}
    ]
    assert found[1]["assumptions"] == ["only with `--accum` above 1; its default is 1"]
    for format in ("github", "gitlab", "rdjson", "sarif"):
        assert "Assumes: only with `--accum` above 1; its default is 1." in rendered(much(), format)
    results = json.loads(rendered(much(), "sarif"))["runs"][0]["results"]
    (flow,) = results[0]["codeFlows"][0]["threadFlows"]
    told = [step["location"]["message"]["text"] for step in flow["locations"]]
    assert told[0] == "deposited, iteration 1"
    assert told[-1] == "spent, iteration 2"


def test_an_info_does_not_upset_the_books() -> None:
    assert "The books balance: 1 info in 1 of 1 file.\n" in rendered(only_an_info())


def test_a_finding_in_a_file_that_only_another_imports_is_counted_all_the_same() -> None:
    both = Inspection("a.py", (REUSED, WASTED), files=1, followed=1)
    assert " in 2 of 2 files." in rendered(both)


def test_machines_get_the_file_of_a_notebook_and_not_its_cell() -> None:
    notebook = replace(much(), findings=much().findings[1:])
    assert "file=notes/nb.ipynb,line=1," in rendered(notebook, "github")
    (entry,) = json.loads(rendered(notebook, "gitlab"))
    assert entry["location"] == {"path": "notes/nb.ipynb", "lines": {"begin": 1}}
    (result,) = json.loads(rendered(notebook, "sarif"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "notes/nb.ipynb"
    assert place["region"]["startLine"] == 1
    for told in (entry["description"], result["message"]["text"]):
        assert "Cell 3, line 2: " in told


def test_a_fault_in_a_notebook_is_known_again_in_another_cell() -> None:
    def prints(cell: int) -> set[str]:
        path = f"nb.ipynb:cell {cell}"
        finding = replace(REUSED, at=replace(REUSED.at, path=path, line=1), evidence=())
        moved = Inspection("nb.ipynb", (finding,), sources={path: "optimizer.step()\n"})
        return {entry["fingerprint"] for entry in json.loads(rendered(moved, "gitlab"))}

    assert prints(3) == prints(4)


def test_a_column_is_counted_in_letters_and_from_one() -> None:
    deposit = REUSED.evidence[0].at
    assert deposit is not None
    here = replace(much(), findings=(replace(REUSED, at=replace(deposit, column=22)),))
    assert rendered(here, "concise").startswith("train.py:3:21: GL101 ")


def test_gitlab_counts_paths_from_the_top_of_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    monkeypatch.chdir("sub")
    paths = {entry["location"]["path"] for entry in json.loads(rendered(much(), "gitlab"))}
    assert paths == {"sub/train.py", "sub/notes/nb.ipynb"}


def test_gitlab_knows_every_severity() -> None:
    all_kinds = replace(much(), findings=(*much().findings, WASTED))
    said = json.loads(rendered(all_kinds, "gitlab"))
    assert [entry["severity"] for entry in said] == ["critical", "minor", "info"]


def test_a_check_looks_as_it_did_in_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    render(much(), unknown=True)
    render(much(), "concise")
    assert capsys.readouterr().out == snapshot
