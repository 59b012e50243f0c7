"""Accelerate: `ledger(accelerator)` audits the loop from there on.

Nothing is imported: who has an Accelerator has imported it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from gradledger.errors import OptionError
from gradledger.integrations.framework_audit import OnFinding, new_enough
from gradledger.integrations.loop_audit import LoopAudit

__all__ = ["ledger"]


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
    kind = getattr(sys.modules.get("accelerate"), "Accelerator", None)
    if kind is None or not isinstance(accelerator, kind):
        raise OptionError(
            f"ledger() wants an accelerate.Accelerator, got {type(accelerator).__name__}: "
            "ledger(accelerator)"
        )
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
