"""GL504: the scheduler moves although the optimizer did not."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Schedule
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, schedule: Schedule) -> Iterator[Breach]:
    """It moves on, its optimizer has not, and a step was skipped or is still to come (Law 5)."""
    account = page.account(schedule.optimizer)
    if account is None:
        return
    ahead = page.scheduler(schedule.scheduler, schedule.optimizer).ahead
    waiting = [h for _, cell in page.owned_by(schedule.optimizer) for h in cell.fresh]
    if account.held_back and (ahead or not account.stepped):
        yield Breach(schedule.at, "moves although the scaler skipped the step")
    elif schedule.moves > 1:
        yield Breach(schedule.at, f"moves {schedule.moves} times for each step")
    elif ahead and waiting:
        detail = f"moves again although {schedule.optimizer} has not stepped since"
        yield Breach(schedule.at, detail, deposited(waiting[:1]))


RULE = Rule(
    code="GL504",
    name="scheduler-out-of-step",
    severity=Severity.WARNING,
    law=Law.IN_ORDER,
    seen_by=SeenBy.BOTH,
    says="the learning-rate scheduler moves although the optimizer did not step",
    explains=(
        "A scheduler that counts updates has to move once per update. It gets ahead when it is "
        "stepped for each micro-batch of an accumulation window, or after a step that the "
        "GradScaler skipped for an overflow; and under Accelerate, whose prepared schedulers move "
        "num_processes times for each step, unless the schedule accounts for that. A scheduler "
        "that steps once per epoch is fine."
    ),
    why=(
        "The schedule runs out N times too early: a cosine is at its end after a fraction of "
        "the training, and a warm-up is over before it has had any effect."
    ),
    fix="step the scheduler where the optimizer steps, and only if it really did",
    symptom="the learning rate reaches its end long before the training does",
    broken=broken,
)
