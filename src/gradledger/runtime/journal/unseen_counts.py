"""What watchers could not see, one entry for each kind and reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradledger.ledger.unseen import Unseen, summed


class UnseenCounts:
    """Counts what went unseen. It may be told in every step, so what is known costs little."""

    def __init__(self) -> None:
        self.told: list[Callable[[Unseen], None]] = []
        """Told of each entry that is new or has grown, with all of it so far."""
        self._entries: dict[tuple[str, str], Unseen] = {}
        self._names: dict[tuple[str, str], set[str]] = {}

    def add(self, what: str, why: str, count: int, names: Iterable[str]) -> None:
        """Something of this kind went unseen; named things count once."""
        named, key = tuple(dict.fromkeys(names)), (what, why)
        known = self._entries.get(key)
        if named and self._names.setdefault(key, set()).issuperset(named):
            return
        entry = Unseen(what, why, len(named) if named else count, named)
        if known is not None:
            (entry,) = summed((known, entry))
        self._names.setdefault(key, set()).update(named)
        self._entries[key] = entry
        for hear in self.told:
            hear(entry)

    @property
    def all(self) -> tuple[Unseen, ...]:
        """The entries, in the order in which they came first."""
        return tuple(self._entries.values())
