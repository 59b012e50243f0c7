"""The grounds of each rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gradledger.ledger.events import Backward, Clear, Event, Step, Unscale, Update
from gradledger.ledger.findings import Finding
from gradledger.ledger.values import replace
from gradledger.static.certainty.gl101 import surely_spent_before
from gradledger.static.certainty.gl201 import surely_dropped
from gradledger.static.certainty.gl202 import surely_empty
from gradledger.static.certainty.gl501 import comes_to_nothing
from gradledger.static.certainty.notes import speaking_against
from gradledger.static.certainty.sight import Sight, last_before, stepping
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.keys import within
from gradledger.static.ir.program import Do, Forget, Program, Require, Sequence

Ground = Callable[[Finding, Sight], bool | None]
"""Does it carry the finding? If not, that is possible, and no more; None: there is none."""


def sobered(findings: Iterable[Finding], sight: Sight) -> Iterator[Finding]:
    """The findings, those that lack their grounds as possible ones, or not at all."""
    for finding in findings:
        if sight.nobody_steps and finding.rule != "GL201":
            continue  # all else follows from that
        ground = GROUNDS.get(finding.rule)
        carried = ground is None or ground(finding, sight)
        if carried is None:
            continue
        sure = carried and not any(speaking_against(finding, sight))
        yield finding if sure else replace(finding, certainty="possible")


def _left_over(finding: Finding, sight: Sight) -> bool | None:
    """What one optimizer leaves over may be what another has no use for."""
    return True if sight.one_steps(finding.at) else None


def _nothing_is_frozen(finding: Finding, sight: Sight) -> bool:
    return not sight.root.freezes


def _still_scaled(finding: Finding, sight: Sight) -> bool:
    """No unscale comes between the last backward and the clip."""

    def counts(event: Event) -> bool:
        return isinstance(event, Unscale | Backward)

    last = (last_before(finding.at, loop, counts) for loop in sight.around(finding.at))
    return not any(isinstance(event, Unscale) for event in last)


def _nobody_has_a_part(finding: Finding, sight: Sight) -> bool:
    """Where another optimizer has a part of the net, one of several losses may reach no more."""
    around = (events_in(loop) for loop in sight.around(finding.at))
    losses = {event.at for loop in around for event in loop if isinstance(event, Backward)}
    return len(losses) == 1 or not any(
        within(part, whole) and part != whole
        for whole in finding.cells
        for cells in sight.owned.values()
        if whole not in cells
        for part in cells
    )


def _between_two_steps(finding: Finding, sight: Sight) -> bool:
    """What happens between two steps is counted: whose, is only clear where one steps."""
    return sight.one_steps(finding.at)


def _is_not_updated(finding: Finding, sight: Sight) -> bool:
    """With several optimizers: nothing updates the scaler, and each that is updated steps itself.

    One that only updates may be the same, under another name.
    """
    if sight.one_steps(finding.at):
        return True
    steps = [e for e in events_in(sight.program) if isinstance(e, Step) and e.scaler is not None]
    updated = {e.scaler for e in events_in(sight.program) if isinstance(e, Update)}
    left = {e.scaler for e in steps if e.at == finding.at}
    return left.isdisjoint(updated) and updated <= {e.scaler for e in steps}


def _in_a_window(finding: Finding, sight: Sight) -> bool:
    """An owner of the clipped cells steps in the loop, or right behind it.

    Else they are in no window of this loop.
    """
    owners = {owner for owner, cells in sight.owned.items() if cells & finding.cells}
    around = sight.around(finding.at)
    if any(not owners.isdisjoint(stepping(loop)) for loop in around):
        return True
    return any(_is_a_window(loop, owners, sight.program) for loop in around)


def _is_a_window(loop: Program, owners: set[str], program: Program) -> bool:
    """Is each loss of a loop divided, and does the step come first of what follows on it?"""
    passes = [e for e in events_in(loop) if isinstance(e, Backward)]
    if not passes or any(e.weight.divisor in (None, 1) for e in passes):
        return False
    for piece in pieces(program):
        if isinstance(piece, Sequence) and any(part is loop for part in piece.parts):
            place = next(i for i, part in enumerate(piece.parts) if part is loop)
            behind = [p for p in piece.parts[place + 1 :] if not isinstance(p, Forget | Require)]
            match behind[0] if behind else None:
                case Do(Step(optimizer=optimizer)):
                    return optimizer in owners
    return False


def _none_is_there(finding: Finding, sight: Sight) -> bool:
    """No backward comes before it without a clear in between."""

    def counts(event: Event) -> bool:
        if isinstance(event, Clear):
            return not event.cells.isdisjoint(finding.cells)
        return isinstance(event, Backward)

    last = (last_before(finding.at, loop, counts) for loop in sight.around(finding.at))
    return not any(isinstance(event, Backward) for event in last)


def _all_are_local(finding: Finding, sight: Sight) -> bool:
    """A backward that nobody knows to be averaged, may be."""
    return all(e.local for e in events_in(sight.program) if isinstance(e, Backward))


GROUNDS: dict[str, Ground] = {
    "GL101": surely_spent_before,
    "GL201": surely_dropped,
    "GL202": surely_empty,
    "GL203": _left_over,
    "GL204": _nothing_is_frozen,
    "GL401": _still_scaled,
    "GL403": _is_not_updated,
    "GL404": _nobody_has_a_part,
    "GL405": _between_two_steps,
    "GL501": comes_to_nothing,
    "GL502": _in_a_window,
    "GL606": _none_is_there,
    "GL801": _all_are_local,
    "GL802": _between_two_steps,
}
"""The other rules need none: what breaks them stands in the code."""
