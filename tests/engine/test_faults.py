"""An exception that the user catches leaves no leak and no torn gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, SparseAdam
from torch.utils.data import DataLoader, Dataset

from gradledger import Stepper
from gradledger.errors import TornUpdateError

from .loops import (
    Batch,
    Boom,
    Layers,
    MakeOptimizer,
    assert_same,
    assert_same_model,
    big_batches,
    failing_in_backward,
    micro_batches,
    mse,
    net,
    unchanged,
    windows,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])
SIZES = (4, 1, 3, 2, 6, 5, 2, 3)
MAKERS: list[MakeOptimizer] = [
    lambda ps: SGD(ps, 0.1, momentum=0.9, weight_decay=0.1),
    lambda ps: AdamW(ps, 0.01, eps=1e-3),
]


def fail_in_forward(model: Layers, batch: Batch) -> Tensor:
    model[0](batch[0])
    raise Boom


def fail_in_backward(model: Layers, batch: Batch) -> Tensor:
    return failing_in_backward(model, batch, Boom())


def fail_at_the_interrupt(model: Layers, batch: Batch) -> Tensor:
    return failing_in_backward(model, batch, KeyboardInterrupt())


Failing: TypeAlias = Callable[[Layers, Batch], Tensor]
FAILURES: list[Failing] = [fail_in_forward, fail_in_backward, fail_at_the_interrupt]
HOW = pytest.mark.parametrize("failing", FAILURES)


def train(
    stepper: Stepper, model: Layers, data: list[Batch], bad: set[int], failing: Failing
) -> list[bool]:
    told = []
    for i, batch in enumerate(stepper.over(data)):
        try:
            loss = failing(model, batch) if i in bad else mse(model, batch)
            told.append(stepper.backward(loss, items=len(batch[1])))
        except (Boom, KeyboardInterrupt):
            continue
    return told


def without(data: list[Batch], bad: set[int], size: int) -> list[list[Batch]]:
    """The windows, by position, without those micro-batches."""
    numbered = windows(data, size)
    return [
        [batch for j, batch in enumerate(window) if i * size + j not in bad]
        for i, window in enumerate(numbered)
    ]


def test_this_backward_tears_the_gradients_of_plain_torch() -> None:
    model = net()
    with pytest.raises(Boom):
        torch.autograd.backward(fail_in_backward(model, micro_batches(4)[0]))
    assert model[2].weight.grad is not None
    assert model[0].weight.grad is None


@PACK
@HOW
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "bad",
    [{0}, {1}, {2}, {3}, {5}, {6}, {7}, {0, 1}, {1, 2}, {2, 3}, {0, 1, 2}, {3, 4, 5}, {6, 7}],
    ids=str,
)
def test_the_window_goes_on_without_what_failed(
    bad: set[int], make: MakeOptimizer, failing: Failing, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    a, b = make(ours.parameters()), make(theirs.parameters())
    stepper = Stepper(ours, a, accumulate=3, pack=pack)
    told = train(stepper, ours, data, bad, failing)
    expected = without(data, bad, 3)
    big_batches(theirs, b, expected)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())
    assert stepper.updates == sum(1 for window in expected if window)
    assert stepper.dropped == 0
    assert len(told) == len(data) - len(bad)
    assert all(p.grad is None for p in ours.parameters())


@PACK
@HOW
@pytest.mark.parametrize("bad", [{0}, {1}, {2}, {4}, {6}, {7}, {0, 1}, {2, 3}, {3, 4, 5}], ids=str)
def test_the_window_is_dropped_whole_when_told_so(
    bad: set[int], failing: Failing, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    a, b = MAKERS[0](ours.parameters()), MAKERS[0](theirs.parameters())
    stepper = Stepper(ours, a, accumulate=3, pack=pack, on_fault="drop")
    train(stepper, ours, data, bad, failing)
    kept = [w for i, w in enumerate(windows(data, 3)) if not bad & {3 * i, 3 * i + 1, 3 * i + 2}]
    big_batches(theirs, b, kept)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())
    assert (stepper.updates, stepper.dropped) == (len(kept), 3 - len(kept))
    assert stepper.micro_batches == 0


@PACK
def test_the_rest_of_a_dropped_window_is_not_deposited(pack: bool) -> None:
    model = net()
    data = micro_batches(2, 2, 2, 2, 2, 2)
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=3, pack=pack, on_fault="drop")
    with unchanged(model, optimizer):
        told = train(stepper, model, data[:3], {0}, fail_in_backward)
    assert told == [False, False]
    assert train(stepper, model, data[3:], set(), fail_in_backward) == [False, False, True]


@PACK
@HOW
def test_windows_of_one_go_on_with_the_next(failing: Failing, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, MAKERS[1](ours.parameters()), pack=pack)
    train(stepper, ours, data, {0, 3, 7}, failing)
    big_batches(theirs, MAKERS[1](theirs.parameters()), without(data, {0, 3, 7}, 1))
    assert_same_model(ours, theirs)


@PACK
@pytest.mark.parametrize("on_fault", ["continue", "drop"])
def test_a_micro_batch_tried_again_is_whole(on_fault: str, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    optimizer = SGD(ours.parameters(), 0.1)
    if on_fault == "continue":
        stepper = Stepper(ours, optimizer, accumulate=3, pack=pack, on_fault="continue")
    else:
        stepper = Stepper(ours, optimizer, accumulate=3, pack=pack, on_fault="drop")
    for i, batch in enumerate(stepper.over(data)):
        for attempt in range(2):
            failing = attempt == 0 and i in {0, 2, 4}
            try:
                loss = fail_in_backward(ours, batch) if failing else mse(ours, batch)
                stepper.backward(loss, items=len(batch[1]))
                break
            except Boom:
                pass
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 3))
    assert_same_model(ours, theirs)
    assert stepper.dropped == 0


@PACK
@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_micro_batch_whose_second_loss_fails_is_left_out_with_its_first(
    where: str, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    bad = {0, 4, 7}
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    for i, batch in enumerate(stepper.over(data)):
        n = len(batch[1])
        stepper.backward(mse(ours, batch), items=n, more=True)
        try:
            if i in bad and where == "forward":
                raise Boom
            second = fail_in_backward(ours, batch) if i in bad else ours(batch[0]).exp().mean()
            stepper.backward(second, items=n)
        except Boom:
            continue

    def total(model: nn.Module, batch: Batch) -> Tensor:
        loss: Tensor = mse(model, batch) + model(batch[0]).exp().mean()
        return loss

    big_batches(theirs, SGD(theirs.parameters(), 0.1), without(data, bad, 3), loss=total)
    assert_same_model(ours, theirs)


@PACK
@HOW
def test_an_exception_that_leaves_the_loop_leaves_the_window_open(
    failing: Failing, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)

    def loop() -> None:
        for i, batch in enumerate(stepper.over(data)):
            loss = failing(ours, batch) if i == 5 else mse(ours, batch)
            stepper.backward(loss, items=len(batch[1]))

    with pytest.raises((Boom, KeyboardInterrupt)):
        loop()
    assert stepper.updates == 1
    assert stepper.flush()
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[:3], data[3:5]])
    assert_same_model(ours, theirs)


@PACK
def test_an_exception_that_leaves_the_loop_drops_its_window_when_told_so(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack, on_fault="drop")

    def loop() -> None:
        for i, batch in enumerate(stepper.over(data)):
            loss = fail_in_backward(ours, batch) if i == 4 else mse(ours, batch)
            stepper.backward(loss, items=len(batch[1]))

    with pytest.raises(Boom):
        loop()
    train(stepper, ours, data, set(), fail_in_forward)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[:3], *windows(data, 3)])
    assert_same_model(ours, theirs)
    assert stepper.dropped == 1


class Leaky(Dataset[Batch]):
    """Items, some of which can't be read."""

    def __init__(self, data: list[Batch], bad: set[int]) -> None:
        self.data = data
        self.bad = bad

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, i: int) -> Batch:
        if i in self.bad:
            raise Boom
        return self.data[i]


def draw_on(stepper: Stepper, model: nn.Module, loader: DataLoader[Batch]) -> None:
    """A user's loop that goes on drawing when a draw fails, as a DataLoader allows."""
    drawing = iter(stepper.over(loader))
    while True:
        try:
            batch = next(drawing)
        except StopIteration:
            break
        except Boom:
            continue
        stepper.backward(mse(model, batch), items=len(batch[1]))


def plain_loop(stepper: Stepper, model: nn.Module, data: Iterable[Batch]) -> None:
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch), items=len(batch[1]))


BAD_DRAWS = pytest.mark.parametrize("bad", [{0}, {1}, {2}, {5}, {7}, {0, 1, 2}, {2, 3}], ids=str)


@PACK
@BAD_DRAWS
def test_a_draw_that_fails_is_left_out(bad: set[int], pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1, momentum=0.9), accumulate=3, pack=pack)
    draw_on(stepper, ours, DataLoader(Leaky(data, bad), batch_size=None))
    make: MakeOptimizer = lambda ps: SGD(ps, 0.1, momentum=0.9)  # noqa: E731
    big_batches(theirs, make(theirs.parameters()), without(data, bad, 3))
    assert_same_model(ours, theirs)
    assert (stepper.epoch, stepper.dropped) == (1, 0)


@PACK
@BAD_DRAWS
def test_a_draw_that_fails_drops_its_window_when_told_so(bad: set[int], pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack, on_fault="drop")
    draw_on(stepper, ours, DataLoader(Leaky(data, bad), batch_size=None))
    kept = [w for i, w in enumerate(windows(data, 3)) if not bad & {3 * i, 3 * i + 1, 3 * i + 2}]
    big_batches(theirs, SGD(theirs.parameters(), 0.1), kept)
    assert_same_model(ours, theirs)
    assert stepper.dropped == 3 - len(kept)


@PACK
@pytest.mark.parametrize("at", [0, 1, 2, 3, 4])
def test_a_generator_that_fails_leaves_the_window_to_the_next_over(at: int, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)

    def failing() -> Iterator[Batch]:
        yield from data[:at]
        raise Boom

    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    with pytest.raises(Boom):
        plain_loop(stepper, ours, failing())
    assert stepper.epoch == 0
    plain_loop(stepper, ours, data)
    expected = [*windows(data[:at], 3), *windows(data, 3)]
    big_batches(theirs, SGD(theirs.parameters(), 0.1), expected)
    assert_same_model(ours, theirs)


@PACK
def test_a_generator_that_fails_drops_its_window_when_told_so(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)

    def failing() -> Iterator[Batch]:
        yield from data[:4]
        raise Boom

    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack, on_fault="drop")
    with pytest.raises(Boom):
        plain_loop(stepper, ours, failing())
    plain_loop(stepper, ours, data)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[:3], *windows(data, 3)])
    assert_same_model(ours, theirs)
    assert stepper.dropped == 1


@PACK
def test_without_over_a_backward_that_fails_leaves_nothing_behind(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=100, pack=pack)
    for i, batch in enumerate(data):
        try:
            loss = fail_in_backward(ours, batch) if i in {0, 2, 7} else mse(ours, batch)
            stepper.backward(loss, items=len(batch[1]))
        except Boom:
            continue
    assert stepper.flush()
    big_batches(theirs, SGD(theirs.parameters(), 0.1), without(data, {0, 2, 7}, 100))
    assert_same_model(ours, theirs)


@PACK
def test_a_skipped_draw_is_a_micro_batch_without_a_deposit(pack: bool) -> None:
    """Whoever writes `continue` left the micro-batch out, which is no fault of the window's."""
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    for i, batch in enumerate(stepper.over(data)):
        if i in {1, 5}:
            continue
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), without(data, {1, 5}, 3))
    assert_same_model(ours, theirs)


@PACK
def test_an_update_that_fails_does_not_spend_the_window_twice(pack: bool) -> None:
    """The user's own step hook raises: what was deposited is not deposited again."""
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4, 4)
    a = SGD(ours.parameters(), 0.1)

    def fail(*_: object) -> None:
        raise Boom

    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    handle = a.register_step_pre_hook(fail)
    stepper.backward(mse(ours, data[0]), items=4)
    with pytest.raises(Boom):
        stepper.backward(mse(ours, data[1]), items=4)
    handle.remove()
    assert_same_model(ours, theirs, exact=True)
    stepper.drop()
    for batch in data[2:]:
        stepper.backward(mse(ours, batch), items=4)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[2:]])
    assert_same_model(ours, theirs)
    assert stepper.updates == 1
    assert all(p.grad is None for p in ours.parameters())


@PACK
def test_a_fault_under_a_scaler_leaves_nothing_behind(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*SIZES)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    stepper = Stepper(
        ours, SGD(ours.parameters(), 0.1), accumulate=3, clip_norm=0.1, scaler=scaler, pack=pack
    )
    train(stepper, ours, data, {0, 4, 5}, fail_in_backward)
    expected = without(data, {0, 4, 5}, 3)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), expected, clip_norm=0.1)
    assert_same_model(ours, theirs)


@PACK
def test_without_over_a_micro_batch_that_failed_is_followed_by_the_next(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4, 4)
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.1), accumulate=2, pack=pack)
    for i, batch in enumerate(data):
        stepper.backward(mse(ours, batch) / 2, items=4, more=True)
        if i == 2:
            with pytest.raises(Boom):
                stepper.backward(failing_in_backward(ours, batch, Boom()), items=4)
        else:
            stepper.backward(mse(ours, batch) / 2, items=4)
    big_batches(theirs, AdamW(theirs.parameters(), 0.1), [data[:2], data[3:]])
    assert_same_model(ours, theirs)
    assert stepper.updates == 2


class _Choosy(SGD):
    """Refuses, when told to, after it has moved its first parameter."""

    refuses = False

    def step(self, closure: Any = None) -> Any:
        if self.refuses:
            self.param_groups[0]["params"][0].data.add_(1.0)
            raise Boom
        return super().step(closure)


def test_optimizers_of_which_one_refuses_its_first_step_are_all_as_they_were() -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4)
    first, second = AdamW(ours[0].parameters(), 0.1), _Choosy(ours[2].parameters(), 0.1)
    stepper = Stepper(ours, [first, second])
    second.refuses = True
    with unchanged(ours, first, second), pytest.raises(Boom):
        stepper.backward(mse(ours, data[0]), items=4)
    second.refuses = False
    others = AdamW(theirs[0].parameters(), 0.1), SGD(theirs[2].parameters(), 0.1)
    for batch in data[1:]:
        stepper.backward(mse(ours, batch), items=4)
        torch.autograd.backward(mse(theirs, batch))
        for optimizer in others:
            optimizer.step()
            optimizer.zero_grad()
    assert stepper.updates == 2
    assert_same_model(ours, theirs)


def test_optimizers_of_which_one_refuses_another_kind_of_gradient_are_all_as_they_were() -> None:
    model = nn.ModuleDict({"e": nn.Embedding(9, 4, sparse=True), "l": Layers(nn.Linear(4, 1))})
    embedding: Any = model["e"]
    first, second = AdamW(model["l"].parameters(), 0.1), SparseAdam(embedding.parameters(), 0.1)
    stepper = Stepper(model, [first, second])
    which = torch.tensor([1, 2])
    for _ in range(3):
        stepper.backward(model["l"](embedding(which)).square().mean(), items=2)
    loss = model["l"](embedding.weight).square().mean()
    with unchanged(model, first, second), pytest.raises(RuntimeError, match="dense gradients"):
        stepper.backward(loss, items=2)
    assert stepper.updates == 3
    assert stepper.backward(model["l"](embedding(which)).square().mean(), items=2)


def test_what_can_not_be_undone_is_told() -> None:
    model = net()
    first, second = AdamW(model[0].parameters(), 0.1), _Choosy(model[2].parameters(), 0.1)
    stepper = Stepper(model, [first, second])
    batch, *_ = micro_batches(4)
    stepper.backward(mse(model, batch), items=4)
    second.refuses = True
    with pytest.raises(TornUpdateError, match="_Choosy failed in its step after AdamW had moved"):
        stepper.backward(mse(model, batch), items=4)
    assert stepper.updates == 1
