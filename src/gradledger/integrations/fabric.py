"""Lightning Fabric: `ledger(fabric)` audits the loop from there on.

Nothing is imported: who has a Fabric has imported it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from gradledger.errors import OptionError
from gradledger.integrations.framework_audit import OnFinding
from gradledger.integrations.loop_audit import LoopAudit

__all__ = ["ledger"]


def ledger(
    fabric: Any,
    *,
    on_finding: OnFinding = "warn",
    report: str | os.PathLike[str] | None = None,
    sample: int | None = None,
) -> LoopAudit:
    """Audit what this Fabric trains, in a `with` or until Python ends.

    Findings are told between two passes, norms go to Fabric's loggers, and the report to the folder
    of its first logger. Fabric knows of no folder for checkpoints: `report` names another place.
    """
    kinds = tuple(
        kind
        for name in ("lightning.fabric", "lightning_fabric")
        if (kind := getattr(sys.modules.get(name), "Fabric", None)) is not None
    )
    if not isinstance(fabric, kinds):
        raise OptionError(
            f"ledger() wants a lightning.Fabric, got {type(fabric).__name__}: ledger(fabric)"
        )
    made = LoopAudit(on_finding=on_finding, report=report, sample=sample)
    steps = 0

    def log(metrics: dict[str, float]) -> None:
        nonlocal steps
        steps += 1
        if fabric.loggers:
            fabric.log_dict(metrics, step=steps)

    def folder() -> str | None:
        first = fabric.loggers[0] if fabric.loggers else None
        return getattr(first, "log_dir", None) or getattr(first, "root_dir", None)

    return made.attend(fabric, log=log, folder=folder)
