"""A verdict's numbers are those of the program: passes, steps and parameters, each counted once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import LBFGS, SGD

import gradledger
from gradledger.recording import Recording
from gradledger.report.chronicle import told
from gradledger.report.counts import extent
from gradledger.runtime.audit import Audit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.gradledger"


def extents(book: Audit, path: Path) -> dict[str, str]:
    """How much each finding concerns, by its rule; the recording says the same."""
    verdict = book.verdict("a test")
    found = {finding.rule: extent(finding, verdict) for finding in verdict.findings}
    with Recording(path) as recording:
        again = told(recording).verdict
    assert {finding.rule: extent(finding, again) for finding in again.findings} == found
    assert (again.tally, again.parameters) == (verdict.tally, verdict.parameters)
    return found


def turn(net: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
    net(torch.ones(2, 3)).mean().backward()
    for optimizer in optimizers:
        optimizer.step()


def test_optimizers_that_step_in_hooks_make_no_more_passes(path: Path) -> None:
    net = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4)))
    own = {parameter: SGD([parameter], lr=0.1) for parameter in net.parameters()}

    def step(parameter: torch.Tensor) -> None:
        own[parameter].step()  # type: ignore[index]
        own[parameter].zero_grad()  # type: ignore[index]

    for parameter in own:
        parameter.register_post_accumulate_grad_hook(step)  # type: ignore[no-untyped-call]
    with gradledger.audit(record=path) as book:
        for _ in range(6):
            net(torch.ones(2, 3)).mean().backward(retain_graph=True)
    assert (book.tally.backwards, book.tally.steps, book.tally.entries) == (6, 48, 48)
    assert extents(book, path)["GL703"].endswith("6 of 6 backward passes")


def test_a_step_with_a_closure_is_one_step_however_often_it_evaluates(path: Path) -> None:
    net, x, y = nn.Linear(3, 1), torch.randn(9, 3), torch.randn(9, 1)
    optimizer, evaluations = LBFGS(net.parameters(), max_iter=4), 0

    def closure() -> float:
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    with gradledger.audit(record=path) as book:
        for _ in range(5):
            optimizer.step(closure)  # type: ignore[no-untyped-call]
    assert evaluations > 5
    assert (book.tally.backwards, book.tally.steps) == (evaluations, 5)
    assert extents(book, path) == {}


def test_the_steps_of_one_line_are_those_of_all_optimizers(path: Path) -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizers = [SGD(layer.parameters(), lr=0.1) for layer in net]

    with gradledger.audit(record=path) as book:
        for number in range(5):
            for _ in range(4):
                (net(torch.ones(2, 3)).mean() / 4).backward()
            for optimizer in optimizers:
                optimizer.step()
                if number != 2:
                    optimizer.zero_grad()
    assert (book.tally.backwards, book.tally.steps) == (20, 10)
    assert extents(book, path)["GL101"] == "4 of 4 parameters, 2 of 10 steps"


@pytest.mark.parametrize("folds", [1, 2, 3, 5])
def test_the_parameters_of_nets_that_follow_each_other_are_all_counted(
    path: Path, folds: int
) -> None:
    with gradledger.audit(record=path) as book:
        for _ in range(folds):
            net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1, bias=False))
            optimizer = SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                turn(net, optimizer)
    every = 5 * folds
    assert book.verdict("a test").parameters == every
    reused = extents(book, path)["GL101"]
    assert reused == f"{every} of {every} parameters, {2 * folds} of {3 * folds} steps"


def test_parameters_that_another_optimizer_takes_over_are_counted_once(path: Path) -> None:
    net = nn.Linear(3, 1)
    with gradledger.audit(record=path) as book:
        for _ in range(3):
            optimizer = SGD(net.parameters(), lr=0.1)
            turn(net, optimizer)
            optimizer.zero_grad()
    assert book.verdict("a test").parameters == 2
    assert extents(book, path) == {}


def test_the_zero_that_a_sum_of_losses_begins_with_gets_no_deposit() -> None:
    net = nn.Linear(3, 1)
    optimizer = SGD(net.parameters(), lr=0.1)
    with gradledger.audit() as book:
        for _ in range(4):
            loss = torch.zeros((), requires_grad=True)
            loss = loss + net(torch.ones(2, 3)).mean()
            (loss / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert (book.tally.entries, book.tally.spent, book.tally.wasted) == (8, 8, 0)
    assert book.verdict("a test").parameters == 2
