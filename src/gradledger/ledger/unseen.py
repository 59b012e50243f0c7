"""What an audit did not see. Silence about it would read as "the books balance"."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.values import Value

KINDS = {
    "backwards": ("{n} backward pass", "{n} backward passes"),
    "deposits": ("deposits into {n} parameter", "deposits into {n} parameters"),
    "steps": ("{n} step", "{n} steps"),
    "clears": ("{n} clear", "{n} clears"),
    "clips": ("{n} clip", "{n} clips"),
    "weights": ("the weights of {n} window", "the weights of {n} windows"),
    "batches": ("the batch of {n} backward pass", "the batches of {n} backward passes"),
    "graphs": ("the graph of {n} backward pass", "the graphs of {n} backward passes"),
    "parts": ("a part of the audit", "{n} parts of the audit"),
    "processes": ("{n} process", "{n} processes"),
}
"""What can go unseen, as one and as several; `{n}` is how many, or the names of processes."""
MOST_NAMES = 6
"""So many processes are named; more are counted."""


class Unseen(Value):
    """One kind of thing that was not seen, and why."""

    what: str
    """One of KINDS."""
    why: str
    """The reason, as half a sentence: `the loss is compiled`."""
    count: int = 1
    names: tuple[str, ...] = ()
    """Which ones, where they have names: process ids, parameters."""

    @property
    def phrase(self) -> str:
        """`the weights of 14 windows (the loss is compiled)`."""
        # A recording of a newer version may have a kind that is not known here.
        one, several = KINDS.get(self.what, (f"{{n}} {self.what}",) * 2)
        pattern, number = one if self.count == 1 else several, f"{self.count:,}"
        if self.what == "processes" and self.names:
            pattern, number = " ".join(reversed(pattern.split())), ", ".join(self._named())
        said = pattern.format(n=number)
        return f"{said} ({self.why})" if self.why else said

    def _named(self) -> list[str]:
        if len(self.names) <= MOST_NAMES:
            return list(self.names)
        return [*self.names[:MOST_NAMES], f"and {len(self.names) - MOST_NAMES:,} more"]


def summed(unseen: Iterable[Unseen]) -> tuple[Unseen, ...]:
    """Entries of the same kind and reason as one: named things count once, others add up."""
    found: dict[tuple[str, str], Unseen] = {}
    for entry in unseen:
        key = entry.what, entry.why
        known = found.get(key)
        if known is None:
            found[key] = entry
            continue
        names = tuple(dict.fromkeys(known.names + entry.names))
        nameless = sum(max(one.count - len(one.names), 0) for one in (known, entry))
        found[key] = Unseen(entry.what, entry.why, len(names) + nameless, names)
    return tuple(found.values())


def latest(before: Iterable[Unseen], after: Iterable[Unseen]) -> tuple[Unseen, ...]:
    """Two notes of one process as one: what went unseen only ever grows."""
    found = {(entry.what, entry.why): entry for entry in before}
    for entry in after:
        key = entry.what, entry.why
        if key not in found or entry.count > found[key].count:
            found[key] = entry
    return tuple(found.values())
