"""Data in progress bars, zips and generators: a DataLoader inside goes on where it was."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim import SGD
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper
from gradledger.errors import StepperWarning

from .loops import Layers, mse, net


class Bar:
    """As tqdm is made."""

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        yield from self.iterable

    def __len__(self) -> int:
        return len(self.iterable)


def moved(loader: Iterable[Any]) -> Iterator[Any]:
    for batch in loader:
        yield [each.to("cpu") for each in batch]


WRAPPINGS: dict[str, Callable[[Any], Iterable[Any]]] = {
    "plain": lambda loader: loader,
    "bar": Bar,
    "zip": lambda loader: zip(loader, range(1000), strict=False),
    "enumerate": enumerate,
    "expression": lambda loader: (batch for batch in loader),
    "function": moved,
    "map": lambda loader: map(list, loader),
    "bar in a zip in a bar": lambda loader: Bar(zip(Bar(loader), range(1000), strict=False)),
}


def make() -> tuple[Layers, SGD, Any, Stepper]:
    model = net()
    optimizer = SGD(model.parameters(), 0.01)
    x = torch.arange(100.0, dtype=torch.float64).reshape(20, 5)
    data = TensorDataset(x, x[:, :3])
    generator = torch.Generator().manual_seed(7)
    loader = DataLoader(data, 2, shuffle=True, generator=generator)
    return model, optimizer, loader, Stepper(model, optimizer)


def columns(batch: Any) -> tuple[Tensor, Tensor]:
    while not all(isinstance(each, Tensor) for each in batch):
        batch = next(each for each in batch if isinstance(each, list | tuple))
    x, y = batch
    return x, y


def train(
    wrap: Callable[[Any], Iterable[Any]], made: Any, save: Callable[[int], None] = lambda n: None
) -> list[list[float]]:
    model, _, loader, stepper = made
    seen: list[list[float]] = []
    for _ in range(stepper.epoch, 2):
        for batch in stepper.over(wrap(loader)):
            x, y = columns(batch)
            seen.append(x[:, 0].tolist())
            stepper.backward(mse(model, (x, y)), items=2)
            save(len(seen))
        save(-len(seen))
    return seen


@pytest.mark.parametrize("name", WRAPPINGS)
@pytest.mark.parametrize("at", [4, 14])
def test_a_loader_with_its_own_generator_goes_on_with_the_same_data(name: str, at: int) -> None:
    made = make()
    model, optimizer, _, stepper = made
    states: list[Any] = []

    def save(n: int) -> None:
        if n == at:
            parts = model.state_dict(), optimizer.state_dict(), stepper.state_dict()
            states.extend(copy.deepcopy(parts))

    seen = train(WRAPPINGS[name], made, save)
    again = make()
    parts: list[Any] = [again[0], again[1], again[3]]
    for part, state in zip(parts, states, strict=True):
        part.load_state_dict(state)
    torch.manual_seed(99)
    assert train(WRAPPINGS[name], again) == seen[at:]


@pytest.mark.parametrize("name", WRAPPINGS)
def test_saved_between_passes_it_is_the_same_or_it_is_told(name: str) -> None:
    made = make()
    states: list[Any] = []

    def save(n: int) -> None:
        if n == -10:
            states.append(copy.deepcopy(made[3].state_dict()))

    seen = train(WRAPPINGS[name], made, save)
    again = make()
    again[3].load_state_dict(states[0])
    if name in ("zip", "enumerate", "expression", "map"):
        with pytest.warns(StepperWarning, match=r"enumerate\(stepper.over\(loader\)\)"):
            train(WRAPPINGS[name], again)
    else:
        assert train(WRAPPINGS[name], again) == seen[10:]
