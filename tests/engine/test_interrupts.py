"""Ctrl-C falls between two updates, wherever it comes from."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from torch.optim import LBFGS, AdamW
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper

from .loops import assert_same_model, big_batches, micro_batches, mse, net, windows


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
