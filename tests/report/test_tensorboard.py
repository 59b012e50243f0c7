"""Event files, read by the real TensorBoard."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

from gradledger.ledger.events import Backward
from gradledger.recording import Recording
from gradledger.report import tensorboard
from gradledger.report.chronicle import Chronicle, told
from gradledger.report.tensorboard.event_files import EventFile, crc32c, scalar
from tests.report import recorded_runs as runs
from tests.report.recorded_runs import STARTED, recorded

Points = dict[str, list[tuple[int, float]]]


def chronicle(path: Path) -> Chronicle:
    with Recording(path) as recording:
        return told(recording)


def accumulated(folder: Path) -> EventAccumulator:
    found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    return found.Reload()


def read(folder: Path) -> Points:
    """All that TensorBoard finds, by tag: step and value."""
    found = accumulated(folder)
    return {
        tag: [(event.step, event.value) for event in found.Scalars(tag)]
        for tag in sorted(found.Tags()["scalars"])
    }


def read_run(tmp_path: Path, *args: object, **options: object) -> Points:
    path = recorded(tmp_path / "run.gradledger", *args, **options)  # type: ignore[arg-type]
    tensorboard.write([chronicle(path)], tmp_path / "logs")
    return read(tmp_path / "logs")


def test_scalars_of_a_leak(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    points = read_run(
        tmp_path,
        runs.gan(2),
        called={"optimizer-1": "opt_g", "optimizer-2": "opt_d"},
        measures={
            **runs.norms("optimizer-1", [1.0, 2.5], ["g.weight", "g.bias"]),
            **runs.norms("optimizer-2", [3.0]),
        },
    )
    assert points == snapshot


def test_a_skipped_step_is_counted_and_its_number_taken(tmp_path: Path) -> None:
    points = read_run(tmp_path, runs.scaled(), measures=runs.norms("optimizer-1", [1.0, 2.0]))
    assert points["skipped_steps/optimizer-1"] == [(1, 0), (2, 1), (3, 1)]
    assert points["gradient_norm/optimizer-1"] == [(1, 1), (3, 2)]
    assert points["window_deposits/optimizer-1"] == [(1, 1), (3, 1)]


def test_where_nothing_was_skipped_nothing_is_said_of_it(tmp_path: Path) -> None:
    points = read_run(tmp_path, runs.accumulation((4, 3)))
    assert sorted(points) == [
        "findings",
        "window_deposits/optimizer-1",
        "window_items/optimizer-1",
    ]
    assert points["window_deposits/optimizer-1"] == [(1, 4), (2, 3)]
    assert points["window_items/optimizer-1"] == [(1, 32), (2, 24)]


def test_items_are_left_out_where_those_of_one_deposit_are_unknown(tmp_path: Path) -> None:
    events = list(runs.accumulation((2, 2)))
    events[1] = Backward(events[1].at, runs.WEIGHTS)
    points = read_run(tmp_path, events)
    assert points["window_items/optimizer-1"] == [(2, 16)]


def test_findings_add_up_from_where_each_was_first_seen(tmp_path: Path) -> None:
    points = read_run(tmp_path, runs.accumulation((1, 1, 1), clears=False, divisor=1.0))
    assert points["findings"] == [(1, 0), (2, 1), (3, 1)]


def test_wall_times_are_those_of_the_run(tmp_path: Path) -> None:
    read_run(tmp_path, runs.accumulation((4,)))
    (event,) = accumulated(tmp_path / "logs").Scalars("window_deposits/optimizer-1")
    assert event.wall_time == pytest.approx(STARTED.timestamp() + 2.06, abs=1e-6)


def test_each_rank_is_a_run_of_its_own(tmp_path: Path) -> None:
    ranks = [
        chronicle(
            recorded(
                tmp_path / f"run.rank{n}.gradledger",
                runs.accumulation((2 + n,)),
                rank=n,
                world_size=2,
            )
        )
        for n in range(2)
    ]
    tensorboard.write(ranks, tmp_path / "logs")
    for rank in range(2):
        points = read(tmp_path / "logs" / f"rank{rank}")
        assert points["window_deposits/optimizer-1"] == [(1, 2 + rank)]


def test_written_again_it_replaces_itself_and_nothing_else(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    first = read_run(tmp_path, runs.accumulation((4, 4)))
    (logs / "events.out.tfevents.1.others").touch()
    tensorboard.write([chronicle(tmp_path / "run.gradledger")], str(logs))
    assert len(list(logs.iterdir())) == 2
    assert read(logs) == first


def test_anybody_may_read_the_files_who_may_read_new_ones(tmp_path: Path) -> None:
    read_run(tmp_path, runs.accumulation((4,)))
    (file,) = (tmp_path / "logs").iterdir()
    plain = tmp_path / "plain"
    plain.touch()
    assert file.stat().st_mode == plain.stat().st_mode


def test_what_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        read_run(tmp_path, runs.accumulation((4,)))
    assert not list((tmp_path / "logs").iterdir())


def test_numbers_too_large_for_a_scalar_are_infinite(tmp_path: Path) -> None:
    values = [1e39, -1e300, math.inf, math.nan, 3.4e38, 1e-50]
    points = read_run(
        tmp_path,
        runs.accumulation((1,) * len(values)),
        measures={("gradient norm", "optimizer-1", ""): values},
    )
    read = [value for _, value in points["gradient_norm/optimizer-1"]]
    assert read[:3] == [math.inf, -math.inf, math.inf]
    assert math.isnan(read[3])
    assert read[4:] == [struct.unpack("<f", struct.pack("<f", 3.4e38))[0], 0.0]


def test_hostile_names_are_only_names(tmp_path: Path) -> None:
    points = read_run(
        tmp_path,
        runs.accumulation((1,)),
        called={"optimizer-1": runs.HOSTILE},
        measures=runs.norms("optimizer-1", [1.0], [runs.HOSTILE]),
    )
    assert all(points.values())
    assert all(tag.isprintable() for tag in points)
    assert len(points) == 7


@pytest.mark.parametrize("ended", [True, False])
def test_an_empty_recording_is_a_run_without_scalars(tmp_path: Path, ended: bool) -> None:
    assert read_run(tmp_path, [], ended=ended) == {}


def test_a_run_that_was_cut_off_has_the_steps_that_it_made(tmp_path: Path) -> None:
    points = read_run(tmp_path, list(runs.accumulation((4, 4)))[:8], ended=False)
    assert points["window_deposits/optimizer-1"] == [(1, 4)]


# The format ---------------------------------------------------------------------------------


def events_in(path: Path) -> Iterator[Event]:
    for raw in RawEventFileLoader(str(path)).Load():
        yield Event.FromString(raw)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**62),
            st.floats(0, 2e9),
            st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.floats())),
        )
    )
)
def test_tensorboard_reads_every_event_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    written: list[tuple[int, float, list[tuple[str, float]]]],
) -> None:
    path = tmp_path_factory.mktemp("logs") / "events.out.tfevents.1"
    with open(path, "wb") as stream:
        file = EventFile(stream, 5.0)
        for step, wall_time, values in written:
            file.scalars(step, wall_time, [scalar(tag, value) for tag, value in values])
    first, *events = events_in(path)
    assert (first.file_version, first.wall_time) == ("brain.Event:2", 5.0)
    assert len(events) == len(written)
    for event, (step, wall_time, values) in zip(events, written, strict=True):
        assert (event.step, event.wall_time) == (step, wall_time)
        assert [value.tag for value in event.summary.value] == [tag for tag, _ in values]
        for value, (_, number) in zip(event.summary.value, values, strict=True):
            assert value.simple_value == pytest.approx(
                number, rel=1e-6, abs=1e-38, nan_ok=True
            ) or (math.isinf(value.simple_value) and abs(number) > 3.4e38)


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_the_checksum_is_that_of_rfc_3720(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc
