"""make_stepper: a Stepper in an Accelerate loop trains the big batch, in float64."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.optim import SGD
from torch.utils.data import DataLoader

from gradledger import OptionError
from gradledger.integrations.accelerate import make_stepper
from tests.integrations.exactness import (
    CLIP,
    RATE,
    Row,
    flat,
    net,
    rows,
    trained_on_big_batches,
    windows,
)
from tests.torchrun import torchrun

pytestmark = pytest.mark.slow  # accelerate


def accelerator(window: int = 4) -> Any:
    from accelerate import Accelerator

    return Accelerator(cpu=True, gradient_accumulation_steps=window)


def prepared(accelerator: Any, data: list[Row], *, shuffle: bool = False) -> tuple[Any, Any, Any]:
    model = net()
    loader: DataLoader[Row] = DataLoader(
        data,  # type: ignore[arg-type]
        batch_size=1,
        collate_fn=_only,
        shuffle=shuffle,
    )
    optimizer = SGD(model.parameters(), lr=RATE, momentum=0.9 if shuffle else 0.0)
    found: tuple[Any, Any, Any] = accelerator.prepare(model, optimizer, loader)
    return found


def _only(rows: list[Row]) -> Row:
    (row,) = rows
    return row


@pytest.mark.parametrize("clip", [None, CLIP])
def test_windows_are_big_batches(clip: float | None) -> None:
    has = accelerator()
    model, optimizer, loader = prepared(has, rows())
    stepper = make_stepper(has, model, optimizer, clip_norm=clip)
    for x, y in stepper.over(loader):
        stepper.backward(mse_loss(model(x), y), items=len(y))
    assert stepper.updates == 2
    right = trained_on_big_batches(net(), windows(rows()), clip=clip or float("inf"))
    torch.testing.assert_close(flat(model), right, rtol=0, atol=1e-14)


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6])
def test_save_state_and_load_state_go_on_bit_for_bit(count: int, tmp_path: Path) -> None:
    def train(saved_after: int | None, loaded: Path | None = None) -> Tensor:
        has = accelerator()
        torch.manual_seed(2)
        model, optimizer, loader = prepared(has, rows(), shuffle=True)
        stepper = make_stepper(has, model, optimizer)
        if loaded is not None:
            has.load_state(str(loaded))
        seen = 0
        for _ in range(stepper.epoch, 2):
            for x, y in stepper.over(loader):
                stepper.backward(mse_loss(model(x), y), items=len(y))
                seen += 1
                if seen == saved_after:
                    has.save_state(str(tmp_path / "state"))
        return flat(model)

    whole = train(count)
    torch.manual_seed(3)
    assert torch.equal(train(None, tmp_path / "state"), whole)


def test_what_is_no_accelerator_is_refused_in_one_sentence() -> None:
    with pytest.raises(OptionError, match=r"make_stepper\(\) wants an accelerate\.Accelerator"):
        make_stepper(1, net(), None)


RANKS = (4, 1, 3, 4, 2, 5, 1, 7)
"""Of one of two ranks has every second."""


def test_windows_are_exact_over_two_ranks(tmp_path: Path) -> None:
    words = ("tests.integrations.test_accelerate_stepper", str(tmp_path))
    ended = torchrun(2, *words, at=Path(__file__).parents[2])
    assert ended.returncode == 0, ended.stderr
    right = trained_on_big_batches(net(), windows(rows(RANKS)))
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        torch.testing.assert_close(found, right, rtol=0, atol=1e-14)


def train_on_this_rank(folder: Path) -> None:
    has = accelerator(2)
    model, optimizer, loader = prepared(has, rows(RANKS))
    stepper = make_stepper(has, model, optimizer)
    for x, y in stepper.over(loader):
        stepper.backward(mse_loss(model(x), y), items=len(y))
    assert has.num_processes == 2
    torch.save(flat(model), folder / f"{has.process_index}.pt")


if __name__ == "__main__":
    train_on_this_rank(Path(sys.argv[1]))
