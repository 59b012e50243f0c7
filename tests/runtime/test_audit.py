"""`with gradledger.audit() as book:` inside code, tests and notebooks."""

from __future__ import annotations

import gc
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

import gradledger
from gradledger.errors import LawBroken, OptionError
from gradledger.ledger.events import Backward, RunEnd, Step
from gradledger.ledger.findings import Finding
from gradledger.recording import Recording
from gradledger.report import render
from gradledger.runtime.audit import Audit
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.gradients.clears import Clears
from gradledger.runtime.optimizers.optimizers import Optimizers


class Loop:
    """A small training; each turn may leave out what it ought to do."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.ones(3))
        self.optimizer = SGD([self.w], lr=0.01)

    def run(self, turns: int, *, clears: bool = True) -> list[float]:
        return [self.turn(clears=clears) for _ in range(turns)]

    def turn(self, *, clears: bool) -> float:
        if clears:
            self.optimizer.zero_grad()
        loss = (self.w * torch.rand(3)).pow(2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()  # here
        return loss.item()


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith(text))


HERE = line_of("# here")


def rules(book: Audit) -> list[str]:
    return [finding.rule for finding in book.findings]


# Findings ------------------------------------------------------------------------------------


def test_the_book_has_what_broke_a_law_and_nothing_else() -> None:
    with gradledger.audit() as book:
        Loop().run(5)
    assert book.findings == ()
    with gradledger.audit() as book:
        Loop().run(5, clears=False)
    (finding,) = book.findings
    assert (finding.rule, finding.at.path, finding.at.line) == ("GL101", __file__, HERE)
    assert finding.count == 4
    assert (book.tally.backwards, book.tally.steps) == (5, 5)


def test_findings_can_be_asked_for_while_it_runs() -> None:
    loop = Loop()
    with gradledger.audit() as book:
        loop.run(2)
        assert book.findings == ()
        loop.run(2, clears=False)
        assert rules(book) == ["GL101"]


def test_what_happens_outside_is_nobodys_business() -> None:
    loop = Loop()
    loop.run(3, clears=False)
    loop.optimizer.zero_grad()
    with gradledger.audit() as book:
        loop.run(1)
    loop.run(3, clears=False)
    assert book.findings == ()
    assert book.tally.steps == 1


def test_the_worst_comes_first() -> None:
    with gradledger.audit() as book:
        loop = Loop()
        loop.optimizer.step()
        loop.run(3, clears=False)
    assert rules(book) == ["GL101", "GL202"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"raise_on": "info"}, "raise_on must be 'error' or 'warning', got 'info'"),
        ({"sample": 0}, "sample must be at least 1, got 0"),
    ],
)
def test_an_option_that_can_not_be_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(OptionError, match=why):
        gradledger.audit(**options)


# Raising -------------------------------------------------------------------------------------


def test_the_line_that_breaks_a_law_raises_there_and_then() -> None:
    loop = Loop()
    with pytest.raises(LawBroken, match="GL101 spent-gradient-reused") as caught:  # noqa: SIM117
        with gradledger.audit(raise_on="error") as book:
            loop.run(5, clears=False)
    mine = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__]
    assert mine[-1].lineno == HERE
    assert book.tally.steps == 2
    finding = caught.value.finding
    assert isinstance(finding, Finding)
    assert [evidence.what for evidence in finding.evidence] == ["deposited", "spent", "cleared"]
    assert finding.places >= {finding.at}
    assert rules(book) == ["GL101"]


@pytest.mark.parametrize(("raise_on", "raises"), [("error", False), ("warning", True)])
def test_only_what_is_bad_enough_raises(raise_on: Any, raises: bool) -> None:
    loop = Loop()
    raised = False
    try:
        with gradledger.audit(raise_on=raise_on) as book:
            loop.optimizer.step()
    except LawBroken:
        raised = True
    assert raised is raises
    assert rules(book) == ["GL202"]


def test_who_catches_it_can_go_on_training() -> None:
    loop = Loop()
    with gradledger.audit(raise_on="error") as book:
        loop.run(1, clears=False)
        with pytest.raises(LawBroken):
            loop.run(1, clears=False)
        loop.run(3)
    assert book.tally.steps == 5
    assert rules(book) == ["GL101"]


def test_what_breaks_a_law_at_the_very_end_does_not_hide_how_the_program_ended() -> None:
    def deposits_and_fails() -> None:
        Loop().w.sum().backward()  # type: ignore[no-untyped-call]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), gradledger.audit(raise_on="warning"):
        deposits_and_fails()


# Recording -----------------------------------------------------------------------------------


def test_a_recording_has_the_same_findings_and_the_end(tmp_path: Path) -> None:
    with gradledger.audit(record=tmp_path / "run.gradledger") as book:
        Loop().run(6, clears=False)
    with Recording(tmp_path / "run.gradledger") as recording:
        assert recording.ended
        kinds = [type(recorded.event) for recorded in recording.events()]
        assert (kinds.count(Backward), kinds.count(Step), kinds[-1]) == (6, 6, RunEnd)
        kept = [(noted.finding.rule, noted.finding.at) for noted in recording.findings()]
        assert kept == [(finding.rule, finding.at) for finding in book.findings]
        assert recording.findings()[0].finding.count == book.findings[0].count == 5
        assert recording.sources()[__file__] == Path(__file__).read_text(encoding="utf-8")


def test_a_recording_of_a_crash_says_so(tmp_path: Path) -> None:
    def trains_and_fails() -> None:
        Loop().run(2)
        raise KeyError

    with pytest.raises(KeyError), gradledger.audit(record=tmp_path / "run.gradledger"):
        trains_and_fails()
    with Recording(tmp_path / "run.gradledger") as recording:
        (end,) = recording.events(RunEnd)
        assert isinstance(end.event, RunEnd)
        assert end.event.crashed


# Our own bugs --------------------------------------------------------------------------------


def broken(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("a bug of ours")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Backwards, "_prepare"),
        (Backwards, "_tell"),
        (Optimizers, "_begun"),
        (Optimizers, "write"),
        (Clears, "_tell"),
    ],
)
def test_a_bug_of_ours_ends_the_audit_and_never_the_program(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Loop().run(6)
    with gradledger.audit() as book:
        loop = Loop()
        with monkeypatch.context() as patched:
            assert hasattr(owner, name)
            patched.setattr(owner, name, broken)
            losses = loop.run(3)
        losses += loop.run(3, clears=True)
    assert losses == plain
    verdict = book.verdict("a test")
    assert verdict.findings == ()
    assert "gradledger has a bug, ZeroDivisionError('a bug of ours')" in verdict.trouble
    assert "test_audit.py:" in verdict.trouble


def test_a_bug_in_a_rule_is_ours_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with gradledger.audit() as book:
        monkeypatch.setattr(book._book, "post", broken)
        Loop().run(3)
    assert "ZeroDivisionError" in book.verdict("a test").trouble


def test_the_verdict_tells_of_a_bug_in_text_and_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with gradledger.audit() as book:
        loop = Loop()
        loop.run(3)
        monkeypatch.setattr(Backwards, "_tell", broken)
        loop.run(3)
    verdict = book.verdict("train.py")
    text, machine = StringIO(), StringIO()
    render(verdict, stream=text)
    render(verdict, "json", stream=machine)
    assert text.getvalue().startswith("No fault found in what was seen: 3 deposits, 3 spent.")
    assert "Not all was audited: gradledger has a bug" in text.getvalue()
    assert json.loads(machine.getvalue())["stats"]["trouble"] == verdict.trouble


def test_our_memory_running_out_is_no_reason_to_end_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_memory(*_: object, **__: object) -> Any:
        raise MemoryError

    with gradledger.audit() as book:
        loop = Loop()
        monkeypatch.setattr(Backwards, "_tell", no_memory)
        loop.run(2)
    assert "MemoryError" in book.verdict("a test").trouble


# Long runs -----------------------------------------------------------------------------------


def test_graphs_that_begin_to_pile_up_late_are_found() -> None:
    loop = Loop()
    total = torch.zeros(())
    with gradledger.audit() as book:
        for turn in range(200):
            loop.optimizer.zero_grad()
            loss = (loop.w * torch.rand(3)).pow(2).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            loop.optimizer.step()
            total = total + (loss if turn > 150 else loss.detach())
    assert rules(book) == ["GL701"]


def listened_to(*, measures: bool) -> Audit:
    book = gradledger.audit()
    if measures:
        book.measured.append(lambda _: None)
    return book


def ours(book: Audit) -> int:
    """How many objects the audit holds, of whatever kind, program and modules left out."""
    seen: set[int] = set()
    waiting: list[object] = [book.journal, book]
    for callback in gc.get_referents(book._patches):
        waiting.append(callback)
    while waiting:
        held = waiting.pop()
        if id(held) in seen or isinstance(held, (type, type(sys), torch.Tensor, Loop)):
            continue
        if isinstance(held, Callable) and not hasattr(held, "__self__"):  # type: ignore[arg-type]
            continue
        seen.add(id(held))
        waiting += gc.get_referents(held)
    return len(seen)


def sizes(book: Audit, turn: Callable[[], object], marks: tuple[int, ...]) -> Iterator[int]:
    done = 0
    for mark in marks:
        for _ in range(mark - done):
            turn()
        done = mark
        gc.collect()
        yield ours(book)


@pytest.mark.parametrize("measures", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_it_holds_does_not_grow_with_the_steps(measures: bool) -> None:
    with listened_to(measures=measures) as book:
        loop = Loop()
        few, many = sizes(book, lambda: loop.run(1), (300, 3000))
    assert book.tally.steps == 3000
    assert many <= few + 50


@pytest.mark.slow  # thousands of steps
def test_what_it_holds_does_not_grow_with_the_steps_that_break_a_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A page with one more deposit is another page, and of so many, what came of them is remembered.
    monkeypatch.setattr("gradledger.ledger.book.MOST", 100)
    with gradledger.audit() as book:
        loop = Loop()
        few, many = sizes(book, lambda: loop.run(1, clears=False), (600, 1500))
    assert book.tally.steps == 1500
    assert many <= few + 30_000  # to keep all pages would be twice as much


def test_a_finding_of_thousands_of_steps_is_no_larger_than_one_of_ten() -> None:
    said = []
    for turns in (10, 1_000):
        with gradledger.audit() as book:
            Loop().run(turns, clears=False)
        assert (len(book.findings), book.findings[0].count) == (1, turns - 1)
        text = StringIO()
        render(book.verdict("train.py"), stream=text)
        said.append(text.getvalue())
    assert said[0].count("\n") == said[1].count("\n")


@pytest.mark.parametrize("measures", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_it_holds_does_not_grow_with_models_and_optimizers_that_go(measures: bool) -> None:
    def turn() -> None:
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        optimizer = SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        model(torch.ones(1, 2)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        schedule.step()

    with listened_to(measures=measures) as book:
        few, many = sizes(book, turn, (100, 500))
    assert book.findings == ()
    assert book.tally.steps == 500
    assert many <= few + 50


def test_who_comes_after_a_dead_parameter_does_not_inherit_its_owner() -> None:
    with gradledger.audit() as book:
        Loop().run(2)
        gc.collect()
        w = torch.ones(3, requires_grad=True)
        for _ in range(2):
            torch.autograd.backward((w * w).sum())
            assert w.grad is not None
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
    assert (book.tally.steps, book.tally.spent, book.tally.wasted) == (4, 4, 0)
    assert book.findings == ()
