"""Transformers: `Trainer(callbacks=[LedgerCallback()])` audits what `train` trains, and
`ExactTrainer` is a Trainer whose windows are exact.

Transformers is not imported before one of them is asked for.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from gradledger.integrations.exact_trainer import exact_trainer
from gradledger.integrations.framework_audit import LedgerOptions, required

__all__ = ["ExactTrainer", "LedgerCallback"]  # noqa: F822 - made by `__getattr__`

if TYPE_CHECKING:
    from transformers import TrainerCallback
else:
    TrainerCallback = object


class _Hooks(LedgerOptions, TrainerCallback):
    """What the callback does."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Before the first batch."""
        _come_first(self)
        self.ledger.begin(lambda: args.output_dir)

    def on_substep_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """After a micro-batch that does not end its window."""
        self.ledger.tell()

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """After the step."""
        self.ledger.tell()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Whoever logs after us logs ours, too: TensorBoard, W&B, the console."""
        metrics = self.ledger.metrics()
        if logs is not None and metrics:
            logs.update(metrics)
            if state.log_history:
                state.log_history[-1].update(metrics)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """The report goes to the folder of the checkpoints."""
        self.ledger.end()


def _come_first(callback: object) -> None:
    """Before those that report: they log what stands in `logs` when their turn comes."""
    frame = sys._getframe(1)
    for _ in range(5):
        handler = frame.f_locals.get("self")
        callbacks = getattr(handler, "callbacks", None)
        if isinstance(callbacks, list) and callback in callbacks:
            # A new list: the Trainer is going through the old one.
            handler.callbacks = [  # type: ignore[union-attr]
                callback,
                *(one for one in callbacks if one is not callback),
            ]
            return
        if frame.f_back is None:
            return
        frame = frame.f_back


@cache
def _made() -> type:
    what = "gradledger.integrations.transformers"
    found = required("transformers", least=(4, 46), what=what, install="transformers")
    return type("LedgerCallback", (_Hooks, found.TrainerCallback), {"__module__": __name__})


def __getattr__(name: str) -> Any:
    if name == "LedgerCallback":
        return _made()
    if name == "ExactTrainer":
        return exact_trainer()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
