"""The state of all ranks as one: for torch.distributed.checkpoint, and for another number of ranks.

What the ranks have added up so far is put together, as at the end of a window, and the window goes
on with that. So it belongs to no rank, and a run that was saved and one that is resumed add up in
the same order.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gradledger.engine.checkpoint.content import plain
from gradledger.engine.cycle import Cycle
from gradledger.engine.packable import LOW_PRECISION
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
    torch.save(plain(local | {"sums": []}, "state"), file)
    rest = {
        "ranks": meetings.table.size,
        "unit": meetings.unit,
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
    """What of a shared state is this rank's, and the rest of it."""
    try:
        rest = torch.load(io.BytesIO(state["rest"]), weights_only=True)
        each = [torch.load(io.BytesIO(one), weights_only=True) for one in rest["each"]]
    except Exception as error:
        raise CheckpointError(f"this is no shared state of a Stepper: {error}") from error
    assert cycle.meetings is not None
    table = cycle.meetings.table
    if len(each) == table.size:
        return each[table.rank], rest
    # Another number of ranks: the data is shared out anew, so that no place in it is left.
    mine: dict[str, Any] = each[0]
    mine["position"] |= {"done": 0, "length": None}
    mine["start"] = None
    mine["random"] = None
    if table.rank:
        mine["window"] |= {"deposits": 0, "weight": 0.0, "first_items": 0.0}
        mine["losses"] = []
    return mine, rest


def take_up(state: Mapping[str, Any], rest: Mapping[str, Any], cycle: Cycle) -> None:
    """Takes up the sums, when all else is loaded."""
    assert cycle.meetings is not None
    names = {cycle.parts.ownership.names()[id(p)]: p for p in cycle.parts.ownership.parameters()}
    sums = {names[name]: state["sums"][name].clone() for name in rest["reached"]}
    cycle.meetings.take_up(sums, unit=rest["unit"], ranks=rest["ranks"])


def _zeros(p: Tensor) -> Tensor:
    wide = torch.float32 if p.dtype in LOW_PRECISION else p.dtype
    return torch.zeros_like(p, dtype=wide, requires_grad=False)
