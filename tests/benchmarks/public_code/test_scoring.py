"""Findings at labelled places: true, false, missed, arguable, or not scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.public_code.__main__ import main
from benchmarks.public_code.checkouts import Checked, save
from benchmarks.public_code.scoring import NOT_FETCHED, OTHER_COMMIT, Score, score
from benchmarks.public_code.verdicts import Labelled, NotLabels, read
from tests.benchmarks.public_code.trees import checked, found, repository, unfollowed

HEAD = "repo\tpath\tline\trule\tverdict"
CASES = "repo\tpath\tcommit\twhere\trules\targuable"


def labels(folder: Path, head: str, *rows: str) -> list[Labelled]:
    path = folder / "labels.tsv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return read(path)


def scored(folder: Path, said: Checked, head: str, *rows: str) -> Score:
    return score([said], labels(folder, head, *rows), folder)


def test_a_fault_is_found_or_missed(tmp_path: Path) -> None:
    said = checked(found("GL101", 7), unknown=(unfollowed("f()", "long"),))
    rows = ["a/b\ttrain.py\t8\tGL101\tTRUE", "a/b\ttrain.py\t70\tGL101\tTRUE"]
    result = scored(tmp_path, said, HEAD, *rows)
    tally = result.rules["GL101"]
    assert (tally.found, tally.missed, tally.recall, tally.precision) == (1, 1, 0.5, 1.0)
    assert result.missed == [("GL101 a/b train.py:70", "f(): long")]


def test_one_finding_is_about_the_nearest_of_several_labels(tmp_path: Path) -> None:
    rows = ["a/b\ttrain.py\t7\tGL503\tTRUE", "a/b\ttrain.py\t8\tGL503\tTRUE"]
    tally = scored(tmp_path, checked(found("GL503", 8)), HEAD, *rows).rules["GL503"]
    assert (tally.found, tally.missed) == (1, 1)


def test_a_finding_beside_the_one_that_was_judged_is_not_judged(tmp_path: Path) -> None:
    said = checked(found("GL204", 7), found("GL204", 8))
    result = scored(tmp_path, said, HEAD, "a/b\ttrain.py\t7\tGL204\tFALSE")
    assert (result.rules["GL204"].false, result.unjudged) == (1, 1)


def test_what_was_judged_false_is_false_or_silent(tmp_path: Path) -> None:
    rows = ["a/b\ttrain.py\t7\tGL101\tFALSE", "a/b\ttrain.py\t70\tGL101\tFALSE"]
    tally = scored(tmp_path, checked(found("GL101", 7)), HEAD, *rows).rules["GL101"]
    assert (tally.false, tally.silent, tally.precision, tally.recall) == (1, 1, 0.0, None)


def test_silence_of_what_was_not_followed_is_counted(tmp_path: Path) -> None:
    row = "a/b\ttrain.py\t\ttrain:5-20\tOK\t"
    tally = scored(tmp_path, checked(unknown=(unfollowed("f()", "long"),)), CASES, row).rules["OK"]
    assert (tally.silent, tally.unknown) == (1, 1)
    tally = scored(tmp_path, checked(), CASES, row).rules["OK"]
    assert (tally.silent, tally.unknown) == (1, 0)


def test_what_is_arguable_is_counted_apart(tmp_path: Path) -> None:
    row = "a/b\ttrain.py\t7\tGL101\tARGUABLE"
    tally = scored(tmp_path, checked(found("GL101", 7)), HEAD, row).rules["GL101"]
    assert (tally.arguable, tally.found, tally.false) == (1, 0, 0)


def test_nothing_but_infos_and_what_is_allowed_may_be_said_of_right_code(tmp_path: Path) -> None:
    said = checked(
        found("GL101", 7), found("GL204", 8, severity="info"), found("GL203", 9), found("GL301", 90)
    )
    result = scored(tmp_path, said, CASES, "a/b\ttrain.py\t\ttrain:5-20\tOK\tGL203")
    assert {rule: tally.false for rule, tally in result.rules.items() if tally.false} == {
        "GL101": 1
    }
    assert result.unjudged == 1


def test_a_case_can_name_several_faults_and_one_fault_several_names(tmp_path: Path) -> None:
    row = "a/b\ttrain.py\t\tlines:5-20\tGL101,GL401/GL501\t"
    result = scored(tmp_path, checked(found("GL501", 7)), CASES, row)
    assert result.rules["GL401/GL501"].found == 1
    assert result.rules["GL101"].missed == 1


def test_cells_of_notebooks_are_read_in_all_spellings(tmp_path: Path) -> None:
    rows = [
        "a/b\tn.ipynb#13\t7\tGL101\ttrue",
        "a/b\tn.ipynb\t13:7\tGL101\ttrue",
    ]
    there = found("GL101", 7, path="n.ipynb", cell=13)
    assert [label.is_about(there) for label in labels(tmp_path, HEAD, *rows)] == [True, True]
    row = "a/b\tn.ipynb\t\tcell 12 (0-based)\tGL101\t"
    assert [label.is_about(there) for label in labels(tmp_path, CASES, row)] == [True]
    elsewhere = found("GL101", 7, path="n.ipynb", cell=12)
    assert not any(label.is_about(elsewhere) for label in labels(tmp_path, HEAD, *rows))


def test_a_label_is_scored_only_at_its_commit(tmp_path: Path) -> None:
    repository(tmp_path, "a__b", commit="12ab34")
    rows = [
        "a/b\ttrain.py\t12ab\tlines:5-20\tGL101\t",
        "a/b\ttrain.py\tffff\tlines:5-20\tGL101\t",
        "c/d\ttrain.py\t12ab\tlines:5-20\tGL101\t",
    ]
    result = scored(tmp_path, checked(found("GL101", 7)), CASES, *rows)
    assert result.total.found == 1
    assert [why for _, why in result.unscored] == [OTHER_COMMIT, NOT_FETCHED]


def test_where_the_checker_failed_nothing_is_scored(tmp_path: Path) -> None:
    row = "a/b\ttrain.py\t7\tGL101\tTRUE"
    result = scored(tmp_path, checked(failure="took more than 1 s"), HEAD, row)
    assert (result.total.missed, [why for _, why in result.unscored]) == (0, ["took more than 1 s"])


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("a/b\ttrain.py\tsomewhere\tGL101\tTRUE", "line 2: the place 'somewhere'"),
        ("a/b\ttrain.py\t7\tGL9\tTRUE", "line 2: the rule 'GL9'"),
        ("a/b\ttrain.py\t7\tGL101\tperhaps", "line 2: the verdict 'perhaps'"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, row: str, why: str) -> None:
    with pytest.raises(NotLabels, match=why):
        labels(tmp_path, HEAD, row)


def test_the_command_prints_a_table_or_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path / "code", "a__b")
    labels(tmp_path, HEAD, "a/b\ttrain.py\t7\tGL101\tTRUE")
    save([checked(found("GL101", 7))], tmp_path / "run.json")
    words = ["score", str(tmp_path / "code"), str(tmp_path / "labels.tsv")]
    words += ["--of", str(tmp_path / "run.json")]
    assert main(words) == 0
    assert "| all | 1 | 0 | 0 | 0 | 0 | 0 | 1.0 | 1.0 |" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"]["GL101"]["recall"] == 1.0
