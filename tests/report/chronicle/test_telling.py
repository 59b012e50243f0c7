"""A chronicle says what the books say, in turns."""

from __future__ import annotations

from collections import Counter
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given

from gradledger.ledger import Place
from gradledger.ledger.events import (
    BY_HAND,
    Backward,
    Clear,
    Clip,
    EpochEnd,
    Event,
    Own,
    RunEnd,
    Skipped,
    Step,
    Update,
    Weight,
)
from gradledger.recording import RunInfo
from gradledger.report.chronicle import NOBODY, Chronicle, Flow, Mark, Part, Spending
from gradledger.rules import YIELDS_TO
from gradledger.rules.ordering import ordered
from tests.examples import examples
from tests.report.chronicle.recorded import chronicle_of, read, record
from tests.strategies import LOOPS, OPENING, event_lists

G, D = frozenset({"g.weight", "g.bias"}), frozenset({"d.weight", "d.bias"})


def at(line: int) -> Place:
    return Place("train.py", line)


def marks(chronicle: Chronicle) -> list[Mark]:
    return [mark for turn in chronicle.turns for mark in chronicle.patterns[turn]]


def kinds(chronicle: Chronicle) -> list[list[str]]:
    return [[mark.kind for mark in chronicle.patterns[turn]] for turn in chronicle.turns]


# Whatever happens ------------------------------------------------------------------------------


@examples(60)
@given(event_lists)
def test_a_chronicle_and_the_books_count_the_same(events: list[Event]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.gradledger")
        book = record(path, [*OPENING, *events])
        chronicle = read(path)
    tally = book.tally
    assert chronicle.verdict.tally == tally
    assert chronicle.verdict.occurrences == book.occurrences
    assert chronicle.verdict.findings == tuple(ordered(book.findings))
    counts = Counter(mark.kind for mark in marks(chronicle))
    pieces = sum(isinstance(event, Backward) and event.continues for event in events)
    assert counts["deposit"] == tally.backwards + pieces == len(chronicle.deposits)
    assert counts["spend"] == tally.steps == len(chronicle.spends)
    assert counts["skip"] == tally.skipped_steps
    fates: Counter[str] = Counter()
    for flow in chronicle.flows:
        fates[flow.fate] += flow.entries
    assert fates["spent"] == tally.spent
    assert fates["spent again"] == tally.respent
    assert fates["cleared"] == tally.lost + tally.wasted
    # Entries that are worked on by hand after they were spent count anew.
    assert fates["left over"] == tally.entries - tally.spent - tally.lost - tally.wasted


@examples(60)
@given(event_lists)
@example([Own(at(1), "H", G), Skipped(at(2), "H")])
def test_each_turn_ends_with_a_step_and_only_the_last_may_not(events: list[Event]) -> None:
    for turn in kinds(chronicle_of([*OPENING, *events]))[:-1]:
        assert turn[-1] in ("spend", "skip")
        assert not {"spend", "skip"} & set(turn[:-1])


@examples(60)
@given(event_lists)
def test_what_a_step_spends_is_what_flows_to_it(events: list[Event]) -> None:
    chronicle = chronicle_of([*OPENING, *events])
    spent: Counter[tuple[int, int, str]] = Counter()
    for flow in chronicle.flows:
        if flow.fate in ("spent", "spent again"):
            spent[flow.site, flow.lane, flow.fate] += flow.entries
    told = Counter[tuple[int, int, str]]()
    for spend in chronicle.spends:
        spending = chronicle.spendings[spend]
        for part in spending.parts:
            fate = "spent again" if part.again else "spent"
            # Where cells hold different numbers of deposits, the largest is told.
            told[part.site, spending.lane, fate] += part.deposits * part.parameters
    assert spent.keys() == told.keys()
    assert all(spent[key] <= told[key] for key in spent)


# Some that people write ------------------------------------------------------------------------


def test_ten_thousand_turns_of_one_loop_are_a_few_patterns() -> None:
    chronicle = chronicle_of([*OPENING, *chain.from_iterable(repeat(LOOPS["amp"], 10_000))])
    assert len(chronicle.turns) == 10_001
    assert len(chronicle.patterns) == 3
    assert len(chronicle.spendings) == 1


def test_windows_that_leak_into_another_net_are_told_to_both() -> None:
    loop: list[Event] = [
        Backward(at(10), G | D),
        Step(at(11), "G"),
        Clear(at(12), G),
        Backward(at(13), D),
        Step(at(14), "D"),
        Clear(at(15), D),
    ]
    chronicle = chronicle_of([*OPENING, *loop, *loop])
    lines = [place.line for place in chronicle.sites]
    generator, discriminator = lines.index(10), lines.index(13)
    assert [lane.name for lane in chronicle.lanes] == ["G", "D"]
    assert set(chronicle.flows) == {
        Flow(generator, 0, "spent", 4),
        Flow(generator, 1, "spent", 4),
        Flow(discriminator, 1, "spent", 4),
    }
    leaky = Spending(1, 1, (Part(generator, 1, False, 2), Part(discriminator, 1, False, 2)))
    assert [chronicle.spendings[n] for n in chronicle.spends] == [
        Spending(0, 0, (Part(generator, 1, False, 2),)),
        leaky,
    ] * 2


def test_a_window_opens_with_its_first_deposit_and_not_with_one_that_was_cleared() -> None:
    chronicle = chronicle_of(
        [
            *OPENING,
            Backward(at(10), G),
            Step(at(20), "D"),
            Clear(at(11), G),
            Step(at(20), "D"),
            Backward(at(10), G),
            Step(at(20), "D"),
            Backward(at(10), G),
            Step(at(12), "G"),
        ]
    )
    assert chronicle.spendings[chronicle.spends[-1]].opened == 1


def test_a_skipped_step_ends_a_turn_and_the_window_goes_on() -> None:
    chronicle = chronicle_of(
        [
            *OPENING,
            Backward(at(10), G, scaler="s"),
            Skipped(at(11), "G", "s"),
            Update(at(12), "s"),
            Backward(at(10), G, scaler="s"),
            Step(at(11), "G", scaler="s"),
        ]
    )
    assert kinds(chronicle) == [["deposit", "skip"], ["update", "deposit", "spend"]]
    assert chronicle.spendings[chronicle.spends[0]].opened == 1
    assert chronicle.windows == 1


def test_cells_that_nobody_holds_have_a_lane_of_their_own() -> None:
    chronicle = chronicle_of([*OPENING, Backward(at(10), frozenset({"x"})), RunEnd(at(11))])
    assert [lane.name for lane in chronicle.lanes] == ["G", "D", NOBODY]
    assert [flow[1:] for flow in chronicle.flows] == [(2, "left over", 1)]


def test_code_that_spends_by_itself_is_a_lane() -> None:
    chronicle = chronicle_of([Backward(at(10), G), Step(at(11), BY_HAND, cells=G)])
    assert [lane.name for lane in chronicle.lanes] == [NOBODY, BY_HAND]
    assert [(chronicle.lanes[f.lane].name, f.fate) for f in chronicle.flows] == [(BY_HAND, "spent")]


def test_a_norm_that_is_taken_is_no_clip() -> None:
    chronicle = chronicle_of([*OPENING, Clip(at(10), G, changes=False), Clip(at(11), G)])
    assert [(mark.kind, mark.lanes) for mark in marks(chronicle)] == [
        ("norm", (0,)),
        ("clip", (0,)),
    ]


def test_findings_are_pinned_to_the_mark_that_broke_the_law() -> None:
    loop: list[Event] = [Backward(at(10), G), Step(at(11), "G")]
    chronicle = chronicle_of([*OPENING, *loop, *loop, *loop, EpochEnd(at(9)), RunEnd(at(12))])
    (finding,) = chronicle.verdict.findings
    (pin,) = chronicle.pins
    assert finding.rule == "GL101"
    assert (pin.finding, pin.turn, pin.mark, pin.last_turn) == (0, 1, 1, 2)
    mark = chronicle.patterns[chronicle.turns[pin.turn]][pin.mark]
    assert chronicle.sites[mark.site] == finding.at


# What else a recording has ---------------------------------------------------------------------


def test_the_program_has_its_own_names_for_optimizers(tmp_path: Path) -> None:
    loop: list[Event] = [
        Backward(at(10), G | D),
        Step(at(11), "G"),
        Backward(at(13), D),
        Step(at(14), "D"),
    ]
    path = tmp_path / "run.gradledger"
    record(path, [*OPENING, *loop], called={"G": "trainer.opt_g", "D": r"self.opt\g<0>"})
    chronicle = read(path)
    assert [lane.called for lane in chronicle.lanes] == ["trainer.opt_g", r"self.opt\g<0>"]
    (finding,) = chronicle.verdict.findings
    assert "trainer.opt_g" in finding.detail


def test_an_empty_recording_is_a_chronicle_of_nothing() -> None:
    chronicle = chronicle_of([])
    assert not chronicle.turns
    assert chronicle.verdict.subject == "train.py"
    assert chronicle.windows == 0


@pytest.mark.parametrize("script", ["/somewhere/else/train.py", r"C:\nets\train.py"])
def test_the_subject_is_the_scripts_name_where_nobody_said_another(script: str) -> None:
    assert chronicle_of([], run=RunInfo(script)).subject == "train.py"


def test_weights_are_told_deposit_by_deposit() -> None:
    weights = [Weight("mean", 1, items) for items in (3, 5, 3)]
    chronicle = chronicle_of([*OPENING, *(Backward(at(10), G, weight) for weight in weights)])
    assert [chronicle.weights[n] for n in chronicle.deposits] == weights


def test_what_was_measured_stands_at_the_turn_of_its_step(tmp_path: Path) -> None:
    from gradledger.recording import Recorder

    path = tmp_path / "run.gradledger"
    with Recorder(path, run=RunInfo("train.py")) as recorder:
        for event in (*OPENING, Step(at(1), "G"), Step(at(2), "D"), Step(at(1), "G")):
            recorder.record(event)
        recorder.measure("gradient norm", 1.5, step=1, optimizer="G")
        recorder.measure("gradient norm", float("nan"), step=2, optimizer="G")
        recorder.measure("gradient norm", 0.5, step=1, optimizer="D", cell="d.10.bias")
        recorder.measure("gradient norm", 0.5, step=1, optimizer="D", cell="d.9.bias")
        recorder.measure("gradient norm", 7.0, step=3, optimizer="G")  # a step nobody recorded
        recorder.measure("gradient norm", 7.0, step=1, optimizer="E")  # nobody's
    chronicle = read(path)
    turns, values = chronicle.measured("gradient norm", 0)
    assert list(turns) == [0, 2]
    assert values[0] == 1.5
    assert values[1] != values[1]
    assert chronicle.cells("gradient norm", 1) == ("d.9.bias", "d.10.bias")
    assert list(chronicle.measured("gradient norm", 1, "d.9.bias")[0]) == [1]
    assert list(chronicle.measured("update ratio", 1)[0]) == []


def test_symptoms_give_way_to_causes_as_they_do_in_the_run(tmp_path: Path) -> None:
    assert YIELDS_TO
    path = tmp_path / "run.gradledger"
    book = record(path, [*OPENING, *LOOPS["gan"], *LOOPS["gan"], *LOOPS["left out"]])
    assert read(path).verdict.findings == tuple(ordered(book.findings))


def test_what_is_cleared_or_left_over_was_the_owners() -> None:
    chronicle = chronicle_of(
        [*OPENING, Backward(at(10), D), Clear(at(11), D), Backward(at(10), G | D)]
    )
    told = {(chronicle.lanes[f.lane].name, f.fate, f.entries) for f in chronicle.flows}
    assert told == {("D", "cleared", 2), ("D", "left over", 2), ("G", "left over", 2)}


def test_what_came_of_an_event_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [*OPENING, *LOOPS["gan"] * 3, *LOOPS["amp"] * 3]
    remembered = chronicle_of(events)
    monkeypatch.setattr("gradledger.report.chronicle.telling.MOST", 1)
    forgotten = chronicle_of(events)
    assert (forgotten.turns, forgotten.patterns) == (remembered.turns, remembered.patterns)
    assert (forgotten.spends, forgotten.flows) == (remembered.spends, remembered.flows)
