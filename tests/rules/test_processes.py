"""Processes of one program, one verdict: ranks are compared, others are added up."""

from __future__ import annotations

from gradledger.ledger import Evidence, Finding, Place, Tally
from gradledger.ledger.events import Event, Step
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.rules import ranks  # by its name `Testimony` would pass for a test
from gradledger.rules.processes import Heard, together

STEP = Place("train.py", 9, 4)
REUSED = Finding("GL101", STEP, "spends 2 deposits", "observed", (), frozenset({"weight"}), 3)
NOTHING = Verdict("train.py", seconds=9.0)
_began = iter(range(1_000_000))


def said(*findings: Finding, steps: int = 2, trouble: str = "") -> Verdict:
    """A verdict with these findings."""
    tally = Tally(steps=steps, entries=2 * steps)
    counts: dict[tuple[Place, type[Event]], int] = {(STEP, Step): steps}
    return Verdict("", findings, tally, 2, counts, {"train.py": ""}, trouble=trouble)


def heard(
    verdict: Verdict,
    name: str = "Process-1",
    rank: int | None = None,
    *,
    launch: str = "",
    end: str = "",
    whole: bool = True,
) -> Heard:
    testimony = ranks.Testimony(verdict, [], end, whole)
    return Heard(name, next(_began), rank, 2 if rank is not None else 1, launch, testimony)


def test_without_children_a_program_speaks_for_itself() -> None:
    assert together(said(REUSED), []) == said(REUSED)


def test_one_child_alone_speaks_for_a_program_that_does_not_train() -> None:
    verdict = together(NOTHING, [heard(said(REUSED))])
    assert verdict == said(REUSED)._replace(subject="train.py", seconds=9.0)


def test_processes_are_added_up_and_say_which_of_them_found_it() -> None:
    verdict = together(NOTHING, [heard(said(REUSED)), heard(said(steps=5), "Process-2")])
    (finding,) = verdict.findings
    assert finding.evidence == (Evidence("in process", None, "Process-1"),)
    assert (finding.count, verdict.tally.steps, verdict.occurrences[STEP, Step]) == (3, 7, 7)
    assert (verdict.ranks, verdict.parameters) == (1, 2)


def test_what_all_of_them_found_is_one_finding_with_the_sum_of_their_counts() -> None:
    verdict = together(NOTHING, [heard(said(REUSED)), heard(said(REUSED), "Process-2")])
    (finding,) = verdict.findings
    assert (finding.count, finding.evidence) == (6, ())


def test_a_program_that_trains_too_is_one_of_them() -> None:
    verdict = together(said(REUSED)._replace(subject="train.py"), [heard(said())])
    assert verdict.findings[0].evidence == (Evidence("in process", None, "train.py"),)
    assert verdict.tally.steps == 4


def test_ranks_are_one_and_not_a_sum() -> None:
    children = [heard(said(), rank=0), heard(said(REUSED), rank=1)]
    verdict = together(NOTHING, children)
    assert (verdict.ranks, verdict.tally.steps) == (2, 2)
    assert verdict.findings[0].evidence == (Evidence("on rank", None, "1"),)


def test_a_rank_that_comes_again_is_of_another_launch() -> None:
    children = [heard(said(), rank=number) for number in (0, 1, 0, 1)]
    verdict = together(NOTHING, children)
    assert (verdict.ranks, verdict.tally.steps, verdict.trouble) == (2, 4, "")


def test_a_rank_that_is_missing_is_named() -> None:
    verdict = together(NOTHING, [heard(said(), rank=1)])
    assert verdict.trouble == "nothing was heard from rank 0"


def test_how_processes_ended_is_told() -> None:
    dead = heard(said(steps=6), end="died", whole=False)
    bug = heard(said(trouble="gradledger has a bug"), "Process-2")
    verdict = together(NOTHING, [dead, bug])
    expected = "process Process-1 died (read up to step 6); gradledger has a bug"
    assert verdict.trouble == expected


def test_processes_of_one_name_are_told_apart() -> None:
    verdict = together(NOTHING, [heard(said(REUSED)), heard(said())])
    assert verdict.tally.steps == 4
    assert verdict.findings[0].evidence == (Evidence("in process", None, "Process-1"),)


def test_what_the_program_or_a_child_did_not_see_is_kept() -> None:
    unseen = Unseen("processes", "another Python environment", 1, ("41",))
    weights = Unseen("weights", "the loss is compiled", 2)
    own = NOTHING._replace(unseen=(unseen,))
    child = heard(said()._replace(unseen=(weights,)))
    assert set(together(own, [child]).unseen) == {unseen, weights}
    assert set(together(own, [child, heard(said(), "Process-2")]).unseen) == {unseen, weights}
