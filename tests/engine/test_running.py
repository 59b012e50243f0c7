"""`run`: batches that do not fit into memory, and optimizers that evaluate the loss themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import LBFGS, SGD, AdamW

from gradledger import LossError, MisuseError, OptionError, Stepper, StepperWarning
from tests.engine.loops import (
    Batch,
    assert_same_model,
    big_batches,
    micro_batches,
    mse,
    net,
    windows,
)

OutOfMemory = Callable[[], Exception]
KINDS: dict[str, OutOfMemory] = {
    "device": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    "machine": lambda: RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"),
    "python": MemoryError,
}


class Small:
    """A machine that holds so many rows at once, in forward or only in backward."""

    def __init__(self, model: nn.Module, rows: int, where: str, error: OutOfMemory) -> None:
        self.model = model
        self.rows = rows
        self.where = where
        self.error = error
        self.asked: list[int] = []

    def loss(self, batch: Batch) -> Tensor:
        self.asked.append(len(batch[0]))
        fits = len(batch[0]) <= self.rows
        if not fits and self.where == "forward":
            raise self.error()
        loss = mse(self.model, batch)
        if not fits:
            first = next(iter(self.model.parameters()))
            self._handle = first.register_hook(self._fail)  # type: ignore[no-untyped-call]
        return loss

    def _fail(self, grad: Tensor) -> None:
        self._handle.remove()
        raise self.error()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("pack", [True, False])
def test_a_batch_that_does_not_fit_gives_the_update_of_the_whole(
    kind: str, where: str, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(13, 8, 2, 5, 13)
    machine = Small(ours, 4, where, KINDS[kind])
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.1), accumulate=2, clip_norm=0.1, pack=pack)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for batch in stepper.over(data):
            whole = mse(ours, batch).item()
            assert stepper.run(batch, machine.loss).item() == pytest.approx(whole, rel=1e-12)
    (once,) = told
    assert "Out of memory with 13 rows: going on with pieces of 4." in str(once.message)
    assert once.category is StepperWarning
    assert once.filename == __file__
    big_batches(theirs, AdamW(theirs.parameters(), 0.1), windows(data, 2), clip_norm=0.1)
    assert_same_model(ours, theirs)
    assert stepper.updates == 3
    # 13 and 7 were too much; from then on nothing larger than 4 was tried.
    assert machine.asked[:3] == [13, 7, 4]
    assert max(machine.asked[2:]) == 4


def test_the_size_that_fits_is_remembered_in_a_checkpoint() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    machine = Small(model, 4, "forward", KINDS["device"])
    with pytest.warns(StepperWarning):
        stepper.run(micro_batches(8)[0], machine.loss)
    again = Stepper(model, SGD(model.parameters(), 0.1))
    again.load_state_dict(stepper.state_dict())
    machine.asked.clear()
    again.run(micro_batches(8)[0], machine.loss)
    assert machine.asked == [4, 4]


def test_one_row_that_does_not_fit_is_an_error_and_leaves_nothing() -> None:
    model, before = net(), net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    machine = Small(model, 0, "backward", KINDS["device"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)
        for batch in stepper.over(micro_batches(4)):
            with pytest.raises(torch.OutOfMemoryError):
                stepper.run(batch, machine.loss)
    assert_same_model(model, before, exact=True)
    assert all(p.grad is None for p in model.parameters())
    assert stepper.updates == 0


def test_other_errors_are_not_taken_for_memory() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))

    def broken(batch: Batch) -> Tensor:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        stepper.run(micro_batches(4)[0], broken)


def test_pieces_with_unequal_valid_tokens_weigh_what_the_function_says() -> None:
    ours, theirs = net(), net()
    (x, y), *_ = micro_batches(9)
    valid = torch.tensor([1.0, 1, 1, 1, 0, 0, 0, 1, 1], dtype=x.dtype)

    def masked(model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        x, y, valid = batch
        rows = (model(x) - y).square().mean(1)
        return (rows * valid).sum() / valid.sum(), valid.sum()

    limit = Small(ours, 5, "forward", KINDS["device"])

    def loss_fn(batch: Any) -> tuple[Tensor, Tensor]:
        limit.loss(batch[:2])
        return masked(ours, batch)

    stepper = Stepper(ours, SGD(ours.parameters(), 0.1))
    with pytest.warns(StepperWarning):
        stepper.run((x, y, valid), loss_fn)
    optimizer = SGD(theirs.parameters(), 0.1)
    masked(theirs, (x, y, valid))[0].backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert_same_model(ours, theirs)


def test_items_that_are_not_rows_can_not_be_shared_out() -> None:
    model = net()
    machine = Small(model, 4, "forward", KINDS["device"])
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    with pytest.raises(LossError, match=r"items=30 is not its number of rows \(8\)"):
        stepper.run(micro_batches(8)[0], machine.loss, items=30)


def test_a_batch_of_unknown_rows_that_does_not_fit_raises_what_happened() -> None:
    model = net()
    machine = Small(model, 4, "forward", KINDS["device"])
    (x, y), *_ = micro_batches(8)
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    with pytest.raises(torch.OutOfMemoryError):
        stepper.run(
            {"x": x, "y": y, "odd": torch.zeros(3)}, lambda b: machine.loss((b["x"], b["y"]))
        )


def test_run_and_backward_can_take_turns() -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 2, 3, 4)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=4)
    for i, batch in enumerate(stepper.over(data)):
        if i % 2:
            stepper.run(batch, lambda b: mse(ours, b))
        else:
            stepper.backward(mse(ours, batch), items=len(batch[0]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 4))
    assert_same_model(ours, theirs)


# Optimizers that evaluate -------------------------------------------------------------------


def whole(model: nn.Module, batches: list[Batch]) -> Tensor:
    x, y = (torch.cat(column) for column in zip(*batches, strict=True))
    return mse(model, (x, y))


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("clip_norm", [None, 0.05])
def test_lbfgs_sees_the_window_as_one_batch(search: str | None, clip_norm: float | None) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 4, 2)
    a = LBFGS(ours.parameters(), 0.5, max_iter=5, line_search_fn=search)
    b = LBFGS(theirs.parameters(), 0.5, max_iter=5, line_search_fn=search)
    stepper = Stepper(ours, a, accumulate=3, clip_norm=clip_norm)
    for batch in stepper.over(data):
        before = mse(ours, batch).item()
        assert stepper.run(batch, lambda b: mse(ours, b)).item() == before
    for window in windows(data, 3):

        def closure(window: list[Batch] = window) -> Tensor:
            b.zero_grad()
            loss = whole(theirs, window)
            loss.backward()  # type: ignore[no-untyped-call]
            if clip_norm is not None:
                nn.utils.clip_grad_norm_(theirs.parameters(), clip_norm)
            return loss

        b.step(closure)  # type: ignore[no-untyped-call]
    assert_same_model(ours, theirs, tolerance=1e-9)
    assert stepper.updates == 2


def test_lbfgs_can_not_be_driven_by_backward() -> None:
    model = net()
    stepper = Stepper(model, LBFGS(model.parameters()))
    with pytest.raises(MisuseError, match=r"stepper\.run\(batch, loss_fn\)"):
        stepper.backward(mse(model, micro_batches(4)[0]))


def test_lbfgs_has_no_scaler_and_no_company() -> None:
    model = net()
    first, *others = model.parameters()
    with pytest.raises(OptionError, match="GradScaler"):
        Stepper(model, LBFGS(model.parameters()), scaler=torch.amp.GradScaler("cpu"))
    with pytest.raises(OptionError, match="one of several"):
        Stepper(model, [LBFGS([first]), SGD(others, 0.1)])


@pytest.mark.parametrize("moment", [1, 3])
def test_a_closure_that_fails_leaves_weights_and_history_as_they_were(moment: int) -> None:
    model = net()
    optimizer = LBFGS(model.parameters(), 0.5, max_iter=6)
    stepper = Stepper(model, optimizer)
    data = micro_batches(6, 6)
    stepper.run(data[0], lambda b: mse(model, b))
    weights = [p.detach().clone() for p in model.parameters()]
    calls = 0

    def failing(batch: Batch) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == moment:
            raise ValueError("a bad batch")
        return mse(model, batch)

    with pytest.raises(ValueError, match="a bad batch"):
        stepper.run(data[1], failing)
    assert all(map(torch.equal, weights, model.parameters()))
    assert all(p.grad is None for p in model.parameters())
    assert stepper.updates == 1
    other = net()
    plain = Stepper(other, LBFGS(other.parameters(), 0.5, max_iter=6))
    for batch in data:
        plain.run(batch, lambda b: mse(other, b))
    stepper.run(data[1], lambda b: mse(model, b))
    assert_same_model(model, other, exact=True)


def test_steps_that_lead_nowhere_finite_are_taken_back() -> None:
    model = net()
    stepper = Stepper(model, LBFGS(model.parameters(), 1e300, max_iter=3))
    weights = [p.detach().clone() for p in model.parameters()]
    with pytest.warns(StepperWarning, match="the parameters after the step"):
        stepper.run(micro_batches(6)[0], lambda b: mse(model, b))
    assert all(map(torch.equal, weights, model.parameters()))
    assert (stepper.updates, stepper.skipped) == (0, 1)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_piece_that_fails_takes_the_other_pieces_of_its_micro_batch_with_it(
    pack: bool, accumulate: int
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(8, 8, 8, 8, 8, 8)
    machine = Small(ours, 3, "forward", KINDS["device"])
    bad = data[3][0][7, 0]

    def loss(batch: Batch) -> Tensor:
        if (batch[0] == bad).any() and len(batch[0]) <= 3:
            raise ValueError("bad row")
        return machine.loss(batch)

    stepper = Stepper(ours, AdamW(ours.parameters(), 0.1), accumulate=accumulate, pack=pack)
    failed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)
        for batch in stepper.over(data):
            try:
                stepper.run(batch, loss)
            except ValueError:
                failed += 1
    left = [[b for b in w if b is not data[3]] for w in windows(data, accumulate)]
    big_batches(theirs, AdamW(theirs.parameters(), 0.1), left)
    assert_same_model(ours, theirs)
    assert (failed, stepper.dropped) == (1, 0)
    assert stepper.updates == sum(map(bool, left))


@pytest.mark.parametrize("way", ["run", "backward"])
def test_memory_that_runs_out_while_adding_up_is_told(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4, 4)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2)
    told: list[str] = []
    for i, batch in enumerate(stepper.over(data)):
        with monkeypatch.context() as patch:
            if i == 1:
                patch.setattr(torch, "_foreach_add_", _runs_out)
            try:
                if way == "run":
                    stepper.run(batch, lambda batch: mse(ours, batch))
                else:
                    stepper.backward(mse(ours, batch), items=4)
            except torch.OutOfMemoryError as error:
                told += getattr(error, "__notes__", ["the whole window is dropped"])
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [data[2:]])
    assert_same_model(ours, theirs)
    assert "the whole window is dropped" in " ".join(told)
    assert (stepper.updates, stepper.dropped) == (1, 1)


def test_memory_that_runs_out_before_anything_was_added_costs_one_micro_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3)
    for i, (x, y) in enumerate(stepper.over(data)):
        # The last layer gets its first deposit in the second micro-batch, and needs memory for it.
        loss = ours[0](x).square().mean() if i == 0 else mse(ours, (x, y))
        with monkeypatch.context() as patch:
            if i == 1:
                patch.setattr(Tensor, "clone", _runs_out)
                with pytest.raises(torch.OutOfMemoryError):
                    stepper.backward(loss, items=4)
            else:
                stepper.backward(loss, items=4)
    optimizer = SGD(theirs.parameters(), 0.1)
    torch.autograd.backward(theirs[0](data[0][0]).square().mean() / 2)
    torch.autograd.backward(mse(theirs, data[2]) / 2)
    optimizer.step()
    assert_same_model(ours, theirs)
    assert (stepper.updates, stepper.dropped) == (1, 0)


def _runs_out(*args: Any, **kwargs: Any) -> Any:
    raise torch.OutOfMemoryError("CUDA out of memory")
