from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import (
    Optimizer,
    _global_optimizer_post_hooks,
    _global_optimizer_pre_hooks,
)
from torch.utils.data import DataLoader

from gradledger.ledger.events import (
    Backward,
    Batch,
    Clear,
    Clip,
    Declare,
    EpochEnd,
    Own,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Traits,
    Unscale,
    Update,
    Weight,
)
from tests.observer.conftest import ALL, Observe, lines, only, told


def test_five_lines_give_exactly_their_events(loop: Observe) -> None:
    seen = loop("""
        for _ in range(2):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    """)
    declare, own, *_ = seen.events
    assert declare == Declare(declare.at, ALL, Traits(parameter=True))
    assert own == Own(declare.at, "optimizer-1", ALL)
    assert own.at.line == 5
    clear, backward, step = told(seen)[:3]
    assert clear == Clear(clear.at, ALL)
    assert backward == Backward(backward.at, ALL, Weight("mean", 1, 8))
    assert step == Step(step.at, "optimizer-1")
    one_turn = [("Clear", 8), ("Backward", 10), ("Step", 11)]
    assert lines(seen) == [*one_turn, *one_turn, ("RunEnd", 11)]
    assert seen.error is None


def test_an_accumulation_is_told_with_its_batches_and_its_divisor(loop: Observe) -> None:
    seen = loop("""
        from torch.utils.data import DataLoader, TensorDataset
        for i, (a, b) in enumerate(DataLoader(TensorDataset(x, y), batch_size=4)):
            loss = nn.functional.mse_loss(model(a), b) * 0.5
            loss.backward()
        optimizer.step()
    """)
    micro = [("Batch", 8), ("Backward", 10)]
    assert lines(seen) == [*micro, *micro, ("EpochEnd", 8), ("Step", 11), ("RunEnd", 11)]
    weights = [event.weight for event in seen.events if isinstance(event, Backward)]
    assert [(w.reduction, w.divisor, w.items) for w in weights] == [("mean", 2, 4)] * 2
    assert {w.divided_at and w.divided_at.line for w in weights} == {9}
    assert only(seen, EpochEnd).restarts is None
    assert sum(isinstance(event, Batch) for event in seen.events) == 2


def test_an_overflow_is_a_skipped_step(loop: Observe) -> None:
    seen = loop("""
        scaler = torch.amp.GradScaler("cpu")
        for scale in (float("inf"), 1.0):
            optimizer.zero_grad()
            scaler.scale(model(x).mean() * scale).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
    """)
    first, second = told(seen)[1:5], told(seen)[6:10]
    assert isinstance(first[0], Backward)
    assert first[0].scaler == "scaler-1"
    assert first[0].non_finite == ALL
    assert first[1:] == [
        Unscale(first[1].at, "optimizer-1", "scaler-1"),
        Skipped(first[2].at, "optimizer-1", "scaler-1", "overflow"),
        Update(first[3].at, "scaler-1"),
    ]
    assert second[2] == Step(first[2].at, "optimizer-1", scaler="scaler-1")


def test_a_scaler_that_is_not_enabled_is_not_there(loop: Observe) -> None:
    seen = loop("""
        scaler = torch.amp.GradScaler("cpu", enabled=False)
        scaler.scale(model(x).mean()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    """)
    assert lines(seen) == [("Backward", 8), ("Step", 10), ("RunEnd", 11)]
    assert only(seen, Step).scaler is None


def test_a_step_that_torch_refuses_is_told_before_the_crash(loop: Observe) -> None:
    seen = loop("""
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        scaler.step(optimizer)
    """)
    assert lines(seen)[1:] == [("Step", 9), ("Skipped", 10), ("RunEnd", 10)]
    assert only(seen, Skipped).reason == "refused"
    assert only(seen, RunEnd).crashed
    assert isinstance(seen.error, RuntimeError)


def test_each_evaluation_of_a_closure_is_spent_before_the_next(loop: Observe) -> None:
    seen = loop("""
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
        def closure():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)
    """)
    evaluation = [("Clear", 9), ("Backward", 11), ("Step", 13)]
    assert lines(seen)[1:] == [*evaluation * 3, ("RunEnd", 13)]


def test_a_call_over_several_lines_is_at_its_first(loop: Observe) -> None:
    seen = loop("""
        nn.functional.mse_loss(
            model(x),
            y,
        ).backward()
        (
            nn.functional.mse_loss(model(x), y)
            .backward()
        )
        torch.nn.utils.clip_grad_norm_(
            model.parameters(),
            max_norm=float("inf"),
        )
    """)
    assert lines(seen) == [("Backward", 7), ("Backward", 12), ("Clip", 15), ("RunEnd", 18)]
    assert only(seen, Clip).changes is False


def test_only_the_scripts_own_scheduler_steps_count(loop: Observe) -> None:
    seen = loop("""
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        scheduler.step()
    """)
    assert only(seen, Schedule) == Schedule(only(seen, Schedule).at, "scheduler-1", "optimizer-1")


def test_everything_is_as_before_afterwards(loop: Observe) -> None:
    owners: list[Any] = [torch.autograd, torch.nn.utils, Tensor, nn.Module, Optimizer, DataLoader]
    owners += [torch.amp.GradScaler, torch.optim.lr_scheduler.LRScheduler]
    before = [dict(vars(owner)) for owner in owners]
    tracer, threads, random = sys.gettrace(), torch.get_num_threads(), torch.get_rng_state()
    loop("raise SystemExit(3)")
    assert [dict(vars(owner)) for owner in owners] == before
    assert not _global_optimizer_pre_hooks
    assert not _global_optimizer_post_hooks
    assert sys.gettrace() is tracer
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), random)
