"""What a state has to hold, and states that hold something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, AdamW

from gradledger import Stepper
from gradledger.engine import checkpoint
from gradledger.errors import CheckpointError

from .loops import Layers, assert_equal, assert_same_model, micro_batches, mse, net


def test_a_parameter_that_only_the_optimizer_has_is_saved(tmp_path: Path) -> None:
    def make() -> tuple[Layers, nn.Parameter, Stepper]:
        model, outside = net(), nn.Parameter(torch.zeros((), dtype=torch.float64))
        return model, outside, Stepper(model, SGD([*model.parameters(), outside], 0.1))

    model, outside, stepper = make()
    ((x, _),) = micro_batches(4)
    for _ in range(3):
        stepper.backward((model(x) - outside.exp()).square().mean(), items=4)
    stepper.save(tmp_path / "a.pt")
    other, loaded, again = make()
    again.load(tmp_path / "a.pt")
    assert loaded.item() == outside.item() != 0.0
    assert_same_model(other, model, exact=True)


def test_a_file_without_the_values_of_such_a_parameter_is_refused(tmp_path: Path) -> None:
    model, outside = net(), nn.Parameter(torch.zeros(()))
    optimizer = SGD([*model.parameters(), outside], 0.1)
    stepper = Stepper(model, optimizer)
    content = checkpoint.describe(model, [optimizer])
    del content["optimizers"][0]["outside"]
    checkpoint.write(tmp_path / "a.pt", {**content, "stepper": stepper.state_dict()})
    with pytest.raises(CheckpointError, match=r"has parameters that the model has not \(1\)"):
        stepper.load(tmp_path / "a.pt")


def test_state_that_was_reset_inside_a_window_is_saved_and_loaded(tmp_path: Path) -> None:
    def make() -> tuple[Layers, SGD, Stepper]:
        model = net()
        optimizer = SGD(model.parameters(), 0.1, momentum=0.9)
        return model, optimizer, Stepper(model, optimizer, accumulate=3)

    model, optimizer, stepper = make()
    data = micro_batches(*[4] * 9)
    for batch in data[:5]:
        stepper.backward(mse(model, batch), items=4)
    optimizer.state.pop(model[2].weight)
    stepper.save(tmp_path / "a.pt")
    other, _, again = make()
    again.load(tmp_path / "a.pt")
    for batch in data[5:]:
        stepper.backward(mse(model, batch), items=4)
        again.backward(mse(other, batch), items=4)
    assert again.updates == stepper.updates == 3
    assert_same_model(other, model, exact=True)


@pytest.mark.parametrize("kind", [torch.optim.NAdam, torch.optim.ASGD, torch.optim.AdamW])
def test_state_keeps_its_type_in_low_precision(kind: Any, tmp_path: Path) -> None:
    def make() -> tuple[nn.Module, Any, Stepper]:
        model = net(dtype=torch.bfloat16)
        optimizer = kind(model.parameters(), lr=0.01)
        return model, optimizer, Stepper(model, optimizer)

    model, optimizer, stepper = make()
    for batch in micro_batches(4, 4, 4, dtype=torch.bfloat16):
        stepper.backward(mse(model, batch), items=4)
    stepper.save(tmp_path / "a.pt")
    _, loaded, again = make()
    again.load(tmp_path / "a.pt")
    assert_equal(loaded.state_dict()["state"], optimizer.state_dict()["state"])


_DAMAGE: dict[str, list[Any]] = {
    "losses": [[None], [(0, 1)], [(0, torch.zeros(2))], 3],
    "sums": [[(99, torch.zeros(2))], [(0, torch.zeros(7))], [(0, 1)], [5], [("x",)]],
    "packs": [[[99, 0]], [[0]], [None], [[0, 0]], [1, 2, 3], {}],
    "irregular": [[5], [(0, 1)], [(99, "")]],
    "packed": [None, 3],
    "window": [None, {}],
    "counts": [[], {"updates": None, "skipped": 0, "dropped": 0}],
    "position": [{"epoch": -1, "done": 0, "length": None}, "x"],
    "start": ["x", {}, {"torch": torch.zeros(2), "python": (3, (), None)}],
    "random": [None, {"torch": torch.zeros(2), "python": None}],
    "schedulers": [[5], [("StepLR", None)], [("StepLR", {"last_epoch": "x"})]],
    "fitting": ["x", 0, -1],
    "accumulate": [None, "x"],
    "parameters": [[], None],
    "version": [None, 99],
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, vs in _DAMAGE.items() for v in vs])
def test_a_damaged_state_is_refused_before_anything_changes(key: str, value: Any) -> None:
    model = net()
    optimizer = AdamW(model.parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    stepper = Stepper(model, optimizer, accumulate=2, scheduler=scheduler)
    for batch in stepper.over(micro_batches(4, 4, 4, 4, 4)):
        stepper.backward(mse(model, batch), items=4)
        if stepper.updates == 1 and stepper.micro_batches == 1:
            break
    before, weights = stepper.state_dict(), [p.detach().clone() for p in model.parameters()]
    wrong = {**stepper.state_dict(), key: value}
    torch.manual_seed(5)
    here = torch.get_rng_state()
    with pytest.raises(CheckpointError):
        stepper.load_state_dict(wrong)
    assert torch.equal(torch.get_rng_state(), here)
    torch.set_rng_state(before["random"]["torch"])
    assert_equal(stepper.state_dict(), before)
    assert all(map(torch.equal, model.parameters(), weights))
