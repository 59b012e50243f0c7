"""What TrainCheck is given, and what is kept of its verdicts."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import traincheck
from benchmarks.peers import TRAINCHECK
from benchmarks.traincheck import SEEN, Judged, models, short
from gradledger.rules import Rule, find
from gradledger.rules.programs import bad, good

GL101 = find("GL101")


@pytest.mark.parametrize("rule", SEEN, ids=lambda rule: rule.code)
def test_it_is_told_the_models_of_every_program(rule: Rule) -> None:
    for program in (bad(rule), good(rule)):
        assert models(program.source), program.name


def test_a_loss_is_no_model_and_a_wrapped_model_is_one() -> None:
    source = """\
class Net(nn.Module): ...
net = Net()
loss_fn = nn.MSELoss()
both = DistributedDataParallel(net)
head = nn.Linear(2, 1).to(torch.bfloat16)
norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
"""
    assert models(source) == ["net", "both", "head"]


def test_epochs_are_cut_and_batches_are_not() -> None:
    source = """\
def train():
    for x in range(50):
        loss.backward()
for epoch in range(30):
    for i in range(40):
        train()
for image in range(20):
    draw(image)
"""
    assert short(source).splitlines()[2:] == [
        "        loss.backward()",
        "for epoch in range(min(3, 30)):",
        "    for i in range(40):",
        "        train()",
        "for image in range(20):",
        "    draw(image)",
    ]


def test_a_verdict_is_kept_until_something_it_depends_on_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def measured(rule: Rule) -> Judged:
        asked.append(rule)
        return Judged(traincheck._key(GL101), invariants=5, bad=2, only_bad=1)

    monkeypatch.setattr(traincheck, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(traincheck, "measured", measured)
    assert traincheck.kept([GL101]) == {}
    traincheck.measure([GL101])
    traincheck.measure([GL101])
    assert asked == [GL101]
    assert traincheck.kept([GL101])["GL101"].bad == 2

    newer = replace(TRAINCHECK, requirement="traincheck==9.9")
    monkeypatch.setattr(traincheck, "TRAINCHECK", newer)
    assert traincheck.kept([GL101]) == {}


def test_what_this_machine_was_too_slow_for_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(*_: object) -> Judged:
        raise subprocess.TimeoutExpired("traincheck-infer", 600)

    monkeypatch.setattr(traincheck, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(traincheck, "_measured", too_slow)
    traincheck.measure([GL101])
    assert traincheck.kept([GL101]) == {}


def test_what_it_can_not_do_is_kept_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> Judged:
        raise traincheck.Trouble("traincheck-infer fails: KeyError")

    monkeypatch.setattr(traincheck, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(traincheck, "_measured", fails)
    traincheck.measure([GL101])
    assert traincheck.kept([GL101])["GL101"].trouble == "traincheck-infer fails: KeyError"


def test_its_last_words_are_no_progress_bar() -> None:
    assert traincheck._last_words("10%|#\r20%|##\nValueError: no\n\n") == "ValueError: no"
    assert traincheck._last_words("") == "it says nothing"
