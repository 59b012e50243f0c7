"""Norms and findings reach each framework's own logger, and errors stop its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradledger import LawBroken

pytestmark = [
    pytest.mark.slow,  # loads the frameworks
    pytest.mark.filterwarnings("ignore"),  # which warn of much
]
NORM = "gradledger/grad_norm"


def batches() -> Any:
    x = torch.randn(32, 4)
    return DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)


def test_lightning(tmp_path: Path) -> None:
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    from gradledger.integrations.lightning import LedgerCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 1)

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
            return loss / self.trainer.accumulate_grad_batches

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.05)

    def trainer(callback: Any) -> Any:
        return lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            accumulate_grad_batches=2,
            logger=CSVLogger(tmp_path),
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[callback],
        )

    callback = LedgerCallback(on_finding=lambda finding: None)
    assert isinstance(callback, lightning.Callback)
    fitted = trainer(callback)
    fitted.fit(Module(), batches())
    assert NORM in (Path(fitted.log_dir) / "metrics.csv").read_text()
    with pytest.raises(LawBroken, match="GL303"):
        trainer(LedgerCallback(on_finding="raise")).fit(Module(), batches())


def test_transformers(tmp_path: Path) -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    from gradledger.integrations.transformers import LedgerCallback

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            out = self.layer(x)
            return {"loss": nn.functional.mse_loss(out, labels), "logits": out}

    class Reporter(TrainerCallback):
        """As those for TensorBoard or W&B: it stands before ours."""

        def __init__(self) -> None:
            self.seen: list[dict[str, float]] = []

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any
        ) -> None:
            self.seen.append(dict(logs))

    reporter, callback = Reporter(), LedgerCallback()
    assert isinstance(callback, TrainerCallback)
    arguments = TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=1,
        per_device_train_batch_size=4,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    data: Any = [{"x": row, "labels": row.sum(dim=0, keepdim=True)} for row in torch.randn(16, 4)]
    trainer = Trainer(Net(), arguments, train_dataset=data, callbacks=[reporter, callback])
    trainer.train()
    norms = [logs for logs in reporter.seen if NORM in logs]
    assert len(norms) == 4
    for logs in norms:
        assert logs[NORM] == pytest.approx(float(logs["grad_norm"]), rel=1e-3)
        assert logs["gradledger/findings"] == 0
    assert NORM in trainer.state.log_history[0]
    assert (tmp_path / "gradledger.html").exists()


def test_accelerate(tmp_path: Path) -> None:
    from accelerate import Accelerator
    from accelerate.tracking import GeneralTracker

    from gradledger.integrations.accelerate import ledger

    logged: list[dict[str, float]] = []

    class Tracker(GeneralTracker):  # type: ignore[misc]
        name = "kept"
        requires_logging_directory = False
        tracker = None

        def store_init_configuration(self, values: Any) -> None:
            pass

        def log(self, values: Any, step: int | None, **more: Any) -> None:
            logged.append(values)

    accelerator = Accelerator(cpu=True, log_with=[Tracker()], project_dir=str(tmp_path))
    accelerator.init_trackers("test")
    net = nn.Linear(4, 1)
    optimizer: Any = torch.optim.SGD(net.parameters(), lr=0.05)
    model, optimizer, loader = accelerator.prepare(net, optimizer, batches())
    ledger(accelerator)
    for x, y in loader:
        optimizer.zero_grad()
        accelerator.backward(nn.functional.mse_loss(model(x), y))
        optimizer.step()
    accelerator.end_training()
    assert len([values for values in logged if NORM in values]) == 4
    assert "backward" not in vars(accelerator)
    assert (tmp_path / "gradledger.html").exists()


def test_fabric(tmp_path: Path) -> None:
    import lightning
    from lightning.fabric.loggers.csv_logs import CSVLogger

    from gradledger.integrations.fabric import ledger

    logger = CSVLogger(tmp_path, flush_logs_every_n_steps=1)
    fabric = lightning.Fabric(accelerator="cpu", devices=1, loggers=[logger])
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    wrapped, stepper = fabric.setup(model, optimizer)

    def train() -> None:
        with ledger(fabric, on_finding="raise"):
            for x, y in batches():
                fabric.backward(nn.functional.mse_loss(wrapped(x), y))
                stepper.step()

    with pytest.raises(LawBroken, match="GL101"):
        train()
    (metrics,) = tmp_path.rglob("metrics.csv")
    assert NORM in metrics.read_text()
    assert list(tmp_path.rglob("gradledger.html"))


def test_ignite(tmp_path: Path) -> None:
    from ignite.engine import Events, create_supervised_trainer
    from ignite.handlers import Checkpoint, DiskSaver

    from gradledger.integrations.ignite import ledger

    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    trainer = create_supervised_trainer(model, optimizer, nn.functional.mse_loss)
    folder = tmp_path / "saved"
    checkpoint = Checkpoint({"model": model}, DiskSaver(str(folder), create_dir=True))
    trainer.add_event_handler(Events.COMPLETED, checkpoint)
    made = ledger(trainer)
    trainer.run(batches(), max_epochs=1)
    assert trainer.state.metrics[NORM] > 0
    assert made.book is not None
    assert made.book.findings == ()
    assert (folder / "gradledger.html").exists()


def test_an_error_stops_an_engine_of_ignite() -> None:
    from ignite.engine import Engine

    from gradledger.integrations.ignite import ledger

    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def update(engine: Any, batch: Any) -> None:
        loss = nn.functional.mse_loss(model(batch[0]), batch[1])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    trainer = Engine(update)
    ledger(trainer, on_finding="raise")
    with pytest.raises(LawBroken, match="GL101"):
        trainer.run(batches(), max_epochs=1)
