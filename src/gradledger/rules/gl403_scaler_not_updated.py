"""GL403: scaler.step() is called again without an update in between."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Skipped, Step, Unscale, Update
from gradledger.rules.evidence import also
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, event: Step | Skipped | Unscale | Update) -> Iterator[Breach]:
    """The scaler has already stepped this optimizer since its latest update (Law 4).

    Or it is updated again with nothing recorded in between, which torch refuses as well.
    """
    if isinstance(event, Update):
        log = page.scaler(event.scaler)
        if event.checks and log.updated_at and not (log.unscaled or log.stepped):
            detail = f"{event.scaler} has neither stepped nor unscaled since its last update"
            yield Breach(event.at, detail, also("updated", log.updated_at))
        return
    if event.scaler is None:
        return
    stepped_at = dict(page.scaler(event.scaler).stepped).get(event.optimizer)
    if stepped_at is not None:
        detail = f"{event.scaler} has stepped {event.optimizer} and was not updated since"
        # update() is missing after the step, also where the next unscale_() is what torch refuses.
        yield Breach(stepped_at, detail, also("next called", event.at))


RULE = Rule(
    code="GL403",
    name="scaler-not-updated",
    severity=Severity.ERROR,
    law=Law.ONE_UNIT,
    seen_by=SeenBy.BOTH,
    says="the scaler steps again without scaler.update() in between",
    explains=(
        "`scaler.update()` ends the iteration of a GradScaler: it adapts the scale and forgets "
        "which optimizers it has unscaled and stepped. An enabled scaler raises at the second "
        "`step()` or `unscale_()` without it, and at a second `update()` with neither of them in "
        'between ("No inf checks were recorded prior to update"); a disabled one does not, so '
        "the fault stays hidden until mixed precision is switched on. One update after the "
        "steps of several optimizers is right."
    ),
    why=(
        "Training stops with a RuntimeError at the second batch. Before that, the scale was "
        "never adapted to an overflow."
    ),
    fix="call scaler.update() once per iteration, after the last scaler.step()",
    symptom="RuntimeError: step() has already been called since the last update()",
    broken=broken,
    stops=True,
)
