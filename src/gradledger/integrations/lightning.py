"""Lightning: `Trainer(callbacks=[LedgerCallback()])` audits what `fit` trains.

`ExactWindows` is a mixin for modules whose windows are exact.

Works with `lightning.pytorch` and with `pytorch_lightning`. Neither is imported before the callback
is asked for.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from gradledger.integrations.exact_windows import ExactWindows
from gradledger.integrations.framework_audit import LedgerOptions, required

__all__ = ["ExactWindows", "LedgerCallback"]  # noqa: F822 - made by `__getattr__`
_WHAT = "gradledger.integrations.lightning"

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback
else:
    Callback = object


class _Hooks(LedgerOptions, Callback):
    """What the callback does, whichever of the two packages it is for."""

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Before the optimizers are made."""
        if stage == "fit":
            self.ledger.begin(lambda: _folder(trainer))

    def on_train_batch_end(self, trainer: Any, *batch: Any, **more: Any) -> None:
        """After the step, if the window is full."""
        self.ledger.tell()
        if metrics := self.ledger.metrics():
            for logger in trainer.loggers:
                logger.log_metrics(metrics, step=trainer.global_step)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The books are closed, and the report is written, all the same."""
        self.ledger.end(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """After all else that `fit` does."""
        if stage == "fit":
            self.ledger.end()


def _folder(trainer: Any) -> str | None:
    """Where checkpoints go; where there are none, where the logger writes."""
    checkpoints = getattr(trainer.checkpoint_callback, "dirpath", None)
    folder = checkpoints or (trainer.log_dir if trainer.loggers else None)
    return None if folder is None else os.fspath(folder)


@cache
def _made() -> type:
    name = "lightning.pytorch"
    if name not in sys.modules and "pytorch_lightning" in sys.modules:
        name = "pytorch_lightning"
    package = name.partition(".")[0]
    lightning = required(name, least=(2, 0), what=_WHAT, install=package.replace("_", "-"))
    return type("LedgerCallback", (_Hooks, lightning.Callback), {"__module__": __name__})


def __getattr__(name: str) -> Any:
    if name == "LedgerCallback":
        return _made()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
