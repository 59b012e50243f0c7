from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger import Evidence, Finding, Place
from gradledger.ledger.events import Backward, Clear, Event, Step
from gradledger.ledger.outcomes import Tally
from gradledger.ledger.values import replace
from gradledger.ledger.verdict import Verdict
from gradledger.report import render
from tests.report.rendered import rendered
from tests.report.stories import (
    PLAIN,
    accumulation_gone_wrong,
    all_is_well,
    nobody_clears,
    several,
    wasted_work,
)


def only(verdict: Verdict) -> Finding:
    (finding,) = verdict.findings
    return finding


@pytest.mark.parametrize(
    "story", [nobody_clears, accumulation_gone_wrong, wasted_work, all_is_well]
)
def test_a_verdict_reads_as_it_did(story: object, snapshot: SnapshotAssertion) -> None:
    assert callable(story)
    assert rendered(story()) == snapshot


def test_a_verdict_looks_as_it_did_in_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    render(several(accumulation_gone_wrong(), wasted_work()))
    assert capsys.readouterr().out == snapshot


def test_a_verdict_looks_as_it_did_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    render(nobody_clears())
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert shown == snapshot


def test_quiet_is_a_line_for_each_finding_and_nothing_else() -> None:
    verdict = several(wasted_work(), nobody_clears())
    said = rendered(verdict, quiet=True).splitlines()
    assert [line.split(": ")[:2] for line in said] == [
        ["train.py:11", "GL101 spent-gradient-reused"],
        ["gan.py:4", "GL204 gradient-never-used (info)"],
    ]
    assert rendered(all_is_well(), quiet=True) == ""


def test_errors_come_first_and_then_reading_order() -> None:
    codes = ("GL204", "GL503", "GL901", "GL301")
    findings = tuple(
        Finding(code, Place("a.py", line), "does so", "observed")
        for code in codes
        for line in (20, 3)
    )
    said = rendered(Verdict("a.py", findings), quiet=True).splitlines()
    found = [re.match(r"a.py:(\d+): (GL\d+)", line) for line in said]
    assert [match.groups() for match in found if match] == [
        *(("3", "GL301"), ("3", "GL901"), ("20", "GL301"), ("20", "GL901")),
        *(("3", "GL503"), ("20", "GL503"), ("3", "GL204"), ("20", "GL204")),
    ]


def test_a_run_without_backward_gets_one_sentence() -> None:
    assert rendered(Verdict("train.py")) == "Nothing to audit: train.py never called backward().\n"


def test_the_tally_tells_what_became_of_every_deposit() -> None:
    tally = Tally(
        steps=5, skipped_steps=2, backwards=9, entries=20, spent=10, respent=3, lost=4, wasted=1
    )
    said = rendered(nobody_clears()._replace(tally=tally, ranks=4))
    assert "9 backward passes, 5 steps and 2 skipped, 6 parameters, 4 ranks." in said
    assert "20 deposits: 10 spent, 3 spent again, 4 lost, 1 wasted, 5 left unspent." in said


def test_every_broken_rule_is_named_to_read_on_about() -> None:
    said = rendered(several(wasted_work(), accumulation_gone_wrong()))
    assert said.endswith("To read on: gradledger rule GL301 GL203 GL204\n")


def test_a_possible_finding_says_so_and_counts_nothing() -> None:
    verdict = nobody_clears()
    possible = replace(only(verdict), certainty="possible", count=1)
    said = rendered(verdict._replace(findings=(possible,)))
    assert "GL101 spent-gradient-reused (possible): " in said
    assert " = possible: not on all paths" in said
    assert "of 6 parameters" not in said


def test_a_certain_finding_needs_no_word() -> None:
    verdict = nobody_clears()
    certain = replace(only(verdict), certainty="certain", count=1)
    said = rendered(verdict._replace(findings=(certain,)))
    assert "GL101 spent-gradient-reused: " in said
    assert not re.search("certain|possible|of 6 parameters", said)


def test_few_parameters_are_named_and_many_are_counted() -> None:
    assert " = bias, weight (2 of 2 parameters), 4 of 6 steps" in rendered(
        accumulation_gone_wrong()
    )
    assert " = 6 of 6 parameters, 599 of 600 steps" in rendered(nobody_clears())


@pytest.mark.parametrize(
    ("count", "seen", "said"),
    [
        (1, {}, "once"),
        (2, {}, "2 times"),
        (12_345, {}, "12,345 times"),
        (1, {Step: 1}, "1 of 1 step"),
        (2, {Step: 20_000}, "2 of 20,000 steps"),
        # A library does more than one thing for a line of the program.
        (2, {Step: 24, Backward: 90, Clear: 30}, "2 of 24 steps"),
        (2, {Backward: 90}, "2 times"),
        # Never more than there were.
        (7, {Step: 6}, "7 times"),
    ],
)
def test_a_count_is_out_of_what_is_known(
    count: int, seen: dict[type[Event], int], said: str
) -> None:
    verdict, at = nobody_clears(), PLAIN.at("optimizer.step()")
    finding = replace(only(verdict), count=count, cells=frozenset())
    occurrences = {(at, kind): n for kind, n in seen.items()}
    shown = rendered(verdict._replace(findings=(finding,), occurrences=occurrences))
    assert f"\n = {said}\n" in shown


def test_parameters_that_nobody_owns_are_no_part_of_those_that_are_owned() -> None:
    orphan = Finding(
        "GL601", Place("t.py", 1), "leaves one out", "observed", cells=frozenset({"head.bias"})
    )
    said = rendered(Verdict("t.py", (orphan,), parameters=6))
    assert " = head.bias (1 parameter), once" in said


def test_paths_inside_the_working_directory_are_short_and_others_are_whole(tmp_path: Path) -> None:
    inside, outside = str(tmp_path / "src" / "train.py"), "/somewhere/else/train.py"
    verdict = Verdict(
        "train.py",
        tuple(Finding("GL101", Place(path, 1), "", "observed") for path in (inside, outside)),
    )
    said = rendered(verdict, quiet=True).splitlines()
    assert [line.split(":")[0] for line in said] == [outside, "src/train.py"]


def test_a_folder_whose_name_starts_alike_is_not_inside(tmp_path: Path) -> None:
    sibling = f"{tmp_path}-2/train.py"
    verdict = Verdict("train.py", (Finding("GL101", Place(sibling, 1), "", "observed"),))
    assert rendered(verdict, quiet=True).startswith(f"{sibling}:1: ")


def test_a_fault_in_a_helper_shows_who_called_it() -> None:
    source = "def go(o):\n    o.step()\n\n\n\ngo(first)  # the first\ngo(second)\n"
    step = Place("t.py", 2, via=Place("t.py", 6))
    other = Place("t.py", 2, via=Place("t.py", 7))
    finding = Finding("GL101", step, "spends", "observed", (Evidence("spent", other),))
    said = rendered(Verdict("t.py", (finding,), sources={"t.py": source})).splitlines()
    assert "   spent   t.py:2  o.step()   called from t.py:7" in said
    assert "   called  t.py:6  go(first)" in said
    assert "   6 | go(first)  # the first" in said


def test_very_many_places_are_cut_short_and_counted() -> None:
    evidence = tuple(Evidence("deposited", Place("other.py", n)) for n in range(1, 31))
    finding = Finding("GL101", Place("t.py", 2), "spends", "observed", evidence)
    said = rendered(Verdict("t.py", (finding,)))
    assert said.count("deposited") == 8
    assert "and 22 more places" in said


TROUBLE = "nothing was heard from rank 1"


def test_books_that_were_not_kept_to_the_end_do_not_pass_for_balanced() -> None:
    told = rendered(all_is_well()._replace(trouble=TROUBLE))
    assert told.startswith("No fault found in what was seen: 3,600 deposits, 3,600 spent.")
    assert told.endswith(f"Not all was audited: {TROUBLE}.\n")
    assert "balance" not in told
    assert rendered(Verdict("train.py", trouble=TROUBLE)) == (
        f"No verdict: no backward pass of train.py was seen.\nNot all was audited: {TROUBLE}.\n"
    )


def test_quiet_tells_of_trouble_too() -> None:
    assert rendered(nobody_clears()._replace(trouble=TROUBLE), quiet=True).count("\n") == 2
    assert rendered(all_is_well()._replace(trouble=TROUBLE), quiet=True).startswith("Not all")
