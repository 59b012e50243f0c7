"""The state of all ranks as one: for torch.distributed.checkpoint, and for another number of ranks.

What the ranks have added up so far is put together, as at the end of a window, and the window goes
on with that. So it belongs to no rank, and a run that was saved and one that is resumed add up in
the same order.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from math import inf
from typing import Any

import torch
from torch import Tensor

from gradledger.engine.checkpoint.content import plain
from gradledger.engine.checkpoint.fitting import kind_of
from gradledger.engine.checkpoint.kinds import described, misfits
from gradledger.engine.cycle import Cycle
from gradledger.engine.packable import LOW_PRECISION
from gradledger.engine.resuming import OLDEST
from gradledger.errors import CheckpointError


def put_together(cycle: Cycle) -> None:
    """Puts the sums of the open window together. All ranks must come here."""
    meetings = cycle.meetings
    assert meetings is not None
    meetings.put_together()
    cycle.parts.ownership.clear()


def shared_state(cycle: Cycle, local: dict[str, Any]) -> dict[str, Any]:
    """One state, the same on all ranks. `local`: this rank's own, after `put_together`."""
    assert cycle.meetings is not None
    meetings, names = cycle.meetings, cycle.parts.ownership.names()
    file = io.BytesIO()
    torch.save(plain(described(local | {"sums": []}), "state"), file)
    rest = {
        "ranks": meetings.table.size,
        "unit": meetings.unit,
        "copies": meetings.copies,
        "each": meetings.table.gather(file.getvalue()),
        "reached": [names[id(p)] for p in meetings.shared],
    }
    file = io.BytesIO()
    torch.save(rest, file)
    sums = {
        names[id(p)]: meetings.shared[p] if p in meetings.shared else _zeros(p)
        for p in cycle.parts.ownership.parameters()
    }
    return {"sums": sums, "rest": file.getvalue()}


def opened(state: Mapping[str, Any], cycle: Cycle) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of a shared state is this rank's, and the rest of it. Raises CheckpointError."""
    assert cycle.meetings is not None
    table = cycle.meetings.table
    try:
        rest = torch.load(io.BytesIO(state["rest"]), weights_only=True)
        each = [torch.load(io.BytesIO(one), weights_only=True) for one in rest["each"]]
        found = _flaws(state, rest, each, cycle)
        alone = cycle.meetings.alike or not table.rank
        mine = each[table.rank] if len(each) == table.size else _shared_out(each, alone=alone)
    except Exception as error:
        raise CheckpointError(
            f"this is no shared state of a Stepper: {type(error).__name__}: {error}"
        ) from error
    if found:
        raise CheckpointError(f"the shared state does not fit this Stepper: {'; '.join(found)}.")
    return mine, rest


def _shared_out(each: list[dict[str, Any]], *, alone: bool) -> dict[str, Any]:
    """For another number of ranks: the data is shared out anew, so that no place in it is left.

    `alone`: this rank goes on with the window; those for whom another does begin with nothing.
    """
    mine = each[0]
    mine["position"] |= {"done": 0, "length": None}
    # Saved in the middle of a pass, the window goes on; saved between two, `over` spends it.
    mine["start"] = None if mine["start"] is None else {}
    mine["random"] = None
    if not alone:
        mine["window"] |= {"deposits": 0, "weight": 0.0, "first_items": 0.0}
        mine["losses"] = []
    return mine


def _flaws(
    state: Mapping[str, Any], rest: Mapping[str, Any], each: list[Any], cycle: Cycle
) -> list[str]:
    """What of a shared state is not as it was saved, in sentences."""
    found = [
        f"rank {rank}: {what}"
        for rank, one in enumerate(each)
        if "kinds" in one or one["version"] > OLDEST
        for what in misfits(one)
    ]
    if type(rest["ranks"]) is not int or rest["ranks"] != len(each) or not each:
        found.append(f"it is of {rest['ranks']!r} ranks, and has the states of {len(each)}")
    if type(rest["unit"]) is not float or not 0.0 <= rest["unit"] < inf:
        found.append(f"its unit is {rest['unit']!r}")
    assert cycle.meetings is not None
    if rest.get("copies", 1) != cycle.meetings.copies:
        found.append(
            f"{rest.get('copies', 1)} ranks had the same data (tensor parallelism), and "
            f"{cycle.meetings.copies} have now"
        )
    names = {cycle.parts.ownership.names()[id(p)]: p for p in cycle.parts.ownership.parameters()}
    for name in rest["reached"]:
        total = state["sums"].get(name)
        if name not in names:
            found.append(f"it has a sum for {name!r}, which is no parameter here")
        elif not isinstance(total, Tensor):
            found.append(f"it has no sum for {name!r}")
        elif total.shape != names[name].shape or not total.is_floating_point():
            found.append(f"its sum for {name!r} is {kind_of(total)}")
    return found


def take_up(state: Mapping[str, Any], rest: Mapping[str, Any], cycle: Cycle) -> None:
    """Takes up the sums, when all else is loaded."""
    assert cycle.meetings is not None
    names = {cycle.parts.ownership.names()[id(p)]: p for p in cycle.parts.ownership.parameters()}
    sums = {names[name]: state["sums"][name].clone() for name in rest["reached"]}
    cycle.meetings.take_up(sums, unit=rest["unit"], ranks=rest["ranks"])


def _zeros(p: Tensor) -> Tensor:
    wide = torch.float32 if p.dtype in LOW_PRECISION else p.dtype
    return torch.zeros_like(p, dtype=wide, requires_grad=False)
