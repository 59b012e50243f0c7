"""What a tracker gets of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import gradledger
from gradledger.cli import main
from gradledger.cli.run import TRACKERS as ON_THE_COMMAND_LINE
from gradledger.errors import MissingExtraError, OptionError
from gradledger.integrations.trackers import TRACKERS, tracker
from gradledger.integrations.trackers.tensorboard_sink import Tracker


class Heard:
    """A sink that only listens."""

    def __init__(self) -> None:
        self.logged: list[tuple[str, float, int]] = []
        self.alerts: list[tuple[str, str]] = []
        self.closed = 0

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.logged += [(name, value, step) for name, value in values.items()]

    def alert(self, title: str, text: str) -> None:
        self.alerts.append((title, text))

    def close(self) -> None:
        self.closed += 1


def train(*, clears: bool) -> list[float]:
    """Three windows of two micro-batches; the norm of what each spends."""
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(3):
        for _ in range(2):
            (model(torch.ones(4, 2)).square().mean() / 2).backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norms.append(float(torch.stack([g.norm() for g in grads]).norm()))
        optimizer.step()
        if clears:
            optimizer.zero_grad()
    return norms


def test_a_sink_gets_norms_ratios_and_windows() -> None:
    sink = Heard()
    with gradledger.audit(sink=sink):
        norms = train(clears=True)
    windows = [("window_deposits/optimizer", 2.0, step) for step in (1, 2, 3)]
    assert [one for one in sink.logged if one[0].startswith("window")] == windows
    told = [value for name, value, _ in sink.logged if name == "gradient_norm/optimizer"]
    assert told == pytest.approx(norms)
    assert {step for name, _, step in sink.logged if name.startswith("update_ratio")} == {1, 2, 3}
    assert sink.alerts == []
    assert sink.closed == 1


def test_a_finding_is_one_alert() -> None:
    sink = Heard()
    with gradledger.audit(sink=sink):
        train(clears=False)
    ((title, text),) = sink.alerts
    assert title == "GL101 spent-gradient-reused"
    assert "zero_grad()" in text
    assert "test_trackers.py:" in text


def test_a_skipped_step_is_logged() -> None:
    sink = Heard()
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    with gradledger.audit(sink=sink):
        scaler.scale(model(torch.full((4, 2), float("inf"))).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        model(torch.ones(4, 2)).mean().backward()
        optimizer.step()
    assert ("skipped_steps/optimizer", 1.0, 1) in sink.logged


def test_a_tracker_that_fails_is_no_reason_for_the_training_to() -> None:
    class Broken(Heard):
        def log(self, values: Mapping[str, float], step: int) -> None:
            raise OSError("no space left")

    sink = Broken()
    with gradledger.audit(sink=sink) as book:
        train(clears=False)
    assert book.feed is not None
    assert isinstance(book.feed.failure, OSError)
    assert [finding.rule for finding in book.findings] == ["GL101"]
    assert sink.alerts == [], "nothing more is tried"


def test_tensorboard_reads_what_is_written(tmp_path: Path) -> None:
    with gradledger.audit(sink=Tracker(str(tmp_path))):
        norms = train(clears=False)
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    told = read.Scalars("gradient_norm/optimizer")
    assert [event.step for event in told] == [1, 2, 3]
    assert [event.value for event in told] == pytest.approx(norms)
    assert [event.value for event in read.Scalars("findings")] == [1.0]


def test_a_tracker_that_is_not_there_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match=r"there is no tracker 'neptune'\. There are wandb"):
        tracker("neptune")
    monkeypatch.setattr("gradledger.integrations.trackers.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install wandb"):
        tracker("wandb")


def test_the_command_line_has_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert ON_THE_COMMAND_LINE == TRACKERS
    assert main(["run", "--log", "neptune", "train.py"]) == 2
    assert "choose from" in capsys.readouterr().err
