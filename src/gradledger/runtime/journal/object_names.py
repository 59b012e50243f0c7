"""Names for optimizers, scalers and schedulers."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from gradledger.ledger.places import Place


class ObjectNames:
    """optimizer-1, optimizer-2 …: nothing is kept alive by having a name."""

    def __init__(self) -> None:
        self._players: dict[int, tuple[weakref.ref[object], str]] = {}
        self._counts: dict[str, int] = {}
        self._vacant: dict[tuple[str, Place], list[str]] = {}
        """Names of players that are gone, by where they were made."""
        self._made_at: dict[str, Place] = {}
        self.gone: list[str] = []
        """Objects that have died since the last call of `bury`."""

    def name(self, role: str, player: object, made_at: Place | None = None) -> str:
        """The player's name.

        One that is made where another was, which is gone by now, gets its name: a loop that makes
        an optimizer in each turn has one optimizer at a time.
        """
        known = self._players.get(id(player))
        if known is not None and known[0]() is player:
            return known[1]
        vacant = self._vacant.get((role, made_at)) if made_at is not None else None
        if vacant:
            name = vacant.pop()
        else:
            self._counts[role] = self._counts.get(role, 0) + 1
            name = f"{role}-{self._counts[role]}"
        if made_at is not None:
            self._made_at[name] = made_at
        self._players[id(player)] = weakref.ref(player, self._leaves(id(player), role, name)), name
        return name

    def _leaves(self, number: int, role: str, name: str) -> Callable[[object], None]:
        def left(_: object) -> None:
            if self._players.get(number, (None, ""))[1] == name:
                del self._players[number]
            self.gone.append(name)
            if name in self._made_at:
                self._vacant.setdefault((role, self._made_at[name]), []).append(name)

        return left

    def bury(self, role: str) -> frozenset[str]:
        """The names of those in this role that have gone."""
        gone: list[str] = []
        while self.gone:  # others may go meanwhile
            gone.append(self.gone.pop())
        return frozenset(name for name in gone if name.startswith(role))
