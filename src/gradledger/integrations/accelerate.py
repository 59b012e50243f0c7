"""Accelerate: `ledger(accelerator)` audits the loop from there on; `make_stepper` gives a Stepper.

Nothing is imported: who has an Accelerator has imported it.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from gradledger.errors import OptionError
from gradledger.integrations.framework_audit import OnFinding, new_enough
from gradledger.integrations.loop_audit import LoopAudit

if TYPE_CHECKING:
    from gradledger.engine.stepper import Stepper

__all__ = ["ledger", "make_stepper"]


def ledger(
    accelerator: Any,
    *,
    on_finding: OnFinding = "warn",
    report: str | os.PathLike[str] | None = None,
    sample: int | None = None,
) -> LoopAudit:
    """Audit what this Accelerator trains, until `end_training()`, or in a `with`.

    Findings are told between two passes, norms go to the trackers, and the report to `project_dir`.
    """
    _check(accelerator, "ledger(accelerator)")
    new_enough("accelerate", least=(0, 26), what="ledger(accelerator)")
    made = LoopAudit(on_finding=on_finding, report=report, sample=sample)
    steps = 0

    def log(metrics: dict[str, float]) -> None:
        nonlocal steps
        steps += 1
        accelerator.log(metrics, step=steps)

    return made.attend(
        accelerator, log=log, folder=lambda: accelerator.project_dir, ends_with="end_training"
    )


def make_stepper(accelerator: Any, model: Any, optimizer: Any, **options: Any) -> Stepper:
    """A Stepper for a model and an optimizer, or a list of them, that `prepare` has returned.

    Its windows have `gradient_accumulation_steps` micro-batches, it has the Accelerator's
    GradScaler, and `save_state` and `load_state` take it along. `options` are those of Stepper.
    """
    from gradledger.engine.stepper import Stepper

    _check(accelerator, "make_stepper(accelerator, model, optimizer)")
    prepared: list[Any] = [*optimizer] if isinstance(optimizer, list | tuple) else [optimizer]
    chosen: dict[str, Any] = {
        "accumulate": accelerator.gradient_accumulation_steps,
        "scaler": accelerator.scaler,
        # save_state writes safetensors, in which only one of the tensors of a pack is kept.
        "pack": False,
    } | options
    made = Stepper(model, [getattr(each, "optimizer", each) for each in prepared], **chosen)
    accelerator.register_for_checkpointing(made)
    return made


def _check(accelerator: Any, call: str) -> None:
    kind = getattr(sys.modules.get("accelerate"), "Accelerator", None)
    if kind is None or not isinstance(accelerator, kind):
        name = call.partition("(")[0]
        raise OptionError(
            f"{name}() wants an accelerate.Accelerator, got {type(accelerator).__name__}: {call}"
        )
