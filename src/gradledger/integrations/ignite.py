"""Ignite: `ledger(trainer)` audits each run of this engine.

Nothing is imported: who has an engine has imported it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from gradledger.errors import OptionError
from gradledger.integrations.framework_audit import FrameworkAudit, OnFinding, new_enough

__all__ = ["ledger"]


def ledger(
    trainer: Any,
    *,
    on_finding: OnFinding = "warn",
    report: str | os.PathLike[str] | None = None,
    sample: int | None = None,
) -> FrameworkAudit:
    """Audit what this engine trains, from `run` to its end.

    Norms and the number of findings are put into `trainer.state.metrics`, where loggers of ignite
    find them. The report goes to where a `Checkpoint` of the engine saves to.
    """
    engine = getattr(sys.modules.get("ignite.engine"), "Engine", None)
    if engine is None or not isinstance(trainer, engine):
        raise OptionError(
            f"ledger() wants an ignite Engine, got {type(trainer).__name__}: ledger(trainer)"
        )
    new_enough("pytorch-ignite", least=(0, 4, 7), what="ledger(trainer)")
    events: Any = sys.modules["ignite.engine"].Events
    made = FrameworkAudit(on_finding=on_finding, report=report, sample=sample)

    def turn() -> None:
        made.tell()
        trainer.state.metrics.update(made.metrics())

    def failed(error: BaseException) -> None:
        made.end(error)
        raise error  # ignite leaves that to who listens

    trainer.add_event_handler(events.STARTED, lambda: made.begin(lambda: _folder(trainer)))
    trainer.add_event_handler(events.ITERATION_COMPLETED, turn)
    trainer.add_event_handler(events.COMPLETED, lambda: made.end())
    trainer.add_event_handler(events.EXCEPTION_RAISED, failed)
    return made


def _folder(trainer: Any) -> str | None:
    """The folder of the first `Checkpoint` among its handlers."""
    for handlers in trainer._event_handlers.values():
        for handler, *_ in handlers:
            owner = getattr(handler, "__self__", handler)
            saver = getattr(owner, "save_handler", None)
            folder = getattr(saver, "dirname", None)
            if folder is not None:
                return str(folder)
    return None
