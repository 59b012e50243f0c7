"""Two runs side by side."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger.events import Event
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.values import replace
from gradledger.recording import Recording
from gradledger.report.chronicle import Chronicle, told
from gradledger.report.comparison import Comparison, compare, document, lines
from gradledger.report.terminal import Terminal
from tests.examples import examples
from tests.report import recorded_runs as runs
from tests.report.chronicle.recorded import chronicle_of
from tests.report.recorded_runs import recorded
from tests.strategies import OPENING, event_lists

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = Draft202012Validator(
    json.loads((DOCS / "comparison.schema.json").read_text(encoding="utf-8")),
    registry=Registry[Any]().with_resource(
        "findings.schema.json",
        Resource.from_contents(
            json.loads((DOCS / "findings.schema.json").read_text(encoding="utf-8"))
        ),
    ),
)


def run(folder: Path, events: Any, text: str = runs.ACCUMULATION, **options: Any) -> Chronicle:
    """A chronicle of those events."""
    path = recorded(folder / f"{len(list(folder.iterdir()))}.gradledger", events, text, **options)
    with Recording(path) as recording:
        return told(recording)


def said(comparison: Comparison) -> str:
    stream = io.StringIO()
    terminal = Terminal(stream)
    terminal.show(lines(comparison, terminal, ("before.gradledger", "after.gradledger")))
    return stream.getvalue()


def checked(comparison: Comparison) -> dict[str, Any]:
    """The document, which follows its schema and can be written as JSON."""
    found = document(comparison)
    SCHEMA.validate(found)
    json.dumps(found, allow_nan=False)
    return found


def with_short_windows(tmp_path: Path) -> Comparison:
    """Windows that have become too short now and then, undivided, and larger norms."""
    before = run(
        tmp_path,
        runs.accumulation((4,) * 8),
        called={"optimizer-1": "optimizer"},
        measures=runs.norms("optimizer-1", [1.0, 2.0, 1.0, 2.0]),
    )
    after = run(
        tmp_path,
        runs.accumulation((4, 4, 3, 4, 4, 3, 4, 4), divisor=1.0, items=16),
        "import os\n" + runs.ACCUMULATION.replace(" / 4", ""),
        called={"optimizer-1": "optimizer"},
        argv=("--epochs", "4"),
        torch="2.10.0",
        measures=runs.norms("optimizer-1", [1.0, 2.0, 8.0, 4.0]),
    )
    return compare([before], [after])


@pytest.fixture
def short_windows(tmp_path: Path) -> Comparison:
    return with_short_windows(tmp_path)


@pytest.fixture
def mended_leak(tmp_path: Path) -> Comparison:
    called = {"optimizer-1": "opt_g", "optimizer-2": "opt_d"}
    before = run(tmp_path, runs.gan(3), runs.GAN, called=called)
    after = run(tmp_path, runs.gan(3, leaks=False), runs.GAN, called=called)
    return compare([before], [after])


def test_short_windows_for_people(short_windows: Comparison, snapshot: SnapshotAssertion) -> None:
    assert said(short_windows) == snapshot


def test_short_windows_for_programs(short_windows: Comparison, snapshot: SnapshotAssertion) -> None:
    assert json.dumps(checked(short_windows), indent=2) == snapshot


def test_a_mended_leak_for_people(mended_leak: Comparison, snapshot: SnapshotAssertion) -> None:
    assert said(mended_leak) == snapshot


def test_in_colour(
    mended_leak: Comparison, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "100")
    screen = Screen()
    terminal = Terminal(screen)
    terminal.show(lines(mended_leak, terminal, ("before.gradledger", "after.gradledger")))
    assert screen.getvalue() == snapshot


# The same -----------------------------------------------------------------------------------


@examples(40)
@given(event_lists)
def test_a_run_is_like_itself(events: list[Event]) -> None:
    chronicle = chronicle_of([*OPENING, *events])
    comparison = compare([chronicle], [chronicle])
    found = checked(comparison)
    assert found["findings"]["new"] == found["findings"]["gone"] == []
    assert all(kept["trend"] == "as before" for kept in found["findings"]["kept"])
    assert found["parted"] is None
    assert found["settings"] == []
    assert all(not (windows["sizes"] or windows["weights"]) for windows in found["windows"])
    assert said(comparison)


@examples(40)
@given(event_lists, event_lists)
def test_any_two_runs_can_be_compared(before: list[Event], after: list[Event]) -> None:
    pair = [chronicle_of([*OPENING, *events]) for events in (before, after)]
    there, back = compare(pair[:1], pair[1:]), compare(pair[1:], pair[:1])
    checked(there)
    assert said(there)
    assert there.findings.new == back.findings.gone
    assert [kept.trend for kept in there.findings.kept] == [-k.trend for k in back.findings.kept]
    assert (there.parting is None) == (back.parting is None)


# Findings -----------------------------------------------------------------------------------


def test_a_finding_is_known_again_after_its_line_has_moved(tmp_path: Path) -> None:
    def moved(events: Sequence[Event]) -> list[Event]:
        return [replace(e, at=replace(e.at, line=e.at.line + 2)) for e in events]

    events = list(runs.accumulation((1, 1, 1), clears=False))
    before = run(tmp_path, events)
    after = run(tmp_path, moved(events), f"import os\nimport sys\n{runs.ACCUMULATION}")
    found = compare([before], [after]).findings
    assert (found.new, found.gone) == ((), ())
    assert [kept.after.rule for kept in found.kept] == ["GL101"]


@pytest.mark.parametrize("script", ["/elsewhere/train.py", "/old/train_2.py"])
def test_a_finding_is_known_again_in_a_copy_of_the_script(script: str, tmp_path: Path) -> None:
    def placed(path: str) -> list[Event]:
        events = runs.accumulation((1, 1, 1), clears=False)
        return [replace(event, at=replace(event.at, path=path)) for event in events]

    before = run(tmp_path, placed("/old/train.py"), script="/old/train.py")
    after = run(tmp_path, placed(script), script=script)
    found = compare([before], [after]).findings
    assert (found.new, found.gone) == ((), ())


def test_a_finding_in_a_module_is_known_again_in_another_checkout(tmp_path: Path) -> None:
    def checkout(folder: str) -> Chronicle:
        events = runs.accumulation((1, 1, 1), clears=False)
        placed = [replace(e, at=replace(e.at, path=f"{folder}/lib/loop.py")) for e in events]
        return run(tmp_path, placed, script=f"{folder}/train.py")

    found = compare([checkout("/old")], [checkout("/new")]).findings
    assert (found.new, found.gone) == ((), ())
    assert [kept.after.rule for kept in found.kept] == ["GL101"]


def test_a_finding_on_other_code_is_another_one(tmp_path: Path) -> None:
    events = list(runs.accumulation((1, 1, 1), clears=False))
    before = run(tmp_path, events)
    after = run(tmp_path, events, runs.ACCUMULATION.replace("optimizer.step()", "opt.step()"))
    found = compare([before], [after]).findings
    assert [finding.rule for finding in found.new] == ["GL101"]
    assert [finding.rule for finding in found.gone] == ["GL101"]


@pytest.mark.parametrize(
    ("rounds", "clean", "trend"),
    [(400, 0, 0), (50, 50, -1), (200, 0, 0)],
)
def test_a_finding_is_more_often_by_its_share_and_not_by_the_length_of_the_run(
    rounds: int, clean: int, trend: int, tmp_path: Path
) -> None:
    def events(faulty: int, clean: int) -> list[Event]:
        dirty, tidy = (list(runs.accumulation((1,) * n, clears=False)) for n in (faulty, 0))
        rest = list(runs.accumulation((1,) * clean))[1:-2]
        clear = list(runs.accumulation((1,)))[3]
        return [*dirty[:-2], clear, *rest, *tidy[1:]]

    before = run(tmp_path, events(200, 0))
    after = run(tmp_path, events(rounds, clean))
    (kept,) = (k for k in compare([before], [after]).findings.kept if k.after.rule == "GL101")
    assert kept.trend == trend
    (back,) = (k for k in compare([after], [before]).findings.kept if k.after.rule == "GL101")
    assert back.trend == -trend


def test_only_the_rules_asked_for_are_compared(tmp_path: Path) -> None:
    before = run(tmp_path, runs.accumulation((1, 1)))
    after = run(tmp_path, runs.accumulation((1, 1), clears=False))
    assert compare([before], [after]).findings.new
    assert not compare([before], [after], kept={"GL203"}).findings.new


# Windows and steps --------------------------------------------------------------------------


def test_the_step_at_which_two_runs_part_is_found(short_windows: Comparison) -> None:
    assert short_windows.parting is not None
    assert short_windows.parting.step == 3
    assert short_windows.parting.after.endswith("3 deposits, 1 step that spends 3 deposits")


@pytest.mark.parametrize(("events", "done"), [(12, "has ended"), (13, "1 clear, and no step")])
def test_a_run_that_ends_earlier_parts_there(events: int, done: str, tmp_path: Path) -> None:
    before = run(tmp_path, runs.accumulation((4,) * 5))
    after = run(tmp_path, list(runs.accumulation((4,) * 5))[:events], ended=False)
    comparison = compare([before], [after])
    assert comparison.parting is not None
    assert (comparison.parting.step, comparison.parting.after) == (3, done)
    assert "cut off" in said(comparison)


def test_an_optimizer_that_was_renamed_is_the_same(tmp_path: Path) -> None:
    before = run(tmp_path, runs.accumulation(), called={"optimizer-1": "opt"})
    after = run(tmp_path, runs.accumulation(), called={"optimizer-1": "self.opt"})
    comparison = compare([before], [after])
    assert [windows.optimizer for windows in comparison.windows] == ["opt → self.opt"]
    assert comparison.windows[0].compared == 4
    assert comparison.parting is None


def test_weights_that_one_run_could_not_see_have_not_changed(tmp_path: Path) -> None:
    def unseen() -> list[Event]:
        from gradledger.ledger.events import Backward, Weight

        return [
            replace(event, weight=Weight()) if isinstance(event, Backward) else event
            for event in runs.accumulation()
        ]

    before, after = run(tmp_path, runs.accumulation()), run(tmp_path, unseen())
    (windows,) = compare([before], [after]).windows
    assert windows.weights == ()


def test_a_skipped_step_is_a_window_of_another_kind(tmp_path: Path) -> None:
    from gradledger.ledger.events import Skipped, Step

    events = list(runs.accumulation((1, 1, 1)))
    second = [n for n, event in enumerate(events) if isinstance(event, Step)][1]
    skipped = list(events)
    skipped[second] = Skipped(events[second].at, "optimizer-1")
    (windows,) = compare([run(tmp_path, events)], [run(tmp_path, skipped)]).windows
    assert windows.skipped == (0, 1)
    (change,) = windows.sizes
    assert change == ("1 deposit", "skipped", 1, 2)


# Numbers ------------------------------------------------------------------------------------


def test_norms_are_compared_step_by_step(short_windows: Comparison) -> None:
    norm = short_windows.measures[0]
    assert (norm.name, norm.before, norm.after) == ("gradient norm", 1.5, 3.0)
    assert (norm.compared, norm.equal, norm.first) == (4, 2, 3)
    assert (norm.ratio, norm.largest, norm.largest_step) == (1.5, 8.0, 3)


def test_a_ratio_far_below_one_is_as_far_as_one_far_above(tmp_path: Path) -> None:
    before = run(tmp_path, runs.accumulation(), measures=runs.norms("optimizer-1", [1.0, 1.0, 1.0]))
    after = run(tmp_path, runs.accumulation(), measures=runs.norms("optimizer-1", [2.0, 0.1, 3.0]))
    assert compare([before], [after]).measures[0].largest_step == 2


def test_norms_that_are_no_numbers_are_equal_to_each_other_and_in_no_ratio(tmp_path: Path) -> None:
    values = [math.nan, math.inf, 0.0, 1.0]
    chronicles = [
        run(tmp_path, runs.accumulation(), measures=runs.norms("optimizer-1", values))
        for _ in range(2)
    ]
    comparison = compare(chronicles[:1], chronicles[1:])
    norm = comparison.measures[0]
    assert (norm.equal, norm.first, norm.ratio, norm.before) == (4, None, 1.0, 0.5)
    checked(comparison)


def test_a_ratio_beyond_all_numbers_is_null(tmp_path: Path) -> None:
    pair = [
        run(tmp_path, runs.accumulation((1,)), measures=runs.norms("optimizer-1", [value]))
        for value in (1e-300, 1e300)
    ]
    found = checked(compare(pair[:1], pair[1:]))
    assert found["measures"][0]["median_ratio"] is None
    assert found["measures"][0]["furthest_step"] == 1


def test_a_run_with_norms_against_one_without(tmp_path: Path) -> None:
    before = run(tmp_path, runs.accumulation())
    after = run(tmp_path, runs.accumulation(), measures=runs.norms("optimizer-1", [1.0]))
    comparison = compare([before], [after])
    assert comparison.measures[0].compared == 0
    assert "none → 1" in said(comparison)
    checked(comparison)


# Ranks, and nothing -------------------------------------------------------------------------


def test_ranks_are_compared_with_their_own(tmp_path: Path) -> None:
    before = [run(tmp_path, runs.accumulation(), rank=n, world_size=2) for n in range(2)]
    after = [
        run(tmp_path, runs.accumulation((4, 4, 4, 4 - n)), rank=n, world_size=2) for n in range(2)
    ]
    comparison = compare(before, after)
    assert comparison.parting is not None
    assert (comparison.parting.rank, comparison.parting.step) == (1, 4)
    (windows,) = comparison.windows
    assert (windows.before, windows.after, windows.compared) == (8, 8, 8)
    assert windows.sizes == (("4 deposits", "3 deposits", 1, 4),)
    assert "on rank 1" in said(comparison)


def test_the_rank_that_parts_first_is_told(tmp_path: Path) -> None:
    before = [run(tmp_path, runs.accumulation(), rank=n, world_size=2) for n in range(2)]
    sizes = (4, 4, 4, 3), (4, 3, 4, 4)
    after = [run(tmp_path, runs.accumulation(sizes[n]), rank=n, world_size=2) for n in range(2)]
    parted = compare(before, after).parting
    assert parted is not None
    assert (parted.rank, parted.step) == (1, 2)


def test_a_rank_that_only_one_run_has_is_left_out_of_the_windows(tmp_path: Path) -> None:
    alone = run(tmp_path, runs.accumulation())
    both = [run(tmp_path, runs.accumulation(), rank=n, world_size=2) for n in range(2)]
    for before, after in (([alone], both), (both, [alone])):
        comparison = compare(before, after)
        assert comparison.windows[0].compared == 4
        ranks = str(len(before)), str(len(after))
        assert ("ranks", *ranks) in comparison.settings


def test_two_empty_recordings(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    comparison = compare([run(tmp_path, [])], [run(tmp_path, [], ended=False)])
    checked(comparison)
    assert said(comparison) == snapshot


def test_hostile_names_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    before = run(
        tmp_path,
        runs.accumulation((1, 1), clears=False),
        called={"optimizer-1": runs.HOSTILE},
        argv=[runs.HOSTILE],
    )
    after = run(tmp_path, runs.accumulation((2,)), torch=runs.HOSTILE)
    comparison = compare([before], [after])
    text = said(comparison)
    assert "\x1b" not in text
    assert text.encode("utf-8")
    assert json.dumps(checked(comparison)).encode("utf-8")


# What was not seen ----------------------------------------------------------------------------

COMPILED = Unseen("weights", "the loss is compiled", 4)
SHARDED = Unseen("deposits", "they are sharded", 2, ("w", "b"))


def of_unseen(tmp_path: Path, before: Sequence[Unseen], after: Sequence[Unseen]) -> Comparison:
    sides = (run(tmp_path, runs.accumulation(), unseen=entries) for entries in (before, after))
    return compare(*([side] for side in sides))


def test_what_only_one_run_did_not_see_is_told(tmp_path: Path) -> None:
    comparison = of_unseen(tmp_path, [], [COMPILED, SHARDED])
    told = said(comparison).splitlines()
    assert told[0].endswith("the books balance")
    assert told[1].endswith("no fault found in what was seen")
    start = told.index("Not seen")
    assert told[start + 1 : start + 4] == [
        "  before  nothing went unseen",
        "  after   the weights of 4 windows (the loss is compiled)",
        "          deposits into 2 parameters (they are sharded)",
    ]
    document = checked(comparison)
    assert (document["before"]["balanced"], document["after"]["balanced"]) == (True, False)
    assert document["before"]["unknown"] == []
    assert [one["what"] for one in document["after"]["unknown"]] == ["weights", "deposits"]


def test_what_neither_run_saw_is_told_once(tmp_path: Path) -> None:
    told = said(of_unseen(tmp_path, [COMPILED], [COMPILED]))
    assert "Not seen: the same, before and after\n" in told
    assert told.count("the weights of 4 windows") == 1


def test_where_both_runs_saw_all_nothing_is_said_of_it(tmp_path: Path) -> None:
    assert "seen" not in said(of_unseen(tmp_path, [], []))
