"""GL504: a schedule is out of step, if it is so inside of windows, and before the last round."""

from __future__ import annotations

from collections.abc import Collection

from gradledger.static.solve.breaches import Breaches, Fault, Visit


def on_last_rounds(met: Breaches, options: Collection[str]) -> Collection[str]:
    """In the last round everything may be made up for: what counts are those before it."""
    return met.last_rounds


def is_out_of_step_inside(fault: Fault, visit: Visit, met: Breaches) -> bool:
    """True if it is out of step wherever neither a window ends, nor the data does."""
    broken = met.broken[visit][fault]
    if not broken or not met.window_ends:
        return False
    ends = {(name, False) for name in met.window_ends}
    last = {(name, True) for name in met.last_rounds}
    inside = [p for p in met.met[visit] if not ends.isdisjoint(p[1]) and last.isdisjoint(p[1])]
    return bool(inside) and all(path in broken for path in inside)
