"""GL503: a learning-rate scheduler moves before the first optimizer step."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Schedule
from gradledger.rules.evidence import also
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, schedule: Schedule) -> Iterator[Breach]:
    """The scheduler's optimizer has never stepped (Law 5)."""
    account = page.account(schedule.optimizer)
    if account is not None and not account.stepped:
        detail = f"moves before {schedule.optimizer} has stepped for the first time"
        yield Breach(schedule.at, detail, also("optimizer made", account.made_at))


RULE = Rule(
    code="GL503",
    name="scheduler-before-optimizer",
    severity=Severity.WARNING,
    law=Law.IN_ORDER,
    seen_by=SeenBy.BOTH,
    says="the learning-rate scheduler moves before the first optimizer step",
    explains=(
        "Since PyTorch 1.1 a scheduler is stepped after the optimizer. If called first, for "
        "example at the top of the epoch, it skips the first value of the schedule."
    ),
    why=(
        "The first learning rate is never used, and each later one comes too early. A warm-up "
        "starts at its second value."
    ),
    fix="call scheduler.step() after optimizer.step()",
    symptom="torch warns: Detected call of `lr_scheduler.step()` before `optimizer.step()`",
    broken=broken,
    yields_to=("GL504",),
)
