"""ExactWindows: a LightningModule's windows are those of the big batch, in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.optim import SGD
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader

from gradledger import CheckpointError, MisuseError, OptionError
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

pytestmark = [
    pytest.mark.slow,  # lightning
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning with torch 2.13
    pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers"),
]


def loader(*, shuffle: bool = False) -> DataLoader[Row]:
    return DataLoader(rows(), batch_size=1, collate_fn=_only, shuffle=shuffle)  # type: ignore[arg-type]


def _only(rows: list[Row]) -> Row:
    (row,) = rows
    return row


def module(
    *,
    schedule: dict[str, Any] | None = None,
    dropout: float = 0.0,
    momentum: float = 0.0,
    **options: Any,
) -> Any:
    from lightning.pytorch import LightningModule

    from gradledger.integrations.lightning import ExactWindows

    class Module(ExactWindows, LightningModule):
        def __init__(self) -> None:
            super().__init__(**{"accumulate": 4} | options)
            self.model = nn.Sequential(net(), nn.Dropout(dropout))
            self.steps: list[int] = []
            self.end: Callable[[int], None] = lambda count: None

        def training_step(self, batch: Row, batch_idx: int) -> Tensor:
            x, y = batch
            loss = mse_loss(self.model(x), y)
            self.stepper.backward(loss, items=len(y))
            return loss

        def on_train_batch_end(self, outputs: Any, batch: Row, batch_idx: int) -> None:
            self.steps.append(self.trainer.global_step)

        def configure_optimizers(self) -> Any:
            optimizer = SGD(self.parameters(), lr=RATE, momentum=momentum)
            if schedule is None:
                return optimizer
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": ExponentialLR(optimizer, 0.5), **schedule},
            }

    return Module()


def trainer(**options: Any) -> Any:
    from lightning.pytorch import Trainer

    chosen = {"max_epochs": 1, "logger": False, "enable_checkpointing": False} | options
    return Trainer(
        accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, **chosen
    )


def exactly(model: nn.Module, right: Tensor) -> None:
    torch.testing.assert_close(flat(model), right, rtol=0, atol=1e-14)


@pytest.mark.parametrize("over", [True, False])
def test_windows_are_big_batches_and_the_last_ends_with_the_epoch(over: bool) -> None:
    made = module()
    fitted = trainer(max_epochs=2)
    fitted.fit(made, made.over(loader()) if over else loader())
    exactly(made, trained_on_big_batches(net(), windows(rows()) * 2))
    assert fitted.global_step == 4
    assert made.steps == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert made.stepper.updates == 4


def test_the_gradient_of_the_window_is_what_is_clipped() -> None:
    made = module(clip_norm=CLIP)
    trainer().fit(made, made.over(loader()))
    exactly(made, trained_on_big_batches(net(), windows(rows()), clip=CLIP))


@pytest.mark.parametrize(
    ("interval", "exponent"),
    [("step", lambda update: update), ("epoch", lambda update: update // 2)],
)
def test_schedulers_move_once_per_update_or_once_per_epoch(
    interval: str, exponent: Callable[[int], int]
) -> None:
    made = module(schedule={"interval": interval})
    trainer(max_epochs=2).fit(made, made.over(loader()))
    rate = lambda update: RATE * 0.5 ** exponent(update)  # noqa: E731
    exactly(made, trained_on_big_batches(net(), windows(rows()) * 2, rate=rate))


def test_max_steps_counts_updates() -> None:
    made = module()
    trainer(max_epochs=-1, max_steps=3).fit(made, made.over(loader()))
    exactly(made, trained_on_big_batches(net(), (windows(rows()) * 2)[:3]))


def test_the_data_ends_where_the_trainer_wants() -> None:
    made = module()
    trainer(max_epochs=2, limit_train_batches=5).fit(made, made.over(loader()))
    exactly(made, trained_on_big_batches(net(), windows(rows()[:5]) * 2))
    assert made.stepper.epoch == 2


def test_an_epoch_that_is_stopped_early_ends_its_window() -> None:
    made = module()

    def stop(module: Any, batch_idx: int) -> None:
        module.trainer.should_stop |= batch_idx == 1

    made.on_train_batch_start = lambda batch, batch_idx: stop(made, batch_idx)
    trainer().fit(made, made.over(loader()))
    exactly(made, trained_on_big_batches(net(), [rows()[:2]]))


def test_optimizers_that_share_a_loss_are_stepped_together() -> None:
    made = module()
    made.configure_optimizers = lambda: tuple(
        SGD(part.parameters(), lr=RATE) for part in (made.model[0][0], made.model[0][2])
    )
    made.configure_steppers = lambda: [made.make_stepper(made.trainer.optimizers)]
    trainer().fit(made, made.over(loader()))
    exactly(made, trained_on_big_batches(net(), windows(rows())))


BATCHES = 12


@pytest.mark.parametrize("count", range(1, BATCHES))
def test_a_checkpoint_from_anywhere_goes_on_bit_for_bit(count: int, tmp_path: Path) -> None:
    """Two epochs of shuffled data, dropout, momentum, a schedule; windows of 4 and of 2."""
    path = tmp_path / "at.ckpt"

    def fit(saved_after: int, **given: Any) -> Tensor:
        made = module(dropout=0.5, momentum=0.9, schedule={"interval": "step"})
        torch.manual_seed(2)
        seen = 0

        def save(outputs: Any, batch: Row, batch_idx: int) -> None:
            nonlocal seen
            seen += 1
            if seen == saved_after:
                made.trainer.save_checkpoint(path)

        made.on_train_batch_end = save
        trainer(max_epochs=2).fit(made, made.over(loader(shuffle=True)), **given)
        return flat(made)

    whole = fit(count)
    torch.manual_seed(3)  # what a new process has
    assert torch.equal(fit(0, ckpt_path=path), whole)


def test_a_second_fit_begins_with_an_empty_window() -> None:
    made = module()

    class Boom(Exception):
        pass

    def fail(batch: Row, batch_idx: int) -> None:
        if batch_idx == 2:
            raise Boom

    made.on_train_batch_start = fail
    with pytest.raises(Boom):
        trainer().fit(made, made.over(loader()))
    del made.on_train_batch_start
    trainer().fit(made, made.over(loader()))
    exactly(made, trained_on_big_batches(net(), windows(rows())))


def test_two_loaders_for_the_same_steppers_are_refused() -> None:
    made = module()
    made.training_step = lambda batch, batch_idx: None
    with pytest.raises(MisuseError, match="a second loader is drawn by the same Steppers"):
        trainer().fit(made, {"first": made.over(loader()), "second": made.over(loader())})


@pytest.mark.filterwarnings("ignore:.*weights_only")
def test_a_module_made_from_a_checkpoint_begins_anew(tmp_path: Path) -> None:
    made = module()
    fitted = trainer(max_epochs=-1, max_steps=1)
    made.on_train_batch_start = lambda batch, batch_idx: (
        fitted.save_checkpoint(tmp_path / "open.ckpt") if batch_idx == 2 else None
    )
    fitted.fit(made, made.over(loader()))
    fresh = type(made).load_from_checkpoint(tmp_path / "open.ckpt", weights_only=False)
    trainer().fit(fresh, fresh.over(loader()))
    exactly(fresh, trained_on_big_batches(net(), windows(rows())))
    assert fresh.stepper.updates == 2


def test_a_checkpoint_of_other_steppers_is_refused(tmp_path: Path) -> None:
    made = module()
    fitted = trainer()
    fitted.fit(made, made.over(loader()))
    fitted.save_checkpoint(tmp_path / "end.ckpt")
    other = module()
    other.configure_steppers = list
    with pytest.raises(CheckpointError, match="the states of 1 Steppers, and this module has 0"):
        trainer(max_epochs=2).fit(other, other.over(loader()), ckpt_path=tmp_path / "end.ckpt")


def test_what_can_not_be_exact_is_refused() -> None:
    made = module(schedule={"interval": "step", "frequency": 3})
    with pytest.raises(OptionError, match="moves once per update here, and this one has freq"):
        trainer().fit(made, made.over(loader()))
    with pytest.raises(OptionError, match="draws from a loader without a length ahead"):
        made.over(iter(rows()))
    made = module()
    made.configure_steppers = list
    with pytest.raises(MisuseError, match="this module has 0 Steppers"):
        trainer().fit(made, made.over(loader()))
