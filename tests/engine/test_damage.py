"""A checkpoint that is whole and has one wrong thing inside: refused, and nothing changes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR

from gradledger import Stepper
from gradledger.engine import checkpoint
from gradledger.errors import CheckpointError

from .loops import Boom, Layers, assert_equal, micro_batches, mse, net

HEADER = (*checkpoint.HEADER, "kinds")


class Trained:
    """In the middle of a window, with a scaler and a scheduler."""

    def __init__(self) -> None:
        self.model: Layers = net(dtype=torch.float32)
        self.optimizer = AdamW(self.model.parameters(), 0.1)
        self.schedule = OneCycleLR(self.optimizer, 0.1, total_steps=20)
        self.stepper = Stepper(
            self.model,
            self.optimizer,
            accumulate=2,
            scheduler=self.schedule,
            scaler=GradScaler("cpu", init_scale=4.0),
        )
        for batch in self.stepper.over(micro_batches(4, 4, 4, 4, 4, dtype=torch.float32)):
            self.stepper.backward(mse(self.model, batch), items=4)
            if self.stepper.updates == 1 and self.stepper.micro_batches == 1:
                break

    def everything(self) -> Any:
        return copy.deepcopy(
            [
                self.model.state_dict(),
                self.optimizer.state_dict(),
                self.stepper.state_dict(),
                torch.get_rng_state(),
            ]
        )


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside, leaves and what holds them; of many alike in a row, the first."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value[:2]):
            yield from places(item, (*path, at))


def changed(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A copy with another thing at one place; where the change gives nothing, without it."""
    key, *rest = path
    content = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        content[key] = changed(content[key], tuple(rest), change)
    elif (new := change(content[key])) is None:
        del content[key]
    else:
        content[key] = new
    return tuple(content) if isinstance(value, tuple) else content


def other_shape(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.zeros((*value.shape, 3), dtype=value.dtype)
    return [value]


def other_type(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to(torch.int16) if value.dtype is not torch.int16 else value.float()
    return 3 if isinstance(value, str) else "wrong"


CHANGES = {"missing": lambda _: None, "type": other_type, "shape": other_shape}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("saved") / "whole"
    Trained().stepper.save(path)
    return checkpoint.read(path)


@pytest.mark.parametrize("how", CHANGES)
def test_any_one_wrong_thing_in_a_file_is_a_checkpoint_error_and_changes_nothing(
    how: str, content: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = Trained()
    before = target.everything()
    found = [path for path in places(content) if path[0] not in HEADER]
    assert len(found) > 150
    for path in found:
        wrong = changed(content, path, CHANGES[how])
        monkeypatch.setattr(checkpoint, "read", lambda _, wrong=wrong: wrong)
        with pytest.raises(CheckpointError):
            target.stepper.load(tmp_path / "any")
        assert_equal(target.everything(), before, f"{path}: ")
    monkeypatch.setattr(checkpoint, "read", lambda _: content)
    target.stepper.load(tmp_path / "any")


@pytest.mark.parametrize("how", CHANGES)
def test_any_one_wrong_thing_in_a_state_is_a_checkpoint_error_and_changes_nothing(how: str) -> None:
    source, target = Trained(), Trained()
    state = source.stepper.state_dict()
    before = target.everything()
    for path in places(state):
        with pytest.raises(CheckpointError):
            target.stepper.load_state_dict(changed(state, path, CHANGES[how]))
        assert_equal(target.everything(), before, f"{path}: ")
    target.stepper.load_state_dict(state)


def test_a_wrong_thing_is_named_with_its_place(content: dict[str, Any]) -> None:
    wrong = changed(content, ("optimizers", 0, "state", "state", 1, "exp_avg"), other_shape)
    (found,) = checkpoint.misfits(wrong, besides=checkpoint.HEADER)
    assert found == (
        "its ['optimizers'][0]['state']['state'][1]['exp_avg'] was torch.float32 [7] and is "
        "torch.float32 [7, 3]"
    )


class Picky(LambdaLR):
    """Loads a part of its state, and then finds that it does not like the rest."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.last_epoch = state_dict["last_epoch"]
        if self.last_epoch:
            raise Boom


def test_what_refuses_its_state_while_it_is_loaded_leaves_all_as_it_was(tmp_path: Path) -> None:
    def make(kind: type[LambdaLR]) -> tuple[Layers, AdamW, Stepper]:
        model = net()
        optimizer = AdamW(model.parameters(), 0.1)
        schedule = kind(optimizer, lambda _: 1.0)
        schedule.__class__.__name__ = "Picky"
        return model, optimizer, Stepper(model, optimizer, accumulate=2, scheduler=schedule)

    class Easy(LambdaLR):
        pass

    model, _, stepper = make(Easy)
    for batch in micro_batches(4, 4, 4):
        stepper.backward(mse(model, batch), items=4)
    stepper.save(tmp_path / "saved")
    other, optimizer, picky = make(Picky)
    data = micro_batches(4, 4, seed=3)
    picky.backward(mse(other, data[0]), items=4)
    before = copy.deepcopy([other.state_dict(), optimizer.state_dict(), picky.state_dict()["sums"]])
    with pytest.raises(CheckpointError, match="Boom"):
        picky.load(tmp_path / "saved")
    after = [other.state_dict(), optimizer.state_dict(), picky.state_dict()["sums"]]
    assert_equal(after, before)
    assert picky.backward(mse(other, data[1]), items=4)
