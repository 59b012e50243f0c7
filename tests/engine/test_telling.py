"""What a Stepper tells is what happened, as others see it; and telling changes nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
import torch
from torch import Tensor, nn, optim
from torch.amp import GradScaler

from gradledger import Stepper
from gradledger.errors import LossError, MisuseError, StepperWarning
from gradledger.ledger.announcing import Role, listening
from gradledger.ledger.events import (
    Backward,
    Batch,
    CellNames,
    Clear,
    Clip,
    EpochEnd,
    Event,
    Schedule,
    Skipped,
    Step,
    Unscale,
    Update,
)
from gradledger.ledger.places import Place

E = TypeVar("E", bound=Event)


class Boom(Exception):
    """The user's code fails."""


class Ear:
    """Hears everything, and names things as the model does."""

    def __init__(self, model: nn.Module) -> None:
        self.heard: list[Event] = []
        self.away = 0
        self._names = {id(p): name for name, p in model.named_parameters()}

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        self.away += 1
        try:
            yield
        finally:
            self.away -= 1

    def here(self) -> Place:
        return Place("program.py", 1)

    def cells(self, parameters: Iterable[object]) -> CellNames:
        return frozenset(self._names[id(p)] for p in parameters)

    def name(self, role: Role, player: object) -> str:
        return role

    def hear(self, event: Event) -> None:
        self.heard.append(event)

    measures = False

    def loss(self, value: object, items: float) -> None:
        pass

    def spends(self, optimizer: object, gradients: Mapping[object, object], factor: float) -> None:
        raise AssertionError("it has not asked for them")

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.heard if isinstance(event, kind)]

    def order(self) -> list[str]:
        return [type(event).__name__ for event in self.heard]


class Branches(nn.Module):
    """A trunk, and two branches of which a batch takes one."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.trunk = nn.Linear(4, 4)
            self.left = nn.Linear(4, 2)
            self.right = nn.Linear(4, 2)

    def forward(self, x: Tensor, way: str) -> Tensor:
        branch = self.left if way == "l" else self.right
        loss: Tensor = branch(self.trunk(x)).square().mean()
        return loss


def inputs(count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(2, 4, generator=generator) for _ in range(count)]


def values(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def moved(model: nn.Module, before: dict[str, Tensor]) -> CellNames:
    now = values(model)
    return frozenset(name for name in before if not torch.equal(before[name], now[name]))


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each backward of torch that ended well."""
    done: list[int] = []
    real = torch.autograd.backward

    def counted(*args: Any, **options: Any) -> None:
        real(*args, **options)
        done.append(1)

    monkeypatch.setattr(torch.autograd, "backward", counted)
    return done


WAYS = ["lll", "lrl", "rrr", "lllllll", "lrrlrlr", "rlllllr"]


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2, 3])
@pytest.mark.parametrize("ways", WAYS)
def test_a_parameter_moves_if_and_only_if_a_step_of_it_is_told(
    ways: str, accumulate: int, pack: bool, backwards: list[int]
) -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(
        model, optim.SGD(model.parameters(), lr=0.1), accumulate=accumulate, pack=pack
    )
    with listening(ear):
        for _ in range(3):
            for x, way in stepper.over(list(zip(inputs(len(ways)), ways, strict=True))):
                before, told = values(model), len(ear.of(Step))
                loss = model(x, way)
                stepper.backward(loss, items=2)
                steps = ear.of(Step)[told:]
                cells = frozenset[str]().union(*(step.cells or () for step in steps))
                assert moved(model, before) == cells
    assert len(ear.of(Backward)) == len(backwards) == 3 * len(ways)
    assert len(ear.of(Step)) == stepper.updates == len(ear.of(Clear))
    assert len(ear.of(Batch)) == 3 * len(ways)
    assert len(ear.of(EpochEnd)) == 3
    assert ear.away == 0


@pytest.mark.parametrize("pack", [True, False])
def test_a_step_at_the_end_of_the_data_and_by_flush_is_told(pack: bool) -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1), accumulate=4, pack=pack)
    with listening(ear):
        before = values(model)
        for x in stepper.over(inputs(3)):
            stepper.backward(model(x, "l"))
        assert moved(model, before) == ear.of(Step)[0].cells
        before = values(model)
        stepper.backward(model(inputs(1)[0], "r"))
        assert moved(model, before) == frozenset()
        stepper.flush()
    assert moved(model, before) == ear.of(Step)[1].cells
    assert all("right" in cell or "trunk" in cell for cell in ear.of(Step)[1].cells or ())
    assert len(ear.of(Step)) == 2


def test_a_window_is_told_in_the_order_in_which_it_happens() -> None:
    model = Branches()
    ear = Ear(model)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    stepper = Stepper(
        model,
        optimizer,
        accumulate=2,
        clip_norm=1.0,
        scaler=GradScaler("cpu"),
        scheduler=optim.lr_scheduler.StepLR(optimizer, 1),
    )
    with listening(ear):
        for x in stepper.over(inputs(2)):
            stepper.backward(model(x, "l"))
    assert [name for name in ear.order() if name != "Edit"] == [
        *("Batch", "Backward", "Batch", "Backward"),
        *("Unscale", "Clip", "Step", "Update", "Clear", "Schedule", "EpochEnd"),
    ]
    window = ear.of(Backward)[0].cells
    assert all(event.scaler == "scaler" for event in ear.of(Backward))
    assert [event.cells for event in ear.of(Clip)] == [window]
    assert [event.cells for event in ear.of(Step)] == [window]
    assert [event.cells for event in ear.of(Clear)] == [window]


def test_every_loss_of_a_micro_batch_is_told_once_it_is_complete(backwards: list[int]) -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1))
    (x,) = inputs(1)
    with listening(ear):
        stepper.backward(model(x, "l"), more=True)
        assert ear.of(Backward) == []
        stepper.backward(model(x, "r"))
    assert len(ear.of(Backward)) == len(backwards) == 2


def fail_in_backward(loss: Tensor) -> Tensor:
    def fail(_: Tensor) -> None:
        raise Boom

    loss.register_hook(fail)  # type: ignore[no-untyped-call]
    return loss


@pytest.mark.parametrize("on_fault", ["continue", "drop"])
@pytest.mark.parametrize("pack", [True, False])
def test_nothing_is_told_of_micro_batches_that_failed(
    on_fault: Any, pack: bool, backwards: list[int]
) -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(
        model,
        optim.SGD(model.parameters(), lr=0.1),
        accumulate=3,
        on_fault=on_fault,
        pack=pack,
    )
    with listening(ear):
        for i, x in enumerate(stepper.over(inputs(12))):
            before, told = values(model), len(ear.of(Step))
            try:
                loss = model(x, "l")
                if i == 4:
                    raise Boom
                if i == 7:
                    stepper.backward(loss, more=True)
                    loss = fail_in_backward(model(x, "r"))
                heard = len(ear.of(Backward))
                stepper.backward(loss)
                assert len(ear.of(Backward)) - heard in (0, 1)
            except Boom:
                assert len(ear.of(Step)) == told
            cells = [step.cells or frozenset() for step in ear.of(Step)[told:]]
            assert moved(model, before) == frozenset[str]().union(*cells)
    if on_fault == "continue":
        assert len(ear.of(Backward)) == 10
        assert len(backwards) == 11  # one of which its micro-batch took along
        assert (len(ear.of(Step)), len(ear.of(Skipped))) == (4, 0)
    else:
        assert (len(ear.of(Step)), len(ear.of(Skipped))) == (2, 2)
        assert (stepper.updates, stepper.dropped) == (2, 2)
    assert len(ear.of(Clear)) == 4


def test_nothing_is_told_of_a_loss_that_reaches_no_parameter() -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1))
    elsewhere = torch.ones(1, requires_grad=True)
    with listening(ear), pytest.raises(LossError):
        stepper.backward((elsewhere * 2).sum())
    assert ear.heard == []


def test_nothing_is_told_of_a_loss_that_was_refused() -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1), accumulate=3)
    (x,) = inputs(1)
    with listening(ear):
        loss = model(x, "l")
        stepper.backward(loss, items=2)
        heard = list(ear.heard)
        refusals: list[tuple[Callable[[], bool], type[Exception]]] = [
            (lambda: stepper.backward(loss, items=2), MisuseError),
            (lambda: stepper.backward(model(x, "l").detach(), items=2), LossError),
            (lambda: stepper.backward(model(x, "l"), items=0), LossError),
            (lambda: stepper.backward(model(x, "l")), LossError),
        ]
        for refused, error in refusals:
            with pytest.raises(error):
                refused()
    assert ear.heard == heard


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("pack", [True, False])
def test_a_window_that_is_not_finite_is_told_as_skipped(scaled: bool, pack: bool) -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(
        model,
        optim.AdamW(model.parameters()),
        scaler=GradScaler("cpu") if scaled else None,
        pack=pack,
    )
    with listening(ear), nullcontext() if scaled else pytest.warns(StepperWarning):
        for i, x in enumerate(stepper.over(inputs(4))):
            before = values(model)
            stepper.backward(model(x, "l") * (torch.inf if i == 2 else 1))
            assert bool(moved(model, before)) is (i != 2)
    assert stepper.skipped == len(ear.of(Skipped)) == 1
    assert len(ear.of(Step)) == 3
    assert len(ear.of(Clear)) == 4
    assert ear.of(Clear)[2].cells == ear.of(Backward)[2].cells
    assert len(ear.of(Unscale)) == len(ear.of(Update)) == (4 if scaled else 0)


def test_a_dropped_window_is_told_as_skipped_and_cleared() -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1), accumulate=3)
    with listening(ear):
        stepper.backward(model(inputs(1)[0], "l"))
        before = values(model)
        stepper.drop()
    assert moved(model, before) == frozenset()
    assert ear.order() == ["Backward", "Skipped", "Clear"]
    assert ear.of(Clear)[0].cells == ear.of(Backward)[0].cells


def test_schedulers_are_told_when_they_move_and_not_otherwise() -> None:
    model = Branches()
    ear = Ear(model)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    stepper = Stepper(model, optimizer, scheduler=scheduler, accumulate=2)
    losses = [torch.nan if i == 3 else 1 for i in range(8)]
    with listening(ear), warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)
        for x, factor in stepper.over(list(zip(inputs(8), losses, strict=True))):
            stepper.backward(model(x, "l") * factor)
    assert len(ear.of(Schedule)) == scheduler.last_epoch == 3


def test_several_optimizers_are_told_each_with_its_own() -> None:
    model = Branches()
    ear = Ear(model)
    both = [
        optim.SGD(model.trunk.parameters(), lr=0.1),
        optim.AdamW([*model.left.parameters(), *model.right.parameters()]),
    ]
    stepper = Stepper(model, both)
    with listening(ear):
        for x, way in stepper.over(list(zip(inputs(3), "lrl", strict=True))):
            before, told = values(model), len(ear.of(Step))
            stepper.backward(model(x, way))
            first, second = ear.of(Step)[told:]
            assert first.cells == frozenset({"trunk.weight", "trunk.bias"})
            assert moved(model, before) == first.cells | (second.cells or frozenset())


def test_with_eager_release_only_what_moved_is_told(backwards: list[int]) -> None:
    model = Branches()
    ear = Ear(model)
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1), release="eager")
    with listening(ear):
        for x, way in stepper.over(list(zip(inputs(3), "lrl", strict=True))):
            before, told = values(model), len(ear.of(Step))
            stepper.backward(model(x, way))
            (step,) = ear.of(Step)[told:]
            assert step.cells == moved(model, before)
            assert ear.of(Backward)[-1].cells == step.cells
    assert len(ear.of(Backward)) == len(backwards) == 3


def test_run_tells_what_backward_tells() -> None:
    heard = []
    for run in (True, False):
        model = Branches()
        ear = Ear(model)
        stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1), accumulate=2)

        def loss_of(x: Tensor, model: Branches = model) -> Tensor:
            return cast(Tensor, model(x, "l"))

        with listening(ear):
            for x in stepper.over(inputs(4)):
                if run:
                    stepper.run(x, loss_of, items=2)
                else:
                    stepper.backward(loss_of(x), items=2)
        heard.append(ear.heard)
    assert heard[0] == heard[1]


def test_sums_that_are_loaded_are_told_and_without_any_nothing_is(tmp_path: Path) -> None:
    model = Branches()
    stepper = Stepper(model, optim.SGD(model.parameters(), lr=0.1), accumulate=2)
    stepper.save(tmp_path / "between")
    stepper.backward(model(inputs(1)[0], "l"))
    stepper.save(tmp_path / "inside")
    for name, cells in (("between", []), ("inside", [4])):
        other = Branches()
        ear = Ear(other)
        with listening(ear):
            Stepper(other, optim.SGD(other.parameters(), lr=0.1), accumulate=2).load(
                tmp_path / name
            )
        assert [len(event.cells) for event in ear.of(Backward)] == cells
        assert len(ear.heard) == len(cells)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_listener_changes_no_bit(pack: bool, scaled: bool) -> None:
    results = []
    for heard in (True, False):
        model = Branches()
        optimizer = optim.AdamW(model.parameters(), lr=0.1)
        stepper = Stepper(
            model,
            optimizer,
            accumulate=2,
            clip_norm=0.5,
            scaler=GradScaler("cpu") if scaled else None,
            pack=pack,
        )
        with listening(Ear(model)) if heard else nullcontext():
            for _ in range(3):
                for x, way in stepper.over(list(zip(inputs(7), "lrlllrl", strict=True))):
                    stepper.backward(model(x, way), items=2)
        results.append(values(model) | {"norm": torch.tensor(stepper.grad_norm)})
        results[-1] |= {
            f"{i}/{key}": value
            for i, state in optimizer.state_dict()["state"].items()
            for key, value in state.items()
        }
    assert results[0].keys() == results[1].keys()
    assert all(torch.equal(results[0][key], results[1][key]) for key in results[0])
