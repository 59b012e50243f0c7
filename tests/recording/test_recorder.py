from __future__ import annotations

import math
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from gradledger.ledger.events import Batch, Clear, Event, Step
from gradledger.ledger.findings import Breach, Evidence, Finding
from gradledger.ledger.places import Place
from gradledger.recording import (
    Measure,
    Noted,
    Recorder,
    Recording,
    RecordingWarning,
    Remark,
    RunInfo,
    Series,
    interning,
    rank_path,
)
from gradledger.recording import recorder as recorder_module
from gradledger.recording.fingerprints import note_fingerprint

AT = Place("train.py", 7)


def sql(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def record_batches(recorder: Recorder, count: int) -> None:
    for _ in range(count):
        recorder.record(Batch(AT))


def test_events_come_back_in_order_with_their_times(
    recorder: Recorder, one_step: tuple[Event, ...]
) -> None:
    for event in one_step * 100:
        recorder.record(event)
    recorder.close()
    with Recording(recorder.path) as recording:
        recorded = list(recording.events())
        assert [r.event for r in recorded] == list(one_step * 100)
        assert [r.number for r in recorded] == list(range(1, 301))
        times = [r.ns for r in recorded]
        assert times == sorted(times)
        assert 0 <= times[0] <= times[-1] <= recording.duration_ns
        assert len(recording) == 300
        assert [r.event for r in recording.events(Clear, Step, after=297)] == [
            one_step[0],
            one_step[2],
        ]
    assert sql(recorder.path, "SELECT count(*) FROM facts") == [(3,)]


def test_a_finding_is_one_row_that_grows(recorder: Recorder) -> None:
    evidence = Evidence("deposited", Place("train.py", 5), "in iteration 1")
    finding = Finding("GL101", AT, "spent again", "observed", (evidence,), frozenset({"w"}))
    other = Finding("GL203", Place("train.py", 9), "not divided", "observed")
    for number in range(1, 6):
        recorder.record(Batch(AT))
        recorder.note_finding(finding)
        if number == 3:
            recorder.note_finding(other)
        finding = finding.again(Breach(AT, "", cells=frozenset({f"w{number}"})))
        recorder.flush()
    recorder.close()
    with Recording(recorder.path) as recording:
        first, second = recording.findings()
    assert first.finding.count == 5
    assert first.finding.cells == {"w", "w1", "w2", "w3", "w4"}
    assert first.finding.evidence == (evidence,)
    assert (first.first_event, first.last_event) == (1, 5)
    assert second == Noted(other, 3, 3)


def test_findings_that_come_in_one_batch_keep_their_order(recorder: Recorder) -> None:
    rules = [f"GL{n}" for n in range(100, 120)]
    for rule in rules:
        recorder.note_finding(Finding(rule, AT, "", "observed"))
    recorder.close()
    with Recording(recorder.path) as recording:
        assert [noted.finding.rule for noted in recording.findings()] == rules


def test_measures_come_back_by_step_and_the_last_one_said_stands(recorder: Recorder) -> None:
    recorder.record(Batch(AT))
    for step, value in [(1, 0.1), (2, math.inf), (1, 0.25)]:
        recorder.measure("norm", value, step=step, optimizer="SGD", cell="w")
    recorder.measure("norm", math.nan, step=2)
    recorder.close()
    of_w, of_all = Series("norm", "SGD", "w"), Series("norm")
    with Recording(recorder.path) as recording:
        assert recording.series() == (of_all, of_w)
        assert list(recording.measures(of_w)) == [
            Measure(of_w, 1, 0.25, 1),
            Measure(of_w, 2, math.inf, 1),
        ]
        (measure,) = recording.measures(of_all)
        assert math.isnan(measure.value)
        assert len(list(recording.measures())) == 3


def test_sources_come_back_whatever_their_names_and_text(recorder: Recorder) -> None:
    sources = {"b.py": "x = 1\n", "odd\udcff.py": "# \ud800 \0 é\r\n", "a.py": ""}
    for path, text in sources.items():
        recorder.source(path, text)
    recorder.close()
    with Recording(recorder.path) as recording:
        assert recording.sources() == sources


def test_the_last_said_of_a_topic_and_a_name_stands(recorder: Recorder) -> None:
    recorder.remark("called", "opt", name="optimizer-2")
    recorder.remark("called", "odd\udcff", name="optimizer-1")
    recorder.remark("subject", "train.py")
    recorder.flush()
    recorder.remark("called", "self.opt", name="optimizer-2")
    recorder.close()
    with Recording(recorder.path) as recording:
        assert recording.remarks() == (
            Remark("called", "optimizer-1", "odd\udcff"),
            Remark("subject", "", "train.py"),
            Remark("called", "optimizer-2", "self.opt"),
        )
        assert recording.remarks("subject") == (Remark("subject", "", "train.py"),)
        assert recording.remarks("trouble") == ()


def test_fingerprints_come_back_in_the_order_of_their_steps(recorder: Recorder) -> None:
    at = Place("odd\udcff.py", 3, 8)
    for step in (4, 16, 2):
        note_fingerprint(recorder, at, step, {"w": 2**60 + step, "b": 0})
    recorder.close()
    with Recording(recorder.path) as recording:
        assert recording.fingerprints() == [
            (at, step, {"w": 2**60 + step, "b": 0}) for step in (2, 4, 16)
        ]


def test_the_run_is_told(tmp_path: Path) -> None:
    run = RunInfo("odd\udcff.py", ("--lr", "1e-3"), {"torch": "2.13.0"}, 3, 8, "restart 2")
    with Recorder(tmp_path / "run.gradledger", run=run) as recorder:
        recorder.flush()
        with Recording(recorder.path) as recording:
            assert not recording.ended
    with Recording(recorder.path) as recording:
        assert recording.run == run
        assert recording.ended
        assert recording.lost == 0


def test_a_closed_recording_is_one_plain_file(recorder: Recorder) -> None:
    recorder.record(Batch(AT))
    recorder.close()
    recorder.close()
    assert os.listdir(recorder.path.parent) == ["run.gradledger"]
    assert sql(recorder.path, "PRAGMA journal_mode") == [("delete",)]
    assert sql(recorder.path, "PRAGMA integrity_check") == [("ok",)]


def test_it_is_read_while_it_is_written(recorder: Recorder) -> None:
    recorder.record(Batch(AT))
    recorder.flush()
    with Recording(recorder.path) as recording:
        assert len(recording) == 1
        for line in range(2000):
            recorder.record(Batch(Place("train.py", line)))
        recorder.flush()
        assert [r.event.at.line for r in recording.events(after=1)] == list(range(2000))
        recorder.close()
        assert recording.ended


def test_an_older_file_is_never_touched(tmp_path: Path) -> None:
    path = tmp_path / "run.gradledger"
    path.write_bytes(b"the only copy")
    names = []
    for _ in range(2):
        with Recorder(path, run=RunInfo("train.py")) as recorder:
            names.append(recorder.path.name)
    assert path.read_bytes() == b"the only copy"
    assert names == ["run.2.gradledger", "run.3.gradledger"]


def test_the_path_does_not_follow_the_script_to_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Recorder("run.gradledger", run=RunInfo("train.py")) as recorder:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        recorder.record(Batch(AT))
    with Recording(tmp_path / "run.gradledger") as recording:
        assert len(recording) == 1


def test_each_rank_has_a_path_of_its_own() -> None:
    paths = [rank_path("out/run.gradledger", rank=rank, world_size=2) for rank in range(2)]
    assert paths == [Path("out/run.rank0.gradledger"), Path("out/run.rank1.gradledger")]
    assert rank_path("run.gradledger", rank=0, world_size=1) == Path("run.gradledger")


def test_sets_that_never_repeat_are_forgotten_in_memory_but_not_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interning, "REMEMBERED", 8)
    events = [Clear(AT, frozenset({f"leaf{n}", "w"})) for n in range(30)] * 2
    with Recorder(tmp_path / "run.gradledger", run=RunInfo("train.py")) as recorder:
        for event in events:
            recorder.record(event)
    with Recording(recorder.path) as recording:
        assert [r.event for r in recording.events()] == events


def test_many_threads_may_record(recorder: Recorder) -> None:
    def record(thread: int) -> None:
        for n in range(500):
            recorder.record(Batch(Place(f"{thread}.py", n)))

    threads = [threading.Thread(target=record, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    with Recording(recorder.path) as recording:
        recorded = list(recording.events())
    assert [r.number for r in recorded] == list(range(1, 4001))
    for n in range(8):
        lines = [r.event.at.line for r in recorded if r.event.at.path == f"{n}.py"]
        assert lines == list(range(500))


def test_what_can_not_be_encoded_is_lost_alone(recorder: Recorder) -> None:
    recorder.record(Batch(AT))
    recorder.record("nonsense")  # type: ignore[arg-type]
    recorder.measure("norm", "much", step=1)  # type: ignore[arg-type]
    recorder.record(Batch(AT))
    recorder.close()
    assert recorder.lost == 2
    with Recording(recorder.path) as recording:
        assert [r.number for r in recording.events()] == [1, 3]
        assert recording.lost == 2


def test_an_event_after_the_end_is_counted_as_lost(recorder: Recorder) -> None:
    recorder.close()
    recorder.record(Batch(AT))
    recorder.measure("norm", 1.0, step=1)
    assert recorder.lost == 2


def test_memory_is_bounded_when_the_disk_does_not_keep_up(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "MOST_WAITING", 100)
    recorder.flush()
    recorder.hold_still(10)  # as a slow disk would
    with pytest.warns(RecordingWarning, match="more happened than the disk could take") as caught:
        record_batches(recorder, 1000)
    assert len(caught) == 1
    recorder.go_on()
    recorder.close()
    with Recording(recorder.path) as recording:
        assert 100 <= len(recording) < 1000
        assert len(recording) + recorder.lost == 1000
        assert recording.lost == recorder.lost


def test_numbers_of_many_cells_come_in_one_go_and_keep_the_event_that_they_are_of(
    recorder: Recorder,
) -> None:
    record_batches(recorder, 3)
    recorder.measure_each("norm", {"": 5.0, "w": 3.0, "b": 4.0}, step=7, optimizer="SGD", event=2)
    recorder.measure_each("norm", {"w": 1.0}, step=8, optimizer="SGD")
    recorder.close()
    with Recording(recorder.path) as recording:
        found = [(m.series.cell, m.step, m.value, m.event) for m in recording.measures()]
    assert sorted(found) == [("", 7, 5.0, 2), ("b", 7, 4.0, 2), ("w", 7, 3.0, 2), ("w", 8, 1.0, 3)]


def test_memory_is_bounded_in_numbers_and_not_in_how_often_they_come(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "MOST_WAITING", 100)
    recorder.flush()
    recorder.hold_still(10)
    each = {str(n): 1.0 for n in range(30)}

    def measure() -> None:
        for step in range(50):
            recorder.measure_each("norm", each, step=step)

    with pytest.warns(RecordingWarning, match="more happened than the disk could take"):
        measure()
    recorder.go_on()
    recorder.flush()
    recorder.measure_each("norm", each, step=50)  # there is room again
    recorder.close()
    with Recording(recorder.path) as recording:
        kept = list(recording.measures())
    assert 120 <= len(kept) < 51 * 30
    assert len(kept) + recorder.lost == 51 * 30
    assert kept[-1].step == 50
