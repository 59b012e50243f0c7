"""What the cycle of a window does together with other ranks: deposit, meet, and say why not."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from gradledger.engine.losses import advise
from gradledger.engine.places import outside
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.skips import Skip
from gradledger.errors import LossError, RankFailure, StepperWarning
from gradledger.ledger.announcing import listeners

if TYPE_CHECKING:
    from gradledger.engine.cycle import Cycle


def keep(cycle: Cycle, loss: Tensor) -> None:
    """Another loss of this micro-batch follows, and only then do the ranks meet."""
    assert cycle.window.turn is not None
    cycle.deposits.ready(loss)
    cycle.deposits.remember(loss)
    cycle.window.turn.kept += (loss,)


def deposit(cycle: Cycle, meetings: Meetings, loss: Tensor, items: float | None) -> None:
    """Walks back and deposits, in a backward in which ranks need each other."""
    turn, window = cycle.window.turn, cycle.window
    assert turn is not None
    inputs = list(cycle.deposits.ready(loss))
    unit = cycle.parts.scaling.correction(cycle.parts.device)
    losses = (*turn.kept, loss)
    scaled = [cycle.parts.scaling.apply(each) for each in losses]
    meetings.itemless = items is None
    try:
        met = meetings.walk_together(scaled, inputs, 1.0 if items is None else items, unit)
    except BaseException as error:
        advise(error)
        if meetings.begun and not isinstance(error, RankFailure):
            # The others are at the end of the window, and so are we.
            turn.complete = turn.torn = True
            cycle.finish()
        raise
    cycle.deposits.remember(loss)
    if listeners:
        for each in losses:
            cycle.parts.telling.walked_back(each, retain_graph=False)
    if not met:
        cycle.deposits.deposit(loss, items)
        return
    if items is None:
        cycle.deposits.unweighed.compare(turn, window)
    if listeners:
        cycle.parts.telling.deposited(meetings.reached(cycle.parts.ownership.parameters()), items)
    window.losses.append((window.begun - 1, loss.detach()))


def meet(cycle: Cycle, meetings: Meetings) -> None:
    """The ranks put together what they have. Then all hold the same."""
    meetings.itemless = cycle.deposits.itemless
    held = meetings.reached(cycle.parts.ownership.parameters()) if listeners else []
    held += [p for p, _ in cycle.parts.sums.each()]
    word = meetings.conclude()
    cycle.parts.ownership.clear()
    # The window has the scale of now, also without us.
    cycle.parts.scaling.correction(cycle.parts.device)
    if word.dropped:
        _tell_why_dropped(meetings.table.ask(meetings.cause), meetings.table.rank)
    elif 0 < word.itemless < word.present:
        cycle.closing.forget()
        raise LossError(
            f"{word.itemless} of {word.present} ranks passed no items in this window, and the "
            "others did: they can't be weighed against each other. Pass items on every rank."
        )
    elif listeners:
        cycle.parts.telling.met([p for p, _ in cycle.parts.sums.each()], set(held))


def _tell_why_dropped(causes: list[str], rank: int) -> None:
    elsewhere = [f"rank {i}: {cause}" for i, cause in enumerate(causes) if cause and i != rank]
    if elsewhere and not causes[rank]:
        warnings.warn(
            f"a window was dropped on all ranks, because of {'; '.join(elsewhere)}.",
            StepperWarning,
            stacklevel=outside(),
        )


def with_ranks(skip: Skip, meetings: Meetings) -> Skip:
    """All ranks have skipped, as all hold the same: where did it come from?"""
    if skip.scaler:
        return skip
    mine = "\n".join(("loss" if skip.micro_batches else "", *skip.parameters))
    answers = [answer.split("\n") for answer in meetings.table.ask(mine)]
    ranks = tuple(rank for rank, (loss, *_) in enumerate(answers) if loss)
    # A sharded gradient may be finite here and not there.
    names = dict.fromkeys(name for _, *found in answers for name in found)
    return replace(skip, parameters=tuple(names), ranks=ranks)
