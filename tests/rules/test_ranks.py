"""Several ranks, one verdict: each finding once, and what only a comparison of ranks tells."""

from __future__ import annotations

from gradledger.ledger import Evidence, Finding, Place, Tally
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.values import replace
from gradledger.ledger.verdict import Verdict
from gradledger.rules import ranks  # by its name `Testimony` would pass for a test
from gradledger.rules.ranks import merged

STEP, BACKWARD = Place("train.py", 9, 4), Place("train.py", 7, 4)
REUSED = Finding(
    "GL101",
    STEP,
    "spends 2 deposits",
    "observed",
    (Evidence("deposited", BACKWARD), Evidence("cleared", None, "never")),
    frozenset({"model.weight"}),
    3,
)
SAME = {"model.weight": 11, "model.bias": 12}
OTHER = {"model.weight": 11, "model.bias": 13}


def said(*findings: Finding, prints: list[dict[str, int]] | None = None) -> ranks.Testimony:
    """What a rank has to say that found these, and whose replicas looked like this."""
    verdict = Verdict("train.py", findings, Tally(steps=2), sources={"train.py": "import torch\n"})
    return ranks.Testimony(verdict, [(STEP, n, p) for n, p in enumerate(prints or [], start=1)])


# One verdict ---------------------------------------------------------------------------------


def test_a_finding_of_all_ranks_is_told_once_with_the_highest_count() -> None:
    verdict = merged(said(REUSED), {1: said(replace(REUSED, count=4))}, 2)
    assert verdict.findings == (replace(REUSED, count=4),)
    assert (verdict.ranks, verdict.trouble) == (2, "")


def test_a_finding_of_one_rank_says_which() -> None:
    verdict = merged(said(), {1: said(REUSED), 2: said(REUSED)}, 3)
    (finding,) = verdict.findings
    assert finding.evidence[-1] == Evidence("on rank", None, "1, 2")
    assert verdict.sources == {"train.py": "import torch\n"}


def test_a_symptom_on_one_rank_gives_way_to_its_cause_on_another() -> None:
    without_gradient = Finding("GL202", STEP, "finds nothing", "observed")
    replaced = Finding("GL603", STEP, "holds a tensor", "observed")
    verdict = merged(said(without_gradient), {1: said(replaced)}, 2)
    assert [finding.rule for finding in verdict.findings] == ["GL603"]


def test_what_ranks_did_not_see_adds_up_over_all_of_them() -> None:
    def overlooked(*entries: Unseen) -> ranks.Testimony:
        return said()._replace(verdict=Verdict("train.py", unseen=entries))

    own = overlooked(Unseen("weights", "compiled", 3), Unseen("deposits", "sharded", 1, ("w",)))
    others = {
        2: overlooked(Unseen("processes", "", 1, ("12",)), Unseen("weights", "compiled", 4)),
        1: overlooked(Unseen("deposits", "sharded", 2, ("w", "b"))),
    }
    assert merged(own, others, 3).unseen == (
        Unseen("weights", "compiled", 7),
        Unseen("deposits", "sharded", 2, ("w", "b")),
        Unseen("processes", "", 1, ("12",)),
    )


def test_trouble_on_any_rank_is_told() -> None:
    theirs = said()._replace(verdict=Verdict("train.py", trouble="a bug"))
    assert merged(said(), {1: theirs}, 2).trouble == "a bug (rank 1)"
    assert merged(theirs, {1: said()}, 2).trouble == "a bug"
    assert merged(theirs, {}, 2).trouble == "a bug; nothing was heard from rank 1"


def test_ranks_that_did_not_come_to_their_end_are_named_with_the_reason() -> None:
    others = {
        1: said()._replace(end="died", whole=False),
        2: said()._replace(end="received SIGTERM"),
        3: said(),
    }
    own = said()._replace(end="received SIGTERM")
    assert merged(own, others, 4).trouble == (
        "rank 1 died (read up to step 2); rank 0, 2 received SIGTERM"
    )


# Replicas that differ ------------------------------------------------------------------------


def test_replicas_that_look_the_same_break_no_rule() -> None:
    verdict = merged(said(prints=[SAME, OTHER]), {1: said(prints=[SAME, OTHER])}, 2)
    assert verdict.findings == ()


def test_replicas_that_look_different_have_diverged_at_the_first_such_step() -> None:
    others = {1: said(prints=[SAME, OTHER, OTHER]), 2: said(prints=[SAME, SAME, SAME])}
    (finding,) = merged(said(prints=[SAME, SAME, SAME]), others, 3).findings
    assert (finding.rule, finding.at, finding.cells) == ("GL803", STEP, frozenset({"model.bias"}))


def test_a_rank_that_stopped_early_is_compared_as_far_as_it_came() -> None:
    assert merged(said(prints=[SAME, SAME]), {1: said(prints=[SAME])}, 2).findings == ()
    assert merged(said(prints=[SAME, SAME]), {1: said()}, 2).findings == ()


def test_those_that_went_on_are_compared_with_each_other() -> None:
    others = {1: said(prints=[SAME]), 2: said(prints=[SAME, OTHER])}
    (finding,) = merged(said(prints=[SAME, SAME]), others, 3).findings
    assert (finding.rule, finding.cells) == ("GL803", frozenset({"model.bias"}))
