from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

import pytest

from gradledger.cli.auditing import Auditing
from gradledger.ledger import Finding, Place, Tally
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.runtime.audit import Audit

PLACE = Place("train.py", 3)
VERDICT = Verdict(
    "train.py",
    (
        Finding("GL101", PLACE, "spends 2 deposits", "observed"),
        Finding("GL203", Place("train.py", 2), "1 deposit is left over", "observed"),
    ),
    Tally(steps=2, backwards=2, entries=2, spent=2),
)


class Books:
    """An audit that has found what it was told to find."""

    feed = None

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.left_with: object = "not left"
        self.fingerprints: list[object] = []
        self.recording = None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.left_with = error

    def verdict(self, subject: str) -> Verdict:
        return self._verdict._replace(subject=subject)


def auditing(
    books: Books,
    *,
    kept: frozenset[str] = frozenset({"GL101", "GL203"}),
    fail_on: Literal["error", "warning", "unseen"] | None = None,
    format: str = "text",
    output: Path | None = None,
) -> Auditing:
    made = Auditing(
        "train.py",
        kept=kept,
        quiet=True,
        fail_on=fail_on,
        format=format,
        output=str(output) if output else None,
    )
    made._audit = cast(Audit, books)
    return made


@pytest.mark.parametrize(
    ("kept", "fail_on", "status"),
    [
        ({"GL101", "GL203"}, None, 0),
        ({"GL101", "GL203"}, "error", 1),
        ({"GL203"}, "error", 0),
        ({"GL203"}, "warning", 1),
        ({"GL901"}, "warning", 0),
    ],
)
def test_the_status_depends_on_the_selected_rules_alone(
    kept: set[str],
    fail_on: Literal["error", "warning"] | None,
    status: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    made = auditing(Books(VERDICT), kept=frozenset(kept), fail_on=fail_on)
    assert made.conclude(passed=True, error=None) == status
    out, err = capfd.readouterr()
    assert out == ""
    assert {code for code in ("GL101", "GL203", "GL901") if code in err} == kept - {"GL901"}


@pytest.mark.parametrize(
    ("fail_on", "trouble", "status"),
    [
        (None, "", 0),
        ("error", "", 0),
        ("warning", "", 0),
        ("unseen", "", 1),
        ("warning", "a bug", 2),
        ("unseen", "a bug", 1),
    ],
)
def test_what_was_not_seen_fails_where_that_is_wanted(
    fail_on: Literal["error", "warning", "unseen"] | None,
    trouble: str,
    status: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    unseen = (Unseen("processes", "not Python's", 1, ("4123",)),)
    for verdict in (VERDICT._replace(findings=()), Verdict("train.py")):
        books = Books(verdict._replace(unseen=unseen, trouble=trouble))
        assert auditing(books, fail_on=fail_on).conclude(passed=True, error=None) == status
        assert "Not seen: process 4123 (not Python's).\n" in capfd.readouterr().err


def test_the_books_are_closed_with_what_the_script_died_of(tmp_path: Path) -> None:
    books, error = Books(VERDICT), ValueError()
    auditing(books, output=tmp_path / "verdict").conclude(passed=False, error=error)
    assert books.left_with is error


@pytest.mark.parametrize("format", ["json", "sarif", "github"])
def test_what_is_for_programs_goes_to_stdout(
    format: str, capfd: pytest.CaptureFixture[str]
) -> None:
    auditing(Books(VERDICT), format=format).conclude(passed=True, error=None)
    out, err = capfd.readouterr()
    assert "GL101" in out
    assert err == ""


def test_a_bug_of_ours_is_told_and_does_not_pass_for_balanced_books(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Torn(Books):
        def verdict(self, subject: str) -> Verdict:
            raise ZeroDivisionError("in the auditor")

    assert auditing(Torn(VERDICT)).conclude(passed=True, error=None) == 0
    assert auditing(Torn(VERDICT), fail_on="error").conclude(passed=True, error=None) == 2
    err = capfd.readouterr().err
    assert "ZeroDivisionError: in the auditor" in err
    assert "Please report it" in err


@pytest.mark.parametrize(("fail_on", "status"), [(None, 0), ("error", 2)])
def test_what_was_not_audited_to_the_end_has_not_passed(
    fail_on: Literal["error"] | None, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    books = Books(Verdict("train.py", trouble="nothing was heard from rank 1"))
    assert auditing(books, fail_on=fail_on).conclude(passed=True, error=None) == status
    assert capfd.readouterr().err == "Not all was audited: nothing was heard from rank 1.\n"


def test_a_file_that_can_not_be_written_at_the_end_loses_no_verdict(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = auditing(Books(VERDICT), output=tmp_path / "gone" / "verdict")
    made.conclude(passed=True, error=None)
    err = capfd.readouterr().err
    assert "can't be written" in err
    assert "GL101" in err
