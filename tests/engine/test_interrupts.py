"""Ctrl-C falls between two updates, wherever it comes from."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import LBFGS, SGD, AdamW
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper, engine

from .loops import assert_equal, assert_same_model, big_batches, micro_batches, mse, net, windows


@pytest.fixture(autouse=True)
def pythons_own_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("pack", [True, False])
def test_an_interrupt_in_a_step_comes_when_all_of_the_update_is_made(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 2, 3, 4)
    optimizer = AdamW(ours.parameters(), 0.1)
    scheduler = StepLR(optimizer, 1, 0.5)
    stepper = Stepper(ours, optimizer, accumulate=2, scheduler=scheduler, pack=pack)
    hook = optimizer.register_step_pre_hook(ctrl_c)
    batches = stepper.over(data)

    def loop() -> None:
        for batch in batches:
            stepper.backward(mse(ours, batch), items=len(batch[1]))

    with pytest.raises(KeyboardInterrupt):
        loop()
    assert (stepper.updates, scheduler.last_epoch, stepper.micro_batches) == (1, 1, 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    hook.remove()
    loop()
    other = AdamW(theirs.parameters(), 0.1)
    plan = StepLR(other, 1, 0.5)
    for window in windows(data, 2):
        big_batches(theirs, other, [window])
        plan.step()
    assert_same_model(ours, theirs)


def test_an_interrupt_in_the_evaluations_of_a_step_takes_it_back() -> None:
    model, before = net(), net()
    stepper = Stepper(model, LBFGS(model.parameters(), max_iter=5))
    calls = 0

    def loss_fn(batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            ctrl_c()
        return mse(model, batch)

    with pytest.raises(KeyboardInterrupt):
        stepper.run(micro_batches(4)[0], loss_fn)
    assert_same_model(model, before, exact=True)
    assert stepper.updates == 0


def test_a_handler_of_the_users_own_is_not_touched() -> None:
    model = net()
    optimizer = AdamW(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer)
    seen: list[Any] = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(stepper.updates))
    optimizer.register_step_pre_hook(ctrl_c)
    stepper.backward(mse(model, micro_batches(4)[0]))
    assert seen == [0]
    assert stepper.updates == 1


def test_other_threads_can_train_too() -> None:
    model = net()
    stepper = Stepper(model, AdamW(model.parameters(), 0.1))
    thread = threading.Thread(
        target=lambda: stepper.backward(mse(model, micro_batches(4)[0])), daemon=True
    )
    thread.start()
    thread.join(timeout=60)
    assert stepper.updates == 1


# At any line ------------------------------------------------------------------------------------

ENGINE = str(Path(engine.__file__).parent)
STRIDE = 89


class Noisy:
    """Data that takes random numbers."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (torch.randn(4, 5) for _ in range(3))


class Training:
    """Two epochs, of windows of two and one, with dropout."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.3), nn.Linear(7, 3))
        optimizer = SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.stepper = Stepper(self.model, optimizer, accumulate=2)

    def go(self) -> None:
        while self.stepper.epoch < 2:
            for x in self.stepper.over(Noisy()):
                self.stepper.backward(self.model(x).square().mean(), items=len(x))

    def outcome(self) -> list[Any]:
        return [self.model.state_dict(), self.stepper.updates, torch.get_rng_state()]


def lines_until_ctrl_c(training: Training, at: int | None) -> int:
    """Trains until the engine has come to so many lines, and says to how many it came."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        code = frame.f_code
        if not code.co_filename.startswith(ENGINE) or code.co_name in ("__enter__", "__exit__"):
            return None
        lines += event == "line"
        if lines == at:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        training.go()
    except KeyboardInterrupt:
        assert at is not None
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("first", [1, *(pytest.param(i, marks=pytest.mark.slow) for i in (30, 60))])
def test_ctrl_c_at_any_line_and_a_save_in_its_handler_loses_nothing_and_trains_nothing_twice(
    first: int, tmp_path: Path
) -> None:
    whole = Training(0)
    lines = lines_until_ctrl_c(whole, None)
    assert lines > 20 * STRIDE
    for at in range(first, lines, STRIDE):
        stopped = Training(0)
        lines_until_ctrl_c(stopped, at)
        stopped.stepper.save(tmp_path / "saved")
        resumed = Training(at + 5)
        resumed.stepper.load(tmp_path / "saved")
        resumed.go()
        assert_equal(resumed.outcome(), whole.outcome(), f"stopped at line {at}: ")
