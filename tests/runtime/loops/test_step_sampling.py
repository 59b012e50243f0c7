"""`sample=N`: the first steps, then one cycle in N, and no fault that is none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam
from torch.utils.data import DataLoader

import gradledger
from gradledger.ledger.events import Backward, Event, Step
from gradledger.runtime.audit import Audit
from gradledger.runtime.loops.step_sampling import FIRST

EVERY = 7
LONG = FIRST + 5 * EVERY


def rules(book: Audit) -> list[str]:
    return [finding.rule for finding in book.findings]


def seen_steps(book: Audit) -> list[int]:
    """Which of the steps were audited, filled while the program runs."""
    seen: list[int] = []

    def hear(event: Event, findings: object) -> None:
        if isinstance(event, Step):
            seen.append(Plain.steps)

    book.journal.heard.append(hear)
    return seen


class Plain:
    """One backward, one step, one clear."""

    steps = 0

    def __init__(self) -> None:
        Plain.steps = 0
        self.model = nn.Linear(2, 1)
        self.optimizer = SGD(self.model.parameters(), lr=0.01)

    def run(self, turns: int, *, clears: bool = True) -> None:
        for _ in range(turns):
            Plain.steps += 1
            self.model(torch.ones(1, 2)).sum().backward()
            self.optimizer.step()
            if clears:
                self.optimizer.zero_grad()


def test_the_first_steps_are_audited_and_then_one_in_so_many() -> None:
    with gradledger.audit(sample=EVERY) as book:
        seen = seen_steps(book)
        Plain().run(LONG)
    assert seen[:FIRST] == list(range(1, FIRST + 1))
    rest = seen[FIRST:]
    assert rest
    assert {after - before for before, after in zip(seen[FIRST - 1 :], rest, strict=False)} == {
        EVERY
    }
    assert book.findings == ()


def test_a_sample_of_one_audits_every_step() -> None:
    with gradledger.audit(sample=1) as book:
        Plain().run(LONG)
    assert book.tally.steps == LONG


def test_a_fault_that_begins_late_is_found_within_a_sample() -> None:
    with gradledger.audit(sample=EVERY) as book:
        plain = Plain()
        plain.run(LONG)
        assert rules(book) == []
        plain.run(2 * EVERY, clears=False)
    assert rules(book) == ["GL101"]


def test_between_two_samples_nothing_is_read() -> None:
    with gradledger.audit(sample=1000) as book:
        Plain().run(FIRST + 50)
        assert book.journal.asleep
    assert book.tally.steps == FIRST
    assert book.tally.backwards == FIRST
    assert book.findings == ()


# No false alarm ------------------------------------------------------------------------------


def accumulation() -> None:
    model = nn.Linear(2, 1)
    optimizer = Adam(model.parameters())
    loader: DataLoader[torch.Tensor] = DataLoader(torch.rand(80, 2), batch_size=2)  # type: ignore[arg-type]
    for _ in range(20):
        for number, x in enumerate(loader):
            (model(x).pow(2).mean() / 4).backward()
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()


def two_nets() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    ours, theirs = SGD(first.parameters(), lr=0.01), SGD(second.parameters(), lr=0.01)
    for turn in range(150):
        theirs.zero_grad()
        second(first(torch.rand(3, 2)).detach()).sum().backward()
        theirs.step()
        if turn % 2:
            ours.zero_grad()
            second.requires_grad_(False)
            (-second(first(torch.rand(3, 2))).sum()).backward()
            second.requires_grad_(True)
            ours.step()


def windows_of_different_length() -> None:
    model = nn.Linear(2, 1)
    optimizer = SGD(model.parameters(), lr=0.01)
    for turn in range(180):
        window = 1 + turn % 5
        for _ in range(window):
            (model(torch.rand(3, 2)).sum() / window).backward()
        optimizer.step()
        optimizer.zero_grad()


def by_hand() -> None:
    w = torch.ones(3, requires_grad=True)
    for _ in range(180):
        (w * torch.rand(3)).sum().backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            assert w.grad is not None
            w -= 0.01 * w.grad
            w.grad.zero_()


def cleared_by_hand() -> None:
    model = nn.Linear(2, 1)
    optimizer = SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(180):
        model(torch.rand(3, 2)).sum().backward()
        optimizer.step()
        for parameter in model.parameters():
            parameter.grad = None


def cleared_at_the_top() -> None:
    model = nn.Linear(2, 1)
    optimizer = SGD(model.parameters(), lr=0.01)
    for _ in range(180):
        optimizer.zero_grad(set_to_none=False)
        model(torch.rand(3, 2)).sum().backward()
        optimizer.step()


def scaled() -> None:
    model = nn.Linear(2, 1)
    optimizer = SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", growth_interval=3)
    for _ in range(180):
        optimizer.zero_grad()
        scaler.scale(model(torch.rand(3, 2)).sum()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def a_new_model_each_time() -> None:
    for _ in range(30):
        Plain().run(8)


def closures() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x = torch.rand(3, 2)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(x).pow(2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    for _ in range(80):
        optimizer.step(closure)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "every",
    [pytest.param(2, marks=pytest.mark.slow), 3, pytest.param(EVERY, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "training",
    [
        accumulation,
        two_nets,
        windows_of_different_length,
        by_hand,
        cleared_by_hand,
        cleared_at_the_top,
        scaled,
        a_new_model_each_time,
        closures,
    ],
)
def test_there_is_no_false_alarm_in(training: Callable[[], None], every: int) -> None:
    backwards = 0

    def hear(event: Event, findings: object) -> None:
        nonlocal backwards
        backwards += isinstance(event, Backward)

    with gradledger.audit(sample=every) as book:
        book.journal.heard.append(hear)
        training()
    assert rules(book) == []
    assert book.verdict("a test").trouble == ""
    assert backwards > FIRST // 2


def frames_of_ours(train: Callable[[], object]) -> int:
    """How many functions of the auditor's are called meanwhile, but for those round `.grad`, which
    are there because some test mentions one."""
    called = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal called
        path = frame.f_code.co_filename
        called += event == "call" and "gradledger/runtime" in path and "manual_edits" not in path

    sys.setprofile(count)
    try:
        train()
    finally:
        sys.setprofile(None)
    return called


def test_between_two_samples_each_watched_call_costs_one_frame_and_the_step_three() -> None:
    plain = Plain()
    with gradledger.audit(sample=1000):
        plain.run(FIRST)
        # backward and zero_grad; before and behind the step, and the counter
        assert frames_of_ours(lambda: plain.run(1)) == 5


def test_a_norm_inside_of_torchs_own_clip_is_not_watched_a_second_time() -> None:
    plain = Plain()
    with gradledger.audit(sample=1000):
        plain.run(FIRST)
        plain.model(torch.ones(1, 2)).sum().backward()
        clip, parameters = nn.utils.clip_grad_norm_, list(plain.model.parameters())
        clip(parameters, 1.0)  # whose code uses `.grad` there is known from now on
        assert frames_of_ours(lambda: clip(parameters, 1.0)) == 1
