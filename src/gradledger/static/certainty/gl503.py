"""GL503: a schedule moves too early, if it does so whenever it moves for the first time."""

from __future__ import annotations

from gradledger.static.solve.breaches import Breaches, Fault, Visit


def is_early_at_first(fault: Fault, visit: Visit, met: Breaches) -> bool:
    """True if it is too early on every path, whenever it moves for the first time."""
    _, at = fault
    firsts = [
        # To look a visit up by its key would add it to what is being gone through.
        moves in met.broken and path in met.broken[moves].get(fault, ())
        for moves, event in met.schedules.items()
        if event.at == at
        for path in met.met[moves]
        if all(log.name != event.scheduler for log in path[0].schedulers)
    ]
    return bool(firsts) and all(firsts)
